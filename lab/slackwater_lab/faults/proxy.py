"""Stands between one program and the API server and makes trouble by the rules: lost writes, half answers, bad watches.

It listens without TLS on the loopback device, in a thread of its own. Who asks (the bearer token) is passed on, so that
roles count as ever. `kill` ends the program; it is called after a write was done and before its answer is given.
"""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from random import Random
from typing import Self

import aiohttp
from aiohttp import web
from yarl import URL

from slackwater_cluster.api.endpoint import Endpoint
from slackwater_lab.faults import requests
from slackwater_lab.faults.rules import STATUS, Deliveries, Fault, FaultPlan, FaultRound, Reading, Watch
from slackwater_lab.processes.loopthread import LoopThread

STEP = 0.3  # seconds of a watch's step
LOSSY_SECONDS = 4.0  # after which a watch that loses events ends with 410, so that everything is listed anew
LATE_SECONDS = 2.0
UNAVAILABLE = 503
# Neither an object nor a list, and no answer of Prometheus.
WRONG = b'{"status": 7, "data": [], "items": "none", "nodes": {"a": 1}}'
PASSED = ("Authorization", "Content-Type", "Accept", "User-Agent")
EXPIRED = b'{"type":"ERROR","object":{"kind":"Status","code":410,"message":"too old resource version: on purpose"}}\n'


