"""An event loop whose clock jumps to whatever comes next: hours of waiting take no time, and are always the same."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumps(selectors.DefaultSelector):
    """Where a loop would sleep, its clock goes on instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now."""
        if timeout is None:
            raise AssertionError("everybody waits for somebody else, and nothing will ever come")
        self.now += max(timeout, 0.0)
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._clock = _Jumps()
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now


def play(story: Coroutine[Any, Any, T]) -> T:
    """What a story returns that needs nothing of the world but time."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(story)
