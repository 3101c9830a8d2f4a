"""Containers that were released and wait for a node's heartbeat, by group; their number and shapes are kept beside."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import Request

# What a container takes, and whether it is a driver's: groups are many, wishes few.
Wish = tuple[tuple[float, ...], bool]


class Promises:
    """What is promised to each group, by its key."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.wishes: Counter[Wish] = Counter()  # how many groups wait for each
        self.total = 0

    def put(self, request: Request, count: int) -> None:
        """So many of the group's containers wait now; 0: none any more."""
        key, before = request.key, self.counts.get(request.key, 0)
        self.total += count - before
        if count:
            self.counts[key] = count
        elif before:
            del self.counts[key]
        if bool(count) != bool(before):
            self._wish((request.shape, request.driver), 1 if count else -1)

    def _wish(self, wish: Wish, change: int) -> None:
        self.wishes[wish] += change
        if not self.wishes[wish]:
            del self.wishes[wish]