class FaultProxy:
    """One program's way to the API server."""

    def __init__(self, where: Endpoint, kill: Callable[[], None] = lambda: None) -> None:
        self._where, self._kill = where, kill
        self.plan: FaultPlan | FaultRound = FaultPlan()
        self.watch = Watch.PROMPT
        self.reading = Reading.GOOD
        self.told: Counter[str] = Counter()  # what was done to answers and events
        self._rng = Random(0)  # noqa: S311 - of faults, not of secrets
        self._thread = LoopThread("fault proxy")
        self._streams: set[asyncio.Task[object]] = set()
        self.url = ""

    def __enter__(self) -> Self:
        self._thread.start()
        self._thread.run(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.run(self._stop())
        self._thread.close()

    # -- what shall go wrong ------------------------------------------------------------------------------------------

    def arm(self, kind: str, at: int, fault: Fault) -> None:
        """The next but so many requests of a kind meets this fault."""
        self.plan = FaultPlan(fault, at, kind)

    def arm_round(self, kinds: tuple[str, ...], faults: tuple[Fault, ...]) -> None:
        """Every second request of these kinds meets one of these faults in turn."""
        self.plan = FaultRound(kinds, faults)

    def disarm(self) -> Counter[str]:
        """No fault any more; returns how many requests of each kind came since the last one was planned."""
        counts, self.plan = self.plan.counts, FaultPlan()
        return counts

    @contextmanager
    def watching(self, watch: Watch, seed: int = 0) -> Iterator[None]:
        """Watches are as bad as this meanwhile. Those that are open end with 410 at both ends of it."""
        self.watch, self._rng = watch, Random(seed)  # noqa: S311
        self.expire()
        try:
            yield
        finally:
            self.watch = Watch.PROMPT
            self.expire()

    def expire(self) -> None:
        """End every open watch with 410."""

        def end() -> None:
            for stream in tuple(self._streams):
                stream.cancel()

        self._thread.loop.call_soon_threadsafe(end)

    # -- requests -----------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        limits = aiohttp.ClientTimeout(total=None, sock_connect=5)
        connector = aiohttp.TCPConnector(limit=0, ssl=self._where.tls)
        self._http = aiohttp.ClientSession(connector=connector, timeout=limits, auto_decompress=False)
        app = web.Application(client_max_size=2**26)
        app.router.add_route("*", "/{tail:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _stop(self) -> None:
        for stream in tuple(self._streams):
            stream.cancel()
        await self._runner.cleanup()
        await self._http.close()
        # A watch may still be at its last words; left alone, it would fail when its loop has ended.
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        kind = requests.kind(request.method, request.path, request.query)
        fault = self.plan.strikes(kind)
        if fault is not None:
            self.told[f"{kind}: {fault}"] += 1
        if fault is not None and fault in STATUS:
            return _refused(STATUS[fault])
        if fault is Fault.SILENT:
            return _hung_up(request)
        try:
            if kind == requests.READ and fault is None and self.reading is not Reading.GOOD:
                return await self._spoiled(request)
            if kind == requests.WATCH and fault is None:
                return await self._watch(request)
            return await self._answered(request, fault)
        except (aiohttp.ClientError, OSError):
            return _hung_up(request)

    async def _spoiled(self, request: web.Request) -> web.StreamResponse:
        """An answer as bad as readers get it now."""
        self.told[f"{requests.READ}: {self.reading}"] += 1
        if self.reading is Reading.REFUSED:
            return _refused(UNAVAILABLE)
        if self.reading is Reading.WRONG:
            return web.Response(body=WRONG, content_type="application/json")
        if self.reading is Reading.LATE:
            await asyncio.sleep(LATE_SECONDS)
        return await self._answered(request, Fault.LOST if self.reading is Reading.HALF else None)

    async def _answered(self, request: web.Request, fault: Fault | None) -> web.StreamResponse:
        """What the API server says; lost is the second half of it."""
        async with self._ask(request, await request.read()) as reply:
            body = await reply.read()
        if fault is Fault.KILLED:
            await asyncio.to_thread(self._kill)
            return _hung_up(request)
        headers = {key: reply.headers[key] for key in ("Content-Type", "Retry-After") if key in reply.headers}
        if fault is not Fault.LOST:
            return web.Response(status=reply.status, body=body, headers=headers)
        half = web.StreamResponse(status=reply.status, headers={**headers, "Content-Length": str(len(body))})
        await half.prepare(request)
        await half.write(body[: len(body) // 2])
        return _hung_up(request, half)

    def _ask(self, request: web.Request, body: bytes | None = None) -> aiohttp.client._RequestContextManager:
        headers = {key: request.headers[key] for key in PASSED if key in request.headers}
        url = f"{self._where.url}{request.raw_path}"
        return self._http.request(
            request.method,
            URL(url, encoded=True),
            data=body or None,
            headers=headers,
            # Who names no type means JSON; and an answer must not be compressed for us, who pass it on as it is.
            skip_auto_headers=("Content-Type", "Accept-Encoding"),
        )

    # -- watches ------------------------------------------------------------------------------------------------------

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        async with self._ask(request) as reply:
            if reply.status != 200:
                return web.Response(status=reply.status, body=await reply.read(), content_type="application/json")
            stream = web.StreamResponse(headers={"Content-Type": "application/json"})
            await stream.prepare(request)
            teller = asyncio.ensure_future(self._tell(reply, stream))
            self._streams.add(teller)
            try:
                await asyncio.wait((teller,))
                if teller.cancelled():
                    await stream.write(EXPIRED)
                elif isinstance(problem := teller.exception(), Exception):
                    raise problem
            finally:
                teller.cancel()
                self._streams.discard(teller)
        return stream

    async def _tell(self, reply: aiohttp.ClientResponse, stream: web.StreamResponse) -> None:
        """Pass events on as the rules have it. One that loses some ends early, so that what is lost is listed."""
        deliveries = Deliveries[bytes](self.watch, self._rng, STEP)
        began = time.monotonic()
        async for line in _lines(reply, STEP):
            now = time.monotonic()
            told = deliveries.due(now)
            if line:
                told += deliveries.take(now, _about(line), line)
            if self.watch is not Watch.PROMPT:
                self.told[f"{requests.WATCH}: {self.watch}"] += bool(line)
            for each in told:
                await stream.write(each)
            if self.watch is Watch.LOSSY and now - began > LOSSY_SECONDS:
                await stream.write(EXPIRED)
                return
        for each in deliveries.rest():
            await stream.write(each)


async def _lines(reply: aiohttp.ClientResponse, pause: float) -> AsyncIterator[bytes]:
    """The lines of an answer as they come; an empty one after each pause, for what is late."""
    rest, coming = b"", asyncio.ensure_future(reply.content.readany())
    try:
        while True:
            done, _ = await asyncio.wait((coming,), timeout=pause)
            if not done:
                yield b""
                continue
            if not (piece := coming.result()):
                return
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line + b"\n"
            coming = asyncio.ensure_future(reply.content.readany())
    finally:
        coming.cancel()


def _about(line: bytes) -> str:
    """The object of an event; bookmarks are all about one."""
    meta = json.loads(line).get("object", {}).get("metadata") or {}
    return str(meta.get("uid", ""))


def _refused(status: int) -> web.Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": status, "message": "on purpose"}
    return web.json_response(body, status=status, headers={"Retry-After": "1"} if status == STATUS[Fault.BUSY] else {})


def _hung_up(request: web.Request, said: web.StreamResponse | None = None) -> web.StreamResponse:
    """End the connection; whatever was said of an answer is all of it."""
    if request.transport is not None:  # else the program has gone
        request.transport.abort()
    return said or web.Response()
