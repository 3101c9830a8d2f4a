"""YARN's FifoScheduler: memory only, no limit on drivers, a node is filled in one heartbeat.

It is not strict: an application whose next container does not fit this node is passed over here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater_simulator.policies.base import Queue, Scheduler

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import App

MEMORY = 1


class Fifo(Scheduler):
    """Applications by priority, then arrival."""

    def __init__(self, *, cores: bool = False) -> None:
        # YARN's own ignores cores altogether and oversubscribes them.
        self.checked = None if cores else (MEMORY,)
        self.queue = Queue()

    def asked(self, app: App, /) -> None:
        """Keep the queue to those that wait."""
        self.queue.update(app)

    def beat(self, node: int, /) -> None:
        """Fill the node, application by application."""
        served = []
        for app in self.queue.apps:
            if not self.world.roomy(node):
                self.misfit = True
                break
            self._serve(app, node)
            if not app.pending:
                served.append(app)
        for app in served:
            self.queue.update(app)

    def _serve(self, app: App, node: int) -> None:
        for request in app.requests if app.registered else (app.master,):
            while request is not None and request.pending and self.accepts(node, request):
                self.world.allocate(request, node)
