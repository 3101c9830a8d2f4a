"""How much more a node takes: three readings of paper 000's equations 5 and 6, for one kind of resource.

    sim        AR − E                              the paper's simulator (section V)
    prototype  min(min(AR, NC) − ACU, NC − E)      the authors' YARN prototype
    live       min(AR, NC) − E                     a real cluster, where the measured ACU does not move in a burst

AR is the allowance, NC the real capacity, ACU the containers' measured use, E the estimate. An NC of zero or None is
unknown and AR stands in for it. Negative room means no placement, never an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slackwater.validation import TOLERANCE, amount, finite, positive


def capacity(allowance: float, real: float | None) -> float:
    """NC, or AR where NC is zero or unknown."""
    allowance = amount("allowance", allowance)
    return allowance if real is None or amount("real", real) == 0 else real


def sim_room(allowance: float, estimate: float) -> float:
    """AR − E."""
    return amount("allowance", allowance) - finite("estimate", estimate)


def prototype_room(allowance: float, real: float | None, containers: float, estimate: float) -> float:
    """min(min(AR, NC) − ACU, NC − E)  (eqs 5 and 6)."""
    real = capacity(allowance, real)
    configured = min(allowance, real) - amount("containers", containers)
    return min(configured, real - finite("estimate", estimate))


def live_room(allowance: float, real: float | None, estimate: float) -> float:
    """min(AR, NC) − E."""
    return min(allowance, capacity(allowance, real)) - finite("estimate", estimate)


def accepts(request: float, room: float) -> bool:
    """Whether a request fits into the room. Nothing asked for always fits, even on a node that is over-full."""
    return amount("request", request) == 0 or request <= finite("room", room) + TOLERANCE * max(1.0, request)


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


def node_totals(sides: list[Side], *, shrink: bool = False) -> list[float]:
    """Node total the prototype shows to the YARN scheduler, per kind.

    roundDown(used + room, min_alloc), never below used or AR. If any kind has room for less than one allocation,
    nothing is gained by the others: the total is max(AR, used) for all. With `shrink` the total may fall below AR,
    down to what is used, as the paper's text (not the authors' code) has it.
    """
    if any(side.room < side.step for side in sides):
        return [_shrunk(side) if shrink else max(side.allowance, side.reserved) for side in sides]
    return [_stretched(side, floor=0.0 if shrink else side.allowance) for side in sides]


def _stretched(side: Side, floor: float) -> float:
    step = positive("step", side.step)
    return max(math.floor((side.reserved + side.room) / step + TOLERANCE) * step, side.reserved, floor)


def _shrunk(side: Side) -> float:
    return max(side.reserved, min(side.allowance, side.reserved + side.room))
