"""A small API server for tests: chunked lists, watches with bookmarks, and every trouble a real one makes."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from aiohttp import web

from slackwater_cluster.api.endpoint import Endpoint

Object = dict[str, Any]
COMPRESSED = 128 * 1024  # bytes above which an answer is compressed


@dataclass
class ApiServer:
    """Objects by path and key; `troubles` answers the next requests of a path with the given status instead."""

    objects: dict[str, dict[str, Object]] = field(default_factory=dict)
    troubles: dict[str, deque[int]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    seen: list[dict[str, str]] = field(default_factory=list)
    types: list[str] = field(default_factory=list)  # the content type that each request named
    accounts: dict[str, str] = field(default_factory=dict)  # token → user, for TokenReview
    review_seconds: float = 0.0  # how long a TokenReview takes
    version: int = 100
    expired: int = 0  # watches from before this version get 410
    url: str = ""
    _watchers: dict[str, list[asyncio.Queue[bytes | None]]] = field(default_factory=dict)
    _log: dict[str, list[tuple[int, bytes]]] = field(default_factory=dict)

    def put(self, path: str, thing: Object) -> Object:
        """Create or change one object and tell the watchers."""
        shelf = self.objects.setdefault(path, {})
        key = _key(thing)
        kind = "MODIFIED" if key in shelf else "ADDED"
        shelf[key] = self._stamped(thing)
        self._tell(path, {"type": kind, "object": shelf[key]})
        return shelf[key]

    def remove(self, path: str, thing: Object, *, silently: bool = False) -> None:
        """Delete one object; silently: as if it happened while nobody watched."""
        gone = self._stamped(self.objects[path].pop(_key(thing)))
        if not silently:
            self._tell(path, {"type": "DELETED", "object": gone})

    def send(self, path: str, line: bytes) -> None:
        """Write any bytes into the open watches."""
        for queue in self._watchers.get(path, []):
            queue.put_nowait(line)

    def bookmark(self, path: str) -> None:
        """Send a bookmark as the real server writes it, nulls included."""
        self.version += 1
        meta = {"resourceVersion": str(self.version), "creationTimestamp": None}
        self._tell(path, {"type": "BOOKMARK", "object": {"metadata": meta, "spec": {"containers": None}, "status": {}}})

    def hang_up(self, path: str) -> None:
        """End the open watches."""
        for queue in self._watchers.get(path, []):
            queue.put_nowait(None)

    def compact(self) -> None:
        """Forget history: older watches get 410."""
        self.version += 1
        self.expired = self.version
        self._log.clear()

    def watchers(self, path: str) -> int:
        """How many watches are open."""
        return len(self._watchers.get(path, []))

    def _stamped(self, thing: Object) -> Object:
        self.version += 1
        return {**thing, "metadata": {**thing["metadata"], "resourceVersion": str(self.version)}}

    def _tell(self, path: str, event: Object) -> None:
        line = orjson.dumps(event)
        self._log.setdefault(path, []).append((self.version, line))
        self.send(path, line)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer one request."""
        path = request.path
        self.asked[path] += 1
        self.seen.append({"path": path, **request.query})
        self.types.append(request.headers.get("Content-Type", ""))
        if waiting := self.troubles.get(path):
            status = waiting.popleft()
            return web.json_response({"kind": "Status", "code": status, "message": f"trouble {status}"}, status=status)
        if path.endswith("/tokenreviews"):
            await asyncio.sleep(self.review_seconds)
            return web.json_response({"status": self._reviewed(orjson.loads(await request.read()))})
        if request.query.get("watch"):
            return await self._watch(request)
        body = self._list(request)
        reply = web.Response(body=body, content_type="application/json")
        if len(body) > COMPRESSED:  # as the real one, for whoever says that he can read it
            reply.enable_compression()
        return reply

    def _reviewed(self, body: Object) -> Object:
        user = self.accounts.get(body["spec"]["token"])
        return {"authenticated": True, "user": {"username": user}} if user else {"authenticated": False}

    def _list(self, request: web.Request) -> bytes:
        things = list(self.objects.get(request.path, {}).values())
        start, limit = int(request.query.get("continue") or 0), int(request.query.get("limit") or 10**9)
        more = str(start + limit) if start + limit < len(things) else ""
        meta = {"resourceVersion": str(self.version), "continue": more}
        return orjson.dumps({"kind": "List", "metadata": meta, "items": things[start : start + limit]})

    async def _watch(self, request: web.Request) -> web.StreamResponse:
        since = int(request.query["resourceVersion"])
        if since < self.expired:
            return web.json_response({"code": 410, "message": "too old resource version"}, status=410)
        reply = web.StreamResponse()
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        for version, line in self._log.get(request.path, []):
            if version > since:
                queue.put_nowait(line)
        self._watchers.setdefault(request.path, []).append(queue)
        try:
            await reply.prepare(request)
            while (said := await queue.get()) is not None:
                await reply.write(said + b"\n")
        finally:
            self._watchers[request.path].remove(queue)
        return reply

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Endpoint]:
        """Listen on a free port of the loopback device."""
        app = web.Application()
        app.router.add_route("*", "/{tail:.*}", self.handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr] # listening, so it has sockets
        self.url = f"http://127.0.0.1:{port}"
        try:
            yield Endpoint(self.url, tls=False, headers=dict)
        finally:
            for path in self._watchers:
                self.hang_up(path)
            await runner.cleanup()


def _key(thing: Object) -> str:
    meta = thing["metadata"]
    return f"{meta.get('namespace', '')}/{meta['name']}"
