"""The stock kube-scheduler: a priority queue with backoff, filter by requests, score, bind; one pod per turn.

Pods of one stage are equal and were created together, so they stand in the queue as one entry. A refused entry waits
until a pod ends on a node that would then take it (the scheduler's queueing hint), and then for its backoff; but a
loop that has nothing else to do does not wait for that (SchedulerPopFromBackoffQ, on by default since 1.33).
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from slackwater_simulator.engine import SWEEP
from slackwater_simulator.policies.base import Scheduler
from slackwater_simulator.policies.charges import Charges, by_free

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.worlds.kubernetes.settings import Pace
    from slackwater_simulator.worlds.kubernetes.world import Kube
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request

# A backoff has long reached its limit by then; a pod may be refused thousands of times.
MOST_DOUBLINGS = 30


def backoff(pace: Pace, attempts: int) -> float:
    """Seconds a pod waits after so many refusals."""
    return float(min(pace.longest_backoff, pace.backoff * 2 ** min(attempts - 1, MOST_DOUBLINGS)))


class Stock(Scheduler):
    """LeastAllocated or MostAllocated, as the profile says."""

    def __init__(self, *, most: bool = False) -> None:
        self._sign = 1.0 if most else -1.0

    def start(self, world: World) -> None:
        """Nothing is queued yet."""
        super().start(world)
        self.world: Kube = world  # type: ignore[assignment]  # policies of this world meet no other
        self._active: list[tuple[int, float, int, Request]] = []
        self._backing: list[tuple[float, int, Request]] = []  # by the end of their backoff
        self._queued: set[Request] = set()
        self._refused: dict[Request, tuple[int, float]] = {}  # attempts, and when the last one was
        self._attempts: dict[Request, int] = {}
        self._number = 0
        self._busy = False
        self._turn = 0.0  # when the loop is free again
        self._capacity = np.array(world.capacity)
        self._rng = np.random.default_rng(world.seed)

    def charges(self) -> Charges:
        """By requests."""
        return by_free(self.world, self._capacity, np.column_stack(self.world.views))

    def asked(self, app: App, /) -> None:
        """New pods join the queue; one that lost a pod does so anew."""
        for request in [app.master, *app.requests]:
            if request is not None and request.pending and request not in self._queued:
                self._enqueue(request, self.world.engine.now)

    def released(self, container: Container, /) -> None:
        """A pod is gone from a node."""
        self._retry(container.node)

    def resized(self) -> None:
        """Nodes came back, or are gone."""
        for node in np.flatnonzero(np.frombuffer(self.world.up, dtype=np.uint8)).tolist():
            self._retry(node)

    def _retry(self, node: int) -> None:
        """Refused pods that the node would now take are tried again: after their backoff, or when nobody else is."""
        now, pace = self.world.engine.now, self.world.pace
        for request, (attempts, last) in list(self._refused.items()):
            if self.fits(node, request):
                del self._refused[request]
                self._number += 1
                ready = max(now, last + backoff(pace, attempts))
                heappush(self._backing, (ready, self._number, request))
                self.world.engine.at(ready, SWEEP, self._expire)
                self.sweep()

    def sweep(self) -> None:
        """Something is pending: let the loop turn."""
        if not self._busy and (self._active or self._backing):
            self._busy = True
            self.world.engine.at(max(self.world.engine.now, self._turn), SWEEP, self._cycle)

    def _enqueue(self, request: Request, since: float) -> None:
        self._number += 1
        self._queued.add(request)
        heappush(self._active, (-request.app.job.priority, since, self._number, request))

    def _expire(self, _: None) -> None:
        """Backoffs that are over."""
        while self._backing and self._backing[0][0] <= self.world.engine.now:
            self._enqueue(heappop(self._backing)[-1], self.world.engine.now)
        self.sweep()

    def _first(self) -> Request | None:
        """Whose turn it is: the first of the queue, and where that is empty the one whose backoff ends first."""
        while self._active or self._backing:
            if not self._active:
                self._enqueue(heappop(self._backing)[-1], self.world.engine.now)
            if self._active[0][-1].pending:
                return self._active[0][-1]
            self._queued.discard(heappop(self._active)[-1])  # it was withdrawn meanwhile
        return None

    def _cycle(self, _: None) -> None:
        """One turn: the first pod in the queue gets a node, or is refused."""
        self._busy = False
        request = self._first()
        if request is None:
            return
        node = self._choose(request)
        self.world.decisions += 1
        if node is None:
            heappop(self._active)
            attempts = self._attempts[request] = self._attempts.get(request, 0) + 1
            self._refused[request] = (attempts, self.world.engine.now)
        else:
            self.world.allocate(request, node)  # its brothers have been refused as often as before
        self._turn = self.world.engine.now + self.world.pace.cycle
        self.sweep()

    def _choose(self, request: Request) -> int | None:
        """Filter, then score = mean share of each kind in use (negative for LeastAllocated); ties by lot."""
        shape = np.array(request.shape)
        free = np.column_stack(self.world.views)
        rows = np.flatnonzero((free >= np.array(request.needed)).all(axis=1))
        if rows.size == 0:
            return None
        score = self._sign * self._score(free[rows] - shape, self._capacity[rows])
        best = rows[score >= score.max() - 1e-12]
        return int(best[self._rng.integers(len(best))])

    @staticmethod
    def _score(left: NDArray[np.float64], capacity: NDArray[np.float64]) -> NDArray[np.float64]:
        share = np.divide(left, capacity, out=np.ones_like(left), where=capacity > 0)
        used: NDArray[np.float64] = 1.0 - share[:, :2].mean(axis=1)
        return used


class Most(Stock):
    """MostAllocated: pack."""

    def __init__(self) -> None:
        super().__init__(most=True)
