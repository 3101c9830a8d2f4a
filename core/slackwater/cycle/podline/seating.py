"""Room for pods of a few sizes, one size after the other, tried on a copy of what the nodes have left.

Whether a gang fits is asked of each gang that waits, and most of them are told no. So what is tried looks at its own
sizes alone; those of all others are looked at when pods really take their room.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import ge, sub
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.cycle.podline.packing import PodSize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

MARGIN = 1e-6  # of a pod: what rounding may add to a node when its pods are counted at once


class Run(NamedTuple):
    """Pods of one size that are given their rooms in one go."""

    size: PodSize  # its reach: the rows that have room for one before anything is tried
    pods: int


class Seating:
    """What a trial came to: the rows of each run's pods, and what is left of the rows that changed.

    `left` is what nodes have, of room and then of native requests; `scale` is what they offer, kind by kind.
    """

    def __init__(self, left: Floats, scale: Floats) -> None:
        self._left, self._scale = left.copy(), scale
        self.changed: dict[int, None] = {}  # in the order in which pods came to them

    def left(self, row: int) -> Floats:
        """What is left of a row."""
        found: Floats = self._left[row]
        return found

    def seat(self, runs: Sequence[Run], *, spread: bool = False, whole: bool = False) -> list[list[int]]:
        """Give pods their room as far as there is any; the rows of each run's pods.

        `spread`: where most is left instead of least. `whole`: it ends with the first run that finds too little.
        """
        found: list[list[int]] = []
        for run in runs:
            found.append(self._rows_of(run, spread=spread))
            if whole and len(found[-1]) < run.pods:
                break
        return found

    def put(self, size: PodSize, row: int) -> None:
        """Give one pod its room on a node."""
        self._left[row] -= size.asked
        self.changed[row] = None

    def _rows_of(self, run: Run, *, spread: bool) -> list[int]:
        """The node that is left with least is left with less still by the next one: it takes as many as it holds."""
        size, rows = run.size, list[int]()
        slack, fits, sign = slacks(self._left, size.asked, self._scale), self._fits(size), -1.0 if spread else 1.0
        slack = np.where(fits, sign * slack, np.inf)
        while len(rows) < run.pods and slack.size:
            row = int(slack.argmin())
            if not fits[row]:
                break
            rows += [row] * self._fill(size, row, 1 if spread else run.pods - len(rows))
            fits[row] = not (self._left[row] < size.needed).any()
            slack[row] = sign * self._slack(size, row) if fits[row] else np.inf
        return rows

    def _fits(self, size: PodSize) -> Mask:
        """The rows that have room for one pod now."""
        fits = size.reach.copy()
        rows = list(self.changed)
        fits[rows] &= ~(self._left[rows] < size.needed).any(axis=1)
        return fits

    def _fill(self, size: PodSize, row: int, most: int) -> int:
        """Give pods their room on one node, which holds one at least; returns how many got it."""
        asked, least = size.asked.tolist(), size.needed.tolist()
        left, count = list(map(sub, self._left[row].tolist(), asked)), 1
        while count < most and all(map(ge, left, least)):
            left = list(map(sub, left, asked))
            count += 1
        self._left[row] = left
        self.changed[row] = None
        return count

    def _slack(self, size: PodSize, row: int) -> float:
        """`slacks` of one node, as plain numbers."""
        scale = self._scale[row].tolist()
        return share(self._left[row].tolist(), size.asked.tolist(), scale)


# Σ over kinds of (left − asked) ÷ scale
def slacks(left: Floats, asked: Floats, scale: Floats) -> Floats:
    """What one pod would leave of each node, as a share of it; kinds that only `left` has count nothing."""
    found = np.zeros(len(left))
    for kind in range(scale.shape[1]):  # a kind at a time: several times as fast as along the short axis
        found += (left[:, kind] - asked[kind]) / scale[:, kind]
    return found


def share(left: Sequence[float], asked: Sequence[float], scale: Sequence[float]) -> float:
    """The same of one node, as plain numbers."""
    return sum([(have - ask) / whole for have, ask, whole in zip(left, asked, scale, strict=False)])


def outnumber(asked: Floats, counts: NDArray[np.intp], room: Floats) -> bool:
    """Whether pods that ask for so much of one kind, or more, are certainly too many for the rooms, for some amount."""
    largest_first = np.argsort(-asked)
    asked, pods = asked[largest_first], counts[largest_first].cumsum()
    there = np.floor(np.maximum(room, 0.0) / asked[asked > 0][:, None] + MARGIN).sum(axis=1)
    return bool((pods[asked > 0] > there).any())
