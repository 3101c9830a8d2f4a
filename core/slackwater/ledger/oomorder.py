"""Whom the kernel kills when the pods of a node run out of memory, and the room that keeps it from the wrong ones.

The kubelet holds all pods of a node together to L = capacity − what is reserved for the system. When they come to it,
the kernel kills the process with the largest use + adj · L. Of Burstable pods adj = 1 − request ÷ capacity, so that

    use − ρ · request        ρ = L ÷ capacity

decides: not how far a pod is above its request, but how far above a part of it. A pod that keeps to its request R may
stand at (1 − ρ) · R and be killed before a small task that has outgrown its own. A task that was lowered to N goes
before every such pod once it uses more than

    ρ · N + H        H = (1 − ρ) · R, R the largest among the node's pods that were not lowered

and until then, if it keeps to what it declared, at most D. So while

    Σ R + Σ over lowered tasks min(D, ρ · N + H) ≤ allocatable

memory does not run out before a task is the first to go. What this leaves of a node bounds its room. It is never below
what declared requests leave. As Σ R + Σ N ≤ allocatable in any case, nothing needs to be bounded before so many tasks
are there, the next one among them, that all of them at the size of the largest R would not fit beside Σ R.

Guaranteed pods and those that are critical to their node are killed last, whatever they use: they have no part in H.
L is taken as allocatable, which is smaller by the hard eviction threshold: that errs to the safe side.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.estimation.measures import Measure
from slackwater.estimation.podmatrix import grown
from slackwater.ledger.types import PodClaim
from slackwater.resources import MEMORY, Kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]


class Column(IntEnum):
    """What is kept of a node."""

    FIRM = 0  # Σ R of pods that were not lowered
    LARGEST = 1  # R of the largest of them that may be killed
    TASKS = 2  # how many tasks were lowered


class Standing(NamedTuple):
    """A pod as the kernel sees it."""

    size: float  # its memory request
    lowered: bool
    killable: bool  # before the last ones


@dataclass(slots=True)
class _Crowd:
    """The pods of one node."""

    firm: float = 0.0
    tasks: int = 0
    sizes: Counter[float] = field(default_factory=Counter)  # how many pods that may be killed ask for so much

    def change(self, standing: Standing, by: int) -> None:
        """One pod more or less."""
        size, lowered, killable = standing
        if lowered:
            self.tasks += by
            return
        self.firm += by * size
        if killable:
            self.sizes[size] += by
            if not self.sizes[size]:
                del self.sizes[size]

    def columns(self) -> tuple[float, float, float]:
        """In the order of `Column`."""
        return self.firm, max(self.sizes, default=0.0), float(self.tasks)

    def columns_without(self, standing: Standing) -> tuple[float, float, float]:
        """The same as if one of the pods were not there."""
        self.change(standing, -1)
        found = self.columns()
        self.change(standing, 1)
        return found


class OomOrder:
    """The pods of each node by what the kernel goes by. Rows are those of the ledger's nodes."""

    def __init__(self, kinds: Kinds) -> None:
        self.kind = kinds.index(MEMORY) if MEMORY in kinds else -1
        self._crowds: list[_Crowd] = []
        self._columns: Floats = np.zeros((64, len(Column)))

    def add_row(self) -> None:
        """A node came."""
        self._crowds.append(_Crowd())
        self._columns = grown(self._columns, 0, len(self._crowds))
        self._columns[len(self._crowds) - 1] = 0.0

    def drop_row(self, row: int) -> None:
        """A node is gone; later rows move up by one."""
        rows = len(self._crowds)
        del self._crowds[row]
        self._columns[row : rows - 1] = self._columns[row + 1 : rows].copy()

    def change(self, row: int, claim: PodClaim, by: int) -> None:
        """A pod came to a node (`by` is 1) or left it (−1); one whose node is not known counts nowhere."""
        if row >= 0 and self.kind >= 0:
            self._crowds[row].change(self._standing(claim), by)
            self._columns[row] = self._crowds[row].columns()

    def alike(self, one: PodClaim, other: PodClaim) -> bool:
        """Whether the kernel sees no difference between two pods."""
        return self.kind < 0 or self._standing(one) == self._standing(other)

    def bounds(self, rows: Rows | slice, sums: Floats, total: Floats, share: Floats) -> Floats:
        """The most that room for memory may be on some rows; infinite where the order is right anyway.

        `total` is allocatable memory, `share` is ρ, and `sums` are the pods' measures, row × measure × kind.
        """
        firm, largest, tasks = self._columns[: len(self._crowds)][rows].T
        declared, native = sums[:, Measure.ALL_DECLARED, self.kind], sums[:, Measure.NATIVE, self.kind]
        most = np.minimum(declared - firm, share * (native - firm) + tasks * (1.0 - share) * largest)
        exposed = (share < 1.0) & ((tasks + 1.0) * largest > total - firm)
        return np.where(exposed, total - firm - most, np.inf)

    def bound(
        self, row: int, sums: list[list[float]], total: float, share: float, without: PodClaim | None = None
    ) -> float:
        """The same for one row as plain numbers, as if one pod were not there; `sums` do not have it any more."""
        firm, largest, tasks = self._crowds[row].columns()
        if share < 1.0 and without is not None and largest > 0:
            firm, largest, tasks = self._crowds[row].columns_without(self._standing(without))
        if share >= 1.0 or (tasks + 1.0) * largest <= total - firm:
            return math.inf
        declared, native = sums[Measure.ALL_DECLARED][self.kind], sums[Measure.NATIVE][self.kind]
        return total - firm - min(declared - firm, share * (native - firm) + tasks * (1.0 - share) * largest)

    def largest(self, row: int) -> float:
        """The largest request on the node that was not lowered and that the kernel may kill."""
        return float(self._columns[row, Column.LARGEST])

    def _standing(self, claim: PodClaim) -> Standing:
        size = claim.native[self.kind]
        return Standing(size, claim.charged[self.kind] > size, not claim.guaranteed)
