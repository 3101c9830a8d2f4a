"""Formulas of paper 000 that no program needs (decision 0028); its worked examples are checked against them.

    prototype  min(min(AR, NC) − ACU, NC − E)      room in the authors' YARN prototype (eqs 5 and 6)

AR is the allowance, NC the real capacity (0 where it is unknown), ACU the containers' measured use, E the estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


def prototype_room(allowance: float, real: float, containers: float, estimate: float) -> float:
    """min(min(AR, NC) − ACU, NC − E)."""
    real = real or allowance
    return min(min(allowance, real) - containers, real - estimate)


@dataclass(frozen=True, slots=True)
class Side:
    """One kind of resource of a node as the authors' prototype sees it."""

    reserved: float  # Σ requests of the containers on it ("used" in the prototype)
    allowance: float  # AR
    real: float  # NC
    containers: float  # ACU
    estimate: float  # RU
    step: float  # minimum allocation

    @property
    def room(self) -> float:
        """min(min(AR, NC) − ACU, NC − E)."""
        return prototype_room(self.allowance, self.real, self.containers, self.estimate)


def node_totals(sides: list[Side]) -> list[float]:
    """What the prototype shows to the YARN scheduler: roundDown(used + room, min_alloc), never below used or AR.

    If any kind has room for less than one allocation, nothing is gained by the others: max(AR, used) for all.
    """
    if any(side.room < side.step for side in sides):
        return [max(side.allowance, side.reserved) for side in sides]
    return [
        max(math.floor((side.reserved + side.room) / side.step) * side.step, side.reserved, side.allowance)
        for side in sides
    ]
