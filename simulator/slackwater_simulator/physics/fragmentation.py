"""Capacity that containers of one size can really use (paper 002, option).

Eight cores hold two containers of three; the last two cores serve nobody. Counting them makes admission let in more
drivers than fit with their tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from slackwater.resources import Resources, total
from slackwater.validation import TOLERANCE


# C_eff = Σ over nodes of floor(v / g) · g
def effective(nodes: Iterable[Resources], grain: Resources) -> Resources:
    """The capacity in whole grains, per kind. A kind without a grain counts in full."""
    return total(_whole(node, grain) for node in nodes)


def _whole(node: Resources, grain: Resources) -> Resources:
    return Resources({kind: _rounded(value, grain[kind]) for kind, value in node.items()})


def _rounded(value: float, grain: float) -> float:
    if grain <= 0:
        return value
    # The tolerance keeps 0.3 / 0.1 = 2.9999999999999996 at three grains.
    return max(0, math.floor(value / grain + TOLERANCE)) * grain
