"""EASY backfilling: the head of the queue gets a reservation; others may overtake if they do not delay it.

A later job starts now if it fits now and either ends before the head's reserved start ("shadow time") or uses only what
the head leaves over then. Run times are the trace's own (perfect estimates).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from slackwater_simulator.yarn.schedulers.base import SLACK
from slackwater_simulator.yarn.schedulers.gang import Gang

if TYPE_CHECKING:
    from slackwater_simulator.yarn.model import Container, Request


class Easy(Gang):
    """Whole jobs; counts by cluster totals, places by first-fit."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[tuple[float, int, Container]] = []  # running, by the end that was promised
        self.serial = 0

    def allocated(self, container: Container, /) -> None:
        """Remember when it will end."""
        request = container.request
        self.serial += 1
        heappush(self.ends, (self.world.engine.now + self.length(request), self.serial, container))

    @staticmethod
    def length(request: Request) -> float:
        """Seconds the waiting tasks of a request need."""
        stage = request.stage
        return float(stage.durations.max()) + stage.shuffle if stage is not None and stage.tasks else float("inf")

    def serve(self) -> None:
        """Head jobs while they fit; then a reservation for the head, and backfilling behind it."""
        line = iter(self.line)
        head = next(line, None)
        while head is not None and self.place(head):
            head = next(line, None)
        if head is None:
            return
        shadow, spare = self._reserve(head)
        for request in line:
            self._backfill(request, shadow, spare)

    def _reserve(self, head: Request) -> tuple[float, list[float]]:
        """When enough will be free for the head, and what is left over beside it then."""
        wanted = [amount * head.pending for amount in head.shape]
        free = [total - used for total, used in zip(self.world.total, self.world.used, strict=True)]
        while self.ends and self.ends[0][2].status >= 0:
            heappop(self.ends)
        shadow = self.world.engine.now
        for end, _, container in sorted(self.ends, key=lambda entry: entry[:2]):
            if all(want <= have + SLACK for want, have in zip(wanted, free, strict=True)):
                break
            if container.status < 0:
                shadow = max(shadow, end)
                free = [have + amount for have, amount in zip(free, container.request.shape, strict=True)]
        return shadow, [have - want for want, have in zip(wanted, free, strict=True)]

    def _backfill(self, request: Request, shadow: float, spare: list[float]) -> None:
        demand = [amount * request.pending for amount in request.shape]
        short = self.world.engine.now + self.length(request) <= shadow + SLACK
        beside = all(want <= have + SLACK for want, have in zip(demand, spare, strict=True))
        if (short or beside) and self.place(request) and not short:
            spare[:] = [have - want for want, have in zip(demand, spare, strict=True)]
