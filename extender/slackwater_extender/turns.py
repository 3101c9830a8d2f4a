"""One lock in which requests go first.

Watches and samples take it again and again in short slices. A plain lock would go to whoever runs at the moment of its
release, which is mostly the thread that has just released it: a request could wait through many slices.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

PAUSE = 0.0003  # seconds a background slice steps aside at a time
MOST = 50  # times it does so before it takes its turn anyway: nobody is starved


class Turns:
    """Use `with turns:` in a request and `with turns.patiently():` in the background."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._counting = threading.Lock()
        self._waiting = 0

    def __enter__(self) -> None:
        with self._counting:
            self._waiting += 1
        self._lock.acquire()
        with self._counting:
            self._waiting -= 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    @contextmanager
    def patiently(self) -> Iterator[None]:
        """Step aside while requests wait, then take the lock."""
        for _ in range(MOST):
            if not self._waiting:
                break
            time.sleep(PAUSE)
        with self._lock:
            yield
