"""An API server with many held pods, or large ones, that itself keeps none of them in memory."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from aiohttp import web

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Session

MEBIBYTE = 2**20
GATES = '"schedulingGates":[{"name":"slackwater.io/admission"}],'
POD = (
    '{"metadata":{"name":"p%06d","namespace":"team","uid":"u%06d","creationTimestamp":"2026-01-01T00:00:00Z"},'
    '"spec":{"schedulerName":"slackwater",%s"containers":[{"name":"m","args":["'
)


@dataclass
class ManyPods:
    """`count` pods, each with an argument of `size` bytes. A patch lifts a gate; a pod without one is bound at once."""

    count: int
    size: int
    expires: int = 0  # the list is too old from this pod on, once
    lifted: set[int] = field(default_factory=set)
    limits: list[int] = field(default_factory=list)  # that were asked for
    refused: frozenset[int] = frozenset()  # pods that cannot be patched
    silent: frozenset[int] = frozenset()  # pods whose patch is not answered
    operator: dict[str, str] | None = None  # annotations of the operator's Deployment, if there is one
    deleted: list[str] = field(default_factory=list)  # paths

    async def listed(self, request: web.Request) -> web.StreamResponse:
        """A page, written piece by piece, never compressed."""
        start, limit = int(request.query.get("continue", "").strip("+") or 0), int(request.query["limit"])
        self.limits.append(limit)
        if self.expires and start >= self.expires:
            self.expires = 0
            return web.json_response({"code": 410, "metadata": {"continue": f"+{start}"}}, status=410)
        left = [number for number in range(start, self.count) if number not in self.lifted]
        reply = web.StreamResponse(headers={"Content-Type": "application/json"})
        await reply.prepare(request)
        with suppress(ConnectionError):  # the reader has had enough
            await self._write(reply, left[:limit], str(left[limit]) if len(left) > limit else "")
        return reply

    async def _write(self, reply: web.StreamResponse, page: list[int], token: str) -> None:
        filler = b"x" * min(self.size, 2**16)
        await reply.write(b'{"metadata":{"continue":"%s"},"items":[' % token.encode())
        for place, number in enumerate(page):
            await reply.write(b"," * bool(place) + (POD % (number, number, GATES)).encode())
            for _ in range(self.size // len(filler)):
                await reply.write(filler)
            await reply.write(b'"]}]}}')
        await reply.write(b"]}")

    async def patched(self, request: web.Request) -> web.Response:
        """A gate is lifted."""
        number = int(request.match_info["name"][1:])
        if number in self.silent:
            await asyncio.Event().wait()
        if number in self.refused:
            return web.json_response({"message": "not this one"}, status=422)
        self.lifted.add(number)
        return web.json_response({})

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """Somebody who asks it."""
        app = web.Application()
        app.router.add_get("/api/v1/pods", self.listed)
        app.router.add_patch("/api/v1/namespaces/team/pods/{name}", self.patched)
        app.router.add_get("/apis/apps/v1/namespaces/slackwater-system/deployments/slackwater-operator", self._found)
        app.router.add_route("DELETE", "/{path:.*}", self._removed)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        address = runner.addresses[0]
        try:
            async with Session(Endpoint(f"http://127.0.0.1:{address[1]}", False, dict)) as session:
                yield session
        finally:
            await runner.cleanup()

    async def _found(self, _: web.Request) -> web.Response:
        body = {"metadata": {"annotations": self.operator}}
        return web.json_response(body, status=404 if self.operator is None else 200)

    async def _removed(self, request: web.Request) -> web.Response:
        self.deleted.append(request.path)
        return web.json_response({})


def peak(server: ManyPods, work: Callable[[Session], Awaitable[object]]) -> float:
    """The most memory in MiB that was in use at once while somebody worked with a server."""

    async def run() -> float:
        async with server.session() as session:
            tracemalloc.start(1)
            try:
                await work(session)
                return tracemalloc.get_traced_memory()[1] / MEBIBYTE
            finally:
                tracemalloc.stop()

    return asyncio.run(run())
