"""Virtual time: a heap of (time, priority, sequence, action, argument). Nothing here knows what is simulated.

Events of one moment run by priority, then in the order in which they were scheduled, so a run is the same every time.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

# What happens first at one moment: ends free resources, then submissions, ticks, nodes' heartbeats, and last the sweep.
END, SUBMIT, TICK, BEAT, SWEEP = 0, 1, 2, 3, 4

Action = Callable[[Any], object]
Event = tuple[float, int, int, Action, Any]


class Engine:
    """The clock and what is still to happen."""

    __slots__ = ("executed", "heap", "now", "sequence")

    def __init__(self) -> None:
        self.now = 0.0
        self.executed = 0
        self.sequence = 0
        self.heap: list[Event] = []

    def at(self, time: float, priority: int, action: Action, argument: Any = None) -> None:
        """Call `action(argument)` at that time."""
        self.sequence = sequence = self.sequence + 1
        heappush(self.heap, (time, priority, sequence, action, argument))

    def run(self, until: float = float("inf"), most: int = 1 << 62) -> bool:
        """Execute until the heap is empty (True), the time is reached, or that many events have run (False)."""
        heap = self.heap
        left = most
        while heap and left and heap[0][0] <= until:
            self.now, _, _, action, argument = heappop(heap)
            action(argument)
            left -= 1
        self.executed += most - left
        return not heap
