"""Which kind of resource runs out first, and what of the others nobody can use because of that.

Work comes in a mix: so much memory with each core. On a node the kind that gives the fewest units of that mix is the
one that runs out; what is left of the others beyond those units is stranded there.

    units    = min over kinds of room ÷ mix
    stranded = room − units × mix

The bottleneck of a cluster is the kind that runs out first on most of its room, if that strands anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FULL = 0.1  # less than this share of a kind is left: it is called full


@dataclass(frozen=True, slots=True)
class Bottleneck:
    """The kind that runs out first, what is left of it, and what of the others is stranded by that."""

    kind: str
    left: float
    share: float  # left ÷ all there is
    stranded: Mapping[str, float]

    @property
    def full(self) -> bool:
        """Whether hardly anything of it is left."""
        return self.share < FULL


def bottleneck(rooms: Mapping[str, Floats], totals: Mapping[str, float], mix: Mapping[str, float]) -> Bottleneck | None:
    """By kind: the room of every node, all there is, and what work like that of now takes. None: nothing is short."""
    kinds = [kind for kind in rooms if mix.get(kind, 0.0) > 0 and totals.get(kind, 0.0) > 0]
    if len(kinds) < 2:
        return None
    room = np.column_stack([np.maximum(rooms[kind], 0.0) for kind in kinds])
    need = np.array([mix[kind] for kind in kinds])
    units = room / need
    fewest, first = units.min(axis=1), units.argmin(axis=1)
    spare = room - fewest[:, None] * need
    # How much work each kind keeps from being placed: units of the others, where it runs out first.
    lost = [float((units[first == at].max(axis=1) - fewest[first == at]).sum()) for at in range(len(kinds))]
    worst = int(np.argmax(lost))
    if lost[worst] <= TOLERANCE * max(1.0, float(units.sum())):
        return None
    stranded = {kind: float(spare[first == worst, at].sum()) for at, kind in enumerate(kinds) if at != worst}
    left = float(room[:, worst].sum())
    return Bottleneck(kinds[worst], left, left / totals[kinds[worst]], stranded)
