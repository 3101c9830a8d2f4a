"""A container too large for any node's free room reserves one: nothing else is placed there until it fits."""

from __future__ import annotations

from slackwater_simulator.worlds.yarn.model import Request


class Reservations:
    """At most one request per node, and no more nodes per request than it wants containers."""

    def __init__(self) -> None:
        self.on: dict[int, Request] = {}
        self.count: dict[Request, int] = {}

    def holder(self, node: int) -> Request | None:
        """Who has reserved the node. A request that no longer waits loses it."""
        request = self.on.get(node)
        if request is not None and self.count[request] > request.pending:
            self.drop(node)
            return None
        return request

    def make(self, node: int, request: Request) -> bool:
        """Reserve, unless the request has as many reservations as it wants containers."""
        if self.count.get(request, 0) >= request.pending:
            return False
        self.on[node] = request
        self.count[request] = self.count.get(request, 0) + 1
        return True

    def drop(self, node: int) -> None:
        """The reservation is over."""
        request = self.on.pop(node)
        self.count[request] -= 1
        if not self.count[request]:
            del self.count[request]
