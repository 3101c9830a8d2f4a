"""Formulas of the papers that no program needs (decision 0028 for 000); their worked examples are checked against them.

    prototype  min(min(AR, NC) − ACU, NC − E)      room in the authors' YARN prototype (eqs 5 and 6)

AR is the allowance, NC the real capacity (0 where it is unknown), ACU the containers' measured use, E the estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.pools.forecast import cumulative

Floats = NDArray[np.float64]


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


def printed_release(count: float, gamma: float, spread: float, t: float) -> float:
    """Paper 004, eq 3 as printed: cumulative inside the window and 0 after it.

    Added up every second it counts the same containers again and again.
    """
    return cumulative(count, gamma, spread, t) if t <= gamma + spread else 0.0


def node_order(priorities: Floats) -> list[int]:
    """Paper 003: nodes by priority, then by index."""
    return [int(node) for node in np.argsort(priorities, kind="stable")]
