"""First-fit-decreasing by dot product (FFD-DP): of all requests that fit the node, the one most along its free vector.

Fitness F = Σ_k w_k · request_k · free_k with w_k = 1 / node total_k² (paper 001); drivers go first, ties to the older.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater_simulator.yarn.schedulers.base import Queue, Scheduler

if TYPE_CHECKING:
    from slackwater_simulator.yarn.model import App, Request


class FfdDp(Scheduler):
    """Fills a node greedily by fitness."""

    def __init__(self) -> None:
        self.queue = Queue()

    def asked(self, app: App, /) -> None:
        """Keep the queue to those that wait."""
        self.queue.update(app)

    def fitness(self, request: Request, node: int) -> float:
        """The normalised dot product of the request and the node's free amounts."""
        total, free = self.world.capacity[node], self.world.free
        return sum(
            amount * free[k][node] / (total[k] * total[k]) for k, amount in enumerate(request.shape) if total[k] > 0
        )

    def beat(self, node: int, /) -> None:
        """Place the fittest request until nothing fits."""
        while self.world.pending:
            if not self.world.roomy(node):
                self.misfit = True
                return
            best = self._fittest(node)
            if best is None:
                return
            self.world.allocate(best, node)
            if not best.app.pending:
                self.queue.update(best.app)

    def _fittest(self, node: int) -> Request | None:
        best: Request | None = None
        most = -1.0
        for app in self.queue.apps:
            for request in app.requests if app.registered else (app.master,):
                if request is None or not request.pending or not self.accepts(node, request):
                    continue
                if request is app.master:
                    return request  # drivers win outright
                fitness = self.fitness(request, node)
                if fitness > most + 1e-12:
                    best, most = request, fitness
        return best
