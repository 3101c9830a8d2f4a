"""When nodes beat. Idle beats are never executed: one cursor walks the nodes that might take something.

Nodes are numbered in the order of their phase, so a round of heartbeats is a walk from 0 to n − 1, and the next
interesting beat is a byte search in `open`.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import InvalidInput

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Beats:
    """Beat k of node i happens at phases[i] + k × period."""

    __slots__ = ("last", "open", "period", "phases", "view")

    def __init__(self, phases: list[float], period: float) -> None:
        self.phases = phases  # ascending, each in [0, period)
        self.period = period
        self.last = [-1] * len(phases)  # the number of the last beat that was executed
        self.open = bytearray(len(phases))  # 1: the scheduler may have something for this node
        self.view: NDArray[np.uint8] = np.frombuffer(self.open, dtype=np.uint8)

    def number(self, node: int, time: float) -> int:
        """The first beat of the node at or after that time."""
        return max(0, math.ceil((time - self.phases[node]) / self.period - 1e-9))

    def time(self, node: int, number: int) -> float:
        """When that beat happens."""
        return self.phases[node] + number * self.period

    def following(self, time: float) -> tuple[int, int]:
        """The next (node, number) at or after the time among open nodes; (−1, 0) if none is open."""
        number = max(0, math.floor(time / self.period))
        within = time - number * self.period
        node = self.open.find(1, bisect_left(self.phases, within - 1e-9))
        if node < 0:
            node, number = self.open.find(1), number + 1
        if node >= 0 and self.last[node] >= number:  # that very beat was just executed
            return self.after(node, number)
        return node, number

    def after(self, node: int, number: int) -> tuple[int, int]:
        """The next open (node, number) after that beat."""
        found = self.open.find(1, node + 1)
        if found < 0:
            return self.open.find(1), number + 1
        return found, number


def phases(count: int, period: float, rng: np.random.Generator, given: Sequence[float] = ()) -> Sequence[float]:
    """The phases that are given, one per node, or random ones."""
    if given and len(given) != count:
        raise InvalidInput("first_beats", f"{len(given)} beats for {count} nodes", "give one per node, or none")
    if given:
        return given
    drawn: list[float] = rng.uniform(0.0, period, count).tolist()
    return drawn


def ascending(given: Sequence[float], period: float) -> tuple[list[float], list[int]]:
    """Phases in ascending order, and which node of the cluster has each."""
    within = np.mod(np.asarray(given, dtype=np.float64), period)
    order = np.argsort(within, kind="stable")
    return within[order].tolist(), order.tolist()
