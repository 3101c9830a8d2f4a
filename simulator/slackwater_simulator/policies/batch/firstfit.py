"""Strict FIFO with first-fit, for batch logs: the head goes to the first node it fits, or blocks everybody."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from slackwater_simulator.policies.base import Scheduler

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import App, Request


class FirstFit(Scheduler):
    """Requests in the order in which they were first asked for."""

    def __init__(self) -> None:
        self.line: deque[Request] = deque()

    def asked(self, app: App, /) -> None:
        """Requests that wait join the line once."""
        for request in app.requests if app.registered else (app.master,):
            if request is not None and request.pending and request.extras is None:
                request.extras = self
                self.line.append(request)

    def sweep(self) -> None:
        """Serve the head until it fits nowhere."""
        line, world = self.line, self.world
        began = world.clock()
        while line:
            head = line[0]
            node = self._first(head) if head.pending else -1
            if node >= 0:
                world.allocate(head, node)
            elif head.pending:
                break
            if not head.pending:
                head.extras = None
                line.popleft()
        world.decided(began)

    def _first(self, request: Request) -> int:
        """The first node with room. Nodes closed earlier have too little for the smallest wish."""
        nodes = self.world.beats.open
        node = nodes.find(1)
        while node >= 0:
            if self.fits(node, request):
                return node
            if not self.world.roomy(node):
                nodes[node] = 0
            node = nodes.find(1, node + 1)
        return -1
