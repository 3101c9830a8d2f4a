"""One aiohttp session to the API server: few connections, a bounded number of writes in flight, answers as bytes.

Measured: the API server is the bound, not Python (150 to 200 releases/s on two shared cores), and pushing more in
flight lowered the rate. So writes are paced by answers: at most `in_flight` at once. Namespaces take turns, and writes
that wait for a slow webhook leave room for those of other namespaces.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp
import msgspec
import orjson

from slackwater.errors import Unavailable
from slackwater_cluster.api.contenttypes import JSON
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.fairslots import MOST, FairSlots
from slackwater_cluster.api.paths import namespace_of
from slackwater_cluster.api.unreadable import UNREADABLE

# Without this a re-listing of 150,000 pods would wait behind one slow answer; bookmarks come every minute.
READ_TIMEOUT = 90.0
CONNECT_TIMEOUT = 5.0
# For 8 watches and twice 8 look-ups of the operator at the same time, and some reads: beside those of writes.
CONNECTIONS = 32
# Proof of who we are is asked for again after this many seconds: a mounted token is good for minutes after its renewal,
# and a thread for each request took a fifth of the CPU of a release.
PROOF_SECONDS = 30.0
UNAUTHORIZED = 401


class TooLarge(Unavailable):
    """An answer was longer than its reader wanted to keep."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server said. The body is not parsed: most writers only look at the status."""

    status: int
    body: bytes
    retry_after: float | None = None

    @property
    def ok(self) -> bool:
        """Whether it worked."""
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The body, decoded."""
        return orjson.loads(self.body)

    def message(self) -> str:
        """The server's own sentence, for logs and errors."""
        try:
            return f"{self.status}: {msgspec.json.decode(self.body, type=_Status).message}"
        except UNREADABLE:
            return f"{self.status}: {self.body[:200].decode(errors='replace')}"


class _Status(msgspec.Struct):
    message: str = ""


class Session:
    """Requests to one API server. Use as an async context manager inside a running loop.

    `may_write` is asked right before each write: a leader whose Lease is over must not finish what it began.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        in_flight: int = 16,
        may_write: Callable[[], bool] = lambda: True,
    ) -> None:
        self._endpoint, self._may_write = endpoint, may_write
        self._in_flight = in_flight
        self._slots: FairSlots
        self._http: aiohttp.ClientSession
        self._proof: Mapping[str, str] = {}
        self._proven = float("-inf")

    async def __aenter__(self) -> Self:
        self._slots = FairSlots(self._in_flight)
        self._http = aiohttp.ClientSession(
            base_url=f"{self._endpoint.url}/",
            connector=aiohttp.TCPConnector(
                limit=CONNECTIONS + MOST * self._in_flight, ssl=self._endpoint.tls, keepalive_timeout=60
            ),
            timeout=_timeout(None),
            headers={"Accept": JSON, "User-Agent": "slackwater"},
            proxy=self._endpoint.proxy,
            json_serialize=lambda value: orjson.dumps(value).decode(),
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.close()

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> Answer:
        """Read once, in so many seconds and at most so many bytes. Not counted among the writes in flight."""
        # Compressed, a thousand times as many bytes could come in one piece, before they can be counted.
        more = {} if most is None else {"Accept-Encoding": "identity"}
        async with self.stream(path, params, seconds=seconds, more=more) as reply:
            return self._checked(await _answer(reply, most))

    @asynccontextmanager
    async def stream(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        more: Mapping[str, str] | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Open a long answer (a watch); the caller reads it piece by piece. `more` headers go beside the usual ones."""
        headers = {**await self._headers(), **(more or {})}
        timeout = _timeout(seconds)
        try:
            async with self._http.get(path.lstrip("/"), params=params, headers=headers, timeout=timeout) as reply:
                yield reply
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise Unavailable(f"API server: {type(problem).__name__}: {problem}") from problem

    async def write(
        self, method: str, path: str, body: object, *, content_type: str = JSON, seconds: float | None = None
    ) -> Answer:
        """Send one write and wait for its answer, for so long; more than `in_flight` writers queue here."""
        async with self._slots.slot(namespace_of(path)):
            headers = {**await self._headers(), "Content-Type": content_type}
            if not self._may_write():
                raise Unavailable("nothing is written any more: another replica may lead")
            try:
                async with self._request(method, path, orjson.dumps(body), headers, seconds) as reply:
                    return self._checked(await _answer(reply))
            except (aiohttp.ClientError, TimeoutError, OSError) as problem:
                raise Unavailable(f"API server: {type(problem).__name__}: {problem}") from problem

    async def _headers(self) -> Mapping[str, str]:
        """Proof of who we are. In a thread: a plugin may have to be run for it."""
        now = asyncio.get_running_loop().time()
        if now - self._proven >= PROOF_SECONDS:
            self._proof = await asyncio.to_thread(self._endpoint.proof)
            self._proven = now
        return self._proof

    def _checked(self, answer: Answer) -> Answer:
        """After a 401 the proof is asked for anew."""
        if answer.status == UNAUTHORIZED:
            self._proven = float("-inf")
        return answer

    def _request(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str], seconds: float | None
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        return self._http.request(method, path.lstrip("/"), data=body, headers=headers, timeout=_timeout(seconds))


def _timeout(seconds: float | None) -> aiohttp.ClientTimeout:
    """For one request: so many seconds in all, or those of every session."""
    return aiohttp.ClientTimeout(
        total=seconds, sock_connect=CONNECT_TIMEOUT, sock_read=min(seconds or READ_TIMEOUT, READ_TIMEOUT)
    )


async def _answer(reply: aiohttp.ClientResponse, most: int | None = None) -> Answer:
    body = await reply.read() if most is None else await _bounded(reply, most)
    return Answer(status=reply.status, body=body, retry_after=seconds(reply.headers.get("Retry-After")))


async def _bounded(reply: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, unless it is larger than allowed."""
    pieces: list[bytes] = []
    left = most
    async for piece in reply.content.iter_any():
        left -= len(piece)
        if left < 0:
            raise TooLarge(f"API server: an answer of more than {most} bytes was not read")
        pieces.append(piece)
    return b"".join(pieces)


def seconds(text: str | None) -> float | None:
    """Retry-After in seconds; dates and nonsense count as not given."""
    return float(text) if text and len(text) <= 9 and text.isascii() and text.isdigit() else None
