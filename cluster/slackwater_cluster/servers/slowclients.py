"""Callers that take a thread and do not get on: slow heads, slow bodies, slow readers, handshakes that never end.

Reading a request and writing its answer hold a thread, whoever the caller is. So each connection is entered here while
it holds one, and is cut off when it takes too long. When all places are taken the oldest connection makes room, of the
address that has most of them: whoever sends a whole request at once is answered, however many others do not.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class OpenConnection:
    """One connection that holds a thread."""

    address: str
    until: float  # monotonic; then it is cut off
    handle: socket.socket  # a second handle of its own: it can be shut down even in the middle of a handshake

    def cut(self) -> None:
        """End it: whoever reads from it or writes to it is woken."""
        with suppress(OSError):
            self.handle.shutdown(socket.SHUT_RDWR)


class ConnectionLimits:
    """At most `places` connections at once, each for `head` seconds until its head is read and `whole` in all."""

    def __init__(self, places: int, head: float, whole: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._places, self._head, self._whole, self._clock = places, head, whole, clock
        self._open: dict[int, OpenConnection] = {}  # by file descriptor, the oldest first
        self._lock = threading.Lock()
        self.cut = 0  # so many were cut off

    @contextmanager
    def hold(self, sock: socket.socket, address: str) -> Iterator[Callable[[], None]]:
        """Enter a connection while its request is read and answered; call what is given when its head was read."""
        made = OpenConnection(address, self._clock() + self._head, socket.socket(fileno=os.dup(sock.fileno())))
        key = made.handle.fileno()
        with self._lock:
            if len(self._open) >= self._places:
                self._cut(self._oldest_of_the_most())
            self._open[key] = made

        def read() -> None:
            made.until = self._clock() + self._whole

        try:
            yield read
        finally:
            with self._lock:
                self._open.pop(key, None)
            made.handle.close()

    def expire(self) -> None:
        """Cut off those that take too long."""
        now = self._clock()
        with self._lock:
            for each in [each for each in self._open.values() if each.until <= now]:
                self._cut(each)

    def _oldest_of_the_most(self) -> OpenConnection:
        counts = Counter(each.address for each in self._open.values())
        most = max(counts.values())
        return next(each for each in self._open.values() if counts[each.address] == most)

    def _cut(self, each: OpenConnection) -> None:
        """Its place is free at once; its thread follows as soon as it is woken."""
        each.cut()
        self._open.pop(each.handle.fileno(), None)
        self.cut += 1
