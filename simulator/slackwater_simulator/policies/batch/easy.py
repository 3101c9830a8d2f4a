"""EASY backfilling: the head of the queue gets a reservation; others may overtake if they do not delay it.

A later job starts now if it fits now and either ends before the head's reserved start ("shadow time") or uses only what
the head leaves over then. It plans with the run time the user asked for, where the log has one; a job that is still
running after that may end at any moment.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

from slackwater.errors import UnknownName
from slackwater_simulator.policies.base import SLACK
from slackwater_simulator.policies.batch.gang import Gang
from slackwater_simulator.worlds.fit import needed

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import Container, Request


ESTIMATES = ("user", "perfect")


class Easy(Gang):
    """Whole jobs; counts by cluster totals, places by first-fit. `estimates` perfect: plans with the true run times."""

    def __init__(self, *, estimates: str = "user") -> None:
        super().__init__()
        if estimates not in ESTIMATES:
            raise UnknownName("estimates", estimates, ESTIMATES)
        self.trusting = estimates == "user"
        self.ends: list[tuple[float, int, Container]] = []  # running, by the end that was promised
        self.serial = 0

    def allocated(self, container: Container, /) -> None:
        """Remember when it is expected to end."""
        request = container.request
        self.serial += 1
        heappush(self.ends, (self.world.engine.now + self.length(request), self.serial, container))

    def length(self, request: Request) -> float:
        """Seconds the waiting tasks of a request are expected to need."""
        if self.trusting and request.app.job.estimate > 0:
            return request.app.job.estimate
        stage = request.stage
        return float(stage.durations.max()) + stage.fetch if stage is not None and stage.tasks else float("inf")

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
        """When enough will be free for the head, and what is left beside it once all that ends by then has ended."""
        wanted = [amount * head.pending for amount in head.shape]
        free = [total - used for total, used in zip(self.world.total, self.world.used, strict=True)]
        while self.ends and self.ends[0][2].status >= 0:
            heappop(self.ends)
        shadow = self.world.engine.now
        for end, _, container in sorted(self.ends, key=lambda entry: entry[:2]):
            if end > shadow and _holds(free, wanted):
                break
            if container.status < 0:
                shadow = max(shadow, end)
                free = [have + amount for have, amount in zip(free, container.request.shape, strict=True)]
        return shadow, [have - want for want, have in zip(wanted, free, strict=True)]

    def _backfill(self, request: Request, shadow: float, spare: list[float]) -> None:
        demand = [amount * request.pending for amount in request.shape]
        short = self.world.engine.now + self.length(request) <= shadow + SLACK
        beside = _holds(spare, demand)
        if (short or beside) and self.place(request) and not short:
            spare[:] = [have - want for want, have in zip(demand, spare, strict=True)]


def _holds(have: list[float], wanted: list[float]) -> bool:
    return all(left >= least for left, least in zip(have, needed(tuple(wanted)), strict=True))
