"""One lock for the cache, with courtesy: background work steps aside while a request is being answered.

A plain lock goes to whoever asks for it first, which is mostly the thread that has just released it: a request could
wait through many slices. And the interpreter itself is such a lock: every call of numpy gives it up and has to get it
back, so background work that has a choice does not compute while a request does.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

PAUSE = 0.002  # seconds a background slice steps aside at a time: about as long as a request takes
MOST = 10  # times it does so before it takes its turn anyway: nobody is starved


class PriorityLock:
    """Use `with lock:` in a request and `with lock.background():` in the background."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.RLock()
        # Threads, not numbers: adding to a set cannot be interrupted, adding to a number can.
        self._waiting: set[int] = set()
        self._answering: set[int] = set()

    def __enter__(self) -> None:
        me = threading.get_ident()
        self._waiting.add(me)
        self._lock.acquire()
        self._waiting.discard(me)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """A request is being answered, from its first byte to its last."""
        me = threading.get_ident()
        self._answering.add(me)
        try:
            yield
        finally:
            self._answering.discard(me)

    def rest(self) -> None:
        """Between two pieces of background work: let requests go first."""
        for _ in range(self._most):
            if not (self._waiting or self._answering):
                return
            time.sleep(PAUSE)

    @contextmanager
    def background(self) -> Iterator[None]:
        """Step aside while requests are answered, then take the lock."""
        self.rest()
        with self._lock:
            yield
