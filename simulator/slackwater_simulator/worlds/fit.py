"""Whether containers fit into what is left of a node. Sums of fractions are a hair off, so a hair less will do.

The hair is that of the core (`slackwater.resources.least`): a part of what is asked for, as bytes are many.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from slackwater.resources import least
from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

Shape = tuple[float, ...]
# What a node may lack of a kind that is not asked for: sums of bytes are off by less, and a node that is down by more.
OFF = 0.5


@lru_cache(maxsize=8192)
def needed(shape: Shape) -> Shape:
    """The least of each kind that a node must have left for a container."""
    return tuple([least(amount) if amount > 0 else -OFF for amount in shape])


def most(shape: Shape, left: Sequence[float]) -> int:
    """How many containers fit into what is left; one of those that ask for nothing. As `resources.places` counts."""
    each = [have / ask + TOLERANCE * max(1.0, 1.0 / ask) for ask, have in zip(shape, left, strict=True) if ask]
    return max(0, math.floor(min(each, default=1.0)))
