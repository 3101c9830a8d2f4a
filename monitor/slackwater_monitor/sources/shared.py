"""A reading that several threads share: one of them reads, the others get what was read before.

A slow API server then costs one thread of the monitor, and the pages and probes of the others go on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class SharedReading(Generic[Value]):
    """What `read` gave last. `meanwhile` is said to those who ask while it is read for the first time."""

    def __init__(
        self,
        read: Callable[[], Value],
        meanwhile: Callable[[], Value],
        *,
        fresh: float,
        clock: Callable[[], float] = time.monotonic,  # not that of the wall, which may be set back
    ) -> None:
        self._read, self._meanwhile, self._fresh, self._clock = read, meanwhile, fresh, clock
        self._lock = threading.Lock()
        self._last: tuple[float, Value] | None = None  # when it was read, and what

    def get(self) -> Value:
        """The value now, or of a moment ago."""
        last = self._last
        if last is not None and self._clock() - last[0] < self._fresh:
            return last[1]
        if not self._lock.acquire(blocking=False):  # another thread reads it
            return last[1] if last is not None else self._meanwhile()
        try:
            if self._last is None or self._last is last:  # else somebody was quicker
                value = self._read()
                self._last = (self._clock(), value)
            return self._last[1]
        finally:
            self._lock.release()
