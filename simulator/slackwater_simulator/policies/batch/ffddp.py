"""First-fit-decreasing by dot product (FFD-DP): of all requests that fit the node, the one most along its free vector.

Fitness F = Σ_k w_k · request_k · free_k with w_k = 1 / node total_k² (paper 001); drivers go first, ties to the older.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.ordering.fitness import fitness, weights
from slackwater_simulator.policies.base import Queue, Scheduler

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Request

TIE = 1e-12  # fitness closer than this is equal


class FfdDp(Scheduler):
    """Fills a node greedily by fitness."""

    def __init__(self) -> None:
        self.queue = Queue()

    def start(self, world: World) -> None:
        """Nodes are known."""
        super().start(world)
        self.weight = [weights(np.array(capacity)) for capacity in world.capacity]

    def asked(self, app: App, /) -> None:
        """Keep the queue to those that wait."""
        self.queue.update(app)

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
        fitting: list[Request] = []
        for app in self.queue.apps:
            for request in app.requests if app.registered else (app.master,):
                if request is None or not request.pending or not self.accepts(node, request):
                    continue
                if request is app.master:
                    return request  # drivers win outright
                fitting.append(request)
        if len(fitting) < 2:
            return fitting[0] if fitting else None
        free = np.array([free[node] for free in self.world.free])
        scores = fitness(np.array([request.shape for request in fitting]), free, self.weight[node])
        return fitting[int(np.argmax(scores >= scores.max() - TIE))]
