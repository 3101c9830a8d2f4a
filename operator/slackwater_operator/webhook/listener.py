"""Connections to the webhook, counted from their first packet: each costs 300 kB from then on, whoever it is.

API servers come from outside of a cluster's network, so no policy can keep others away. When all places are taken the
oldest connection makes room, of the address that has most of them; a handshake has a few seconds.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

import structlog

log = structlog.get_logger(__name__)

CONNECTIONS = 512  # at once: 150 MB. An API server has as many as creations under way, some 25 of them idle
SHAKE_SECONDS = 2.0  # an API server waits no longer for a whole answer
BACKLOG = 128
FULL_SECONDS = 0.2  # before it is tried again where no connection can be accepted


@dataclass(eq=False)
class _Caller:
    """One connection, from its handshake on."""

    address: str
    shaking: asyncio.Task[None] | None = None
    transport: asyncio.BaseTransport | None = None

    @property
    def gone(self) -> bool:
        """Whether it holds nothing any more."""
        if self.transport is not None:
            return self.transport.is_closing()
        return self.shaking is not None and self.shaking.done()

    def cut(self) -> None:
        """End it at once."""
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()
        elif self.shaking is not None:
            self.shaking.cancel()


class Listener:
    """Accepts connections for a protocol, so many at once."""

    def __init__(
        self, protocol: Callable[[], asyncio.BaseProtocol], tls: ssl.SSLContext, most: int = CONNECTIONS
    ) -> None:
        self._protocol, self._tls, self._most = protocol, tls, most
        self._open: dict[_Caller, None] = {}  # the oldest first

    @asynccontextmanager
    async def listening(self, host: str, port: int) -> AsyncIterator[None]:
        """Listen while the context is open; connections that stand are left to their protocol."""
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.create_server(address[:2], family=family, backlog=BACKLOG) as door:
            door.setblocking(False)
            accepting = asyncio.create_task(self._accept(door), name="accept")
            try:
                yield
            finally:
                unfinished = [accepting, *(each.shaking for each in self._open if each.shaking is not None)]
                for task in unfinished:
                    task.cancel()
                await asyncio.gather(*unfinished, return_exceptions=True)

    async def _accept(self, door: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, address = await loop.sock_accept(door)
            except OSError as problem:  # no more files may be open
                log.warning("no connection is accepted", problem=str(problem))
                await asyncio.sleep(FULL_SECONDS)
                continue
            self._make_room()
            caller = _Caller(str(address[0]))
            self._open[caller] = None
            caller.shaking = asyncio.create_task(self._shake(caller, sock))

    async def _shake(self, caller: _Caller, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        try:
            caller.transport, _ = await loop.connect_accepted_socket(
                self._protocol, sock, ssl=self._tls, ssl_handshake_timeout=SHAKE_SECONDS
            )
        except OSError:  # TLS errors and time-outs are some
            self._open.pop(caller, None)

    def _make_room(self) -> None:
        if len(self._open) < self._most:
            return
        self._open = {each: None for each in self._open if not each.gone}
        if len(self._open) < self._most:
            return
        counts = Counter(each.address for each in self._open)
        most = max(counts.values())
        chosen = next(each for each in self._open if counts[each.address] == most)
        del self._open[chosen]
        chosen.cut()
