"""Dominant resource fairness between applications, without queues: the smallest dominant share is served first.

dominant share of an application = max over kinds of (held / cluster total), divided by its weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater_simulator.policies.base import Queue, Scheduler

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import App, Request


class Drf(Scheduler):
    """Every kind is checked; ties go to the older application."""

    def __init__(self, *, per_beat: int = 0) -> None:
        self.per_beat = per_beat  # containers per heartbeat; 0: as many as fit
        self.queue = Queue()

    def asked(self, app: App, /) -> None:
        """Keep the queue to those that wait."""
        self.queue.update(app)

    def share(self, app: App) -> float:
        """The application's dominant share."""
        total = self.world.total
        return max((held / total[k] for k, held in enumerate(app.used) if total[k] > 0), default=0.0)

    def beat(self, node: int, /) -> None:
        """One container at a time to whoever has the smallest share and fits."""
        placed = 0
        waiting = {app.rank: app for app in self.queue.apps}
        while waiting and not (self.per_beat and placed >= self.per_beat):
            if not self.world.roomy(node):
                self.misfit = True
                return
            app = min(waiting.values(), key=lambda app: (self.share(app), app.rank))
            request = self._wish(app, node)
            if request is None:
                del waiting[app.rank]  # nothing of it fits here
                continue
            self.world.allocate(request, node)
            placed += 1
            if not app.pending:
                self.queue.update(app)
                del waiting[app.rank]

    def _wish(self, app: App, node: int) -> Request | None:
        for request in app.requests if app.registered else (app.master,):
            if request is not None and request.pending and self.accepts(node, request):
                return request
        return None
