"""Whole jobs for the ideal world: all tasks of a stage at once, or none of them.

`fcfs` is strict: the head of the queue blocks the others. `small-first-backfill` is work-conserving: whatever fits may
start, the smallest first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.resources import least
from slackwater_simulator.policies.base import Scheduler

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import App, Request


class Gang(Scheduler):
    """Requests that wait, and how to place one completely."""

    def __init__(self) -> None:
        self.line: list[Request] = []

    def asked(self, app: App, /) -> None:
        """Requests that wait join the line once."""
        for request in app.requests if app.registered else (app.master,):
            if request is not None and request.pending and request.extras is None:
                request.extras = self
                self.line.append(request)

    def whole(self, _: Request, /) -> bool:
        """Always."""
        return True

    def place(self, request: Request) -> bool:
        """Place every waiting container of the request, first-fit, or nothing."""
        nodes = self.plan(request)
        if nodes is None:
            return False
        for node in nodes:
            self.world.allocate(request, node)
        request.extras = None
        return True

    def plan(self, request: Request) -> list[int] | None:
        """A node for each container, or None if they do not all fit now."""
        free, shape, wanted = self.world.free, request.shape, request.pending
        asked = [(k, shape[k], shape[k] - least(shape[k])) for k in self.kinds if shape[k] > 0]  # … and its slack
        nodes: list[int] = []
        for node in range(len(self.world.order)):
            fit = min((int((free[k][node] + slack) // amount) for k, amount, slack in asked), default=wanted)
            nodes += [node] * min(fit, wanted - len(nodes))
            if len(nodes) == wanted:
                return nodes
        return None

    def sweep(self) -> None:
        """Start what the order allows."""
        began = self.world.clock()
        self._clear()
        self.serve()
        self._clear()
        self.world.decided(began)

    def _clear(self) -> None:
        """Who waits for nothing leaves the line, and may join it again."""
        for request in self.line:
            if not request.pending:
                request.extras = None
        self.line = [request for request in self.line if request.extras is self]

    def serve(self) -> None:
        """The policy's order."""
        raise AssertionError(f"{type(self).__name__} has no order")


class Fcfs(Gang):
    """First come, first served."""

    def serve(self) -> None:
        """From the head until one does not fit."""
        for request in self.line:
            if not self.place(request):
                return


class SmallFirst(Gang):
    """Smallest demand first, ties to the older; nothing that fits waits."""

    def serve(self) -> None:
        """Everything that fits, smallest first."""
        for request in sorted(self.line, key=lambda request: (self.demand(request), request.app.rank)):
            self.place(request)

    def demand(self, request: Request) -> float:
        """Dominant share of the cluster the waiting containers ask for together."""
        total = self.world.total
        return max(
            (request.pending * amount / total[k] for k, amount in enumerate(request.shape) if total[k] > 0), default=0.0
        )
