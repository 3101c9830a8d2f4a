"""A cluster in memory behind a real API session, on the machine's clock: some writes of one namespace take long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.session import Session
from slackwater_operator.release.loop import ReleaseLoop
from support.fakes.loop import release_loop
from support.fakes.twotenants import BROKEN, TwoTenants, two_tenants

TICK = 0.02  # seconds between two looks of the scheduler
Match = Callable[[str, str], bool]  # whether a write, by method and path, takes long


@dataclass
class SlowServer:
    """An API server in front of a world. What takes long is refused in the end; with status 0 it is carried out."""

    world: TwoTenants
    slow: Match
    seconds: float = 10.0
    status: int = 403
    hung: list[str] = field(default_factory=list)  # slow writes that were begun
    under_way: int = 0
    most: int = 0  # slow writes under way at once
    _over: asyncio.Future[None] = field(init=False)
    ended: list[str] = field(default_factory=list)  # writes that were carried out
    times: dict[tuple[str, str], float] = field(
        default_factory=dict
    )  # when each was first carried out, by method, path

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A session with it, and a clock and a scheduler beside it."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        ticking = asyncio.create_task(self._tick())
        self._over = asyncio.get_running_loop().create_future()
        try:
            async with Session(Endpoint(f"http://127.0.0.1:{port}", tls=False, headers=dict)) as session:
                yield session
        finally:
            ticking.cancel()
            self._over.cancel()
            await runner.cleanup()

    async def _tick(self) -> None:
        began, start = time.monotonic(), self.world.now
        while True:
            await asyncio.sleep(TICK)
            self.world.now = start + time.monotonic() - began
            self.world.schedule()

    async def _answer(self, request: web.Request) -> web.Response:
        path, method = request.path, request.method
        if method == "GET":
            answer = await self.world.get(path)
            return web.Response(status=answer.status, body=answer.body)
        body = orjson.loads(await request.read() or b"{}")
        if self.slow(method, path):
            self.hung.append(path)
            self.under_way += 1
            self.most = max(self.most, self.under_way)
            try:
                await asyncio.wait([self._over], timeout=self.seconds)
            finally:
                self.under_way -= 1
            if self.status:
                return web.Response(status=self.status, body=b'{"message": "failed calling webhook"}')
        answer = await self.world.write(method, path, body)
        return web.Response(status=answer.status, body=answer.body)


def of_broken(*parts: str) -> Match:
    """Writes in the broken namespace whose address contains one of these."""
    return lambda _, path: f"/namespaces/{BROKEN}/" in path and any(part in path for part in parts)


@asynccontextmanager
async def led(server: SlowServer, **settings: Any) -> AsyncIterator[ReleaseLoop]:
    """The operator's loop over the server, as it runs while its process leads; reasons are told soon."""
    async with server.session() as session:
        loop = release_loop(server.world, session, **settings)
        loop.labeller.quiet = 0.5
        run = asyncio.create_task(loop.run())
        try:
            yield loop
        finally:
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)


def slow_tenants(slow: Match, seconds: float = 10.0, status: int = 403) -> SlowServer:
    """Two tenants with room for all of their pods."""
    return SlowServer(two_tenants(10_000), slow, seconds, status)
