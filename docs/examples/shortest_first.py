"""A policy of one's own: the job with the fewest tasks left goes first.

slackwater simulate gen:haste -p fifo,shortest_first:ShortestFirst    # in this folder, or with it on PYTHONPATH
"""

from __future__ import annotations

from slackwater_simulator.policies.base import Scheduler
from slackwater_simulator.worlds.yarn.model import App


class ShortestFirst(Scheduler):
    """Fewest waiting tasks first: short jobs are done early, long ones may wait for long."""

    worlds = ("yarn", "ideal")

    def __init__(self) -> None:
        self.apps: dict[str, App] = {}

    def asked(self, app: App, /) -> None:
        """Keep those that wait for something."""
        if app.pending:
            self.apps[app.job.id] = app
        else:
            self.apps.pop(app.job.id, None)

    def beat(self, node: int, /) -> None:
        """Fill the node, shortest job first."""
        for app in sorted(self.apps.values(), key=lambda each: (each.pending, each.rank)):
            for request in app.requests if app.registered else (app.master,):
                while request is not None and request.pending and self.accepts(node, request):
                    self.world.allocate(request, node)
