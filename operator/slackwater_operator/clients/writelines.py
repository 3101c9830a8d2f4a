"""Writes beside the loop: one line for each namespace, in which they go one after the other, and few lines at once.

Whoever adds writes waits for them a moment, which is enough for most, and then goes on: what is slow in one namespace
holds up neither the loop nor what is written in others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import structlog

from slackwater_cluster.api.fairslots import FairSlots

log = structlog.get_logger(__name__)

# Lines that go on at once: words are writes too, and must leave the API server to releases.
TOGETHER = 4
MOMENT = 0.25  # seconds that a loop waits for them
MOST = 100  # writes that wait in one line

Write = Callable[[], Awaitable[object]]


@dataclass
class WriteLines:
    """Lines by key, a namespace mostly."""

    most: int = MOST
    slots: FairSlots = field(default_factory=lambda: FairSlots(TOGETHER))
    _lines: dict[str, deque[Write]] = field(default_factory=dict)
    _hands: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def add(self, key: str, write: Write) -> bool:
        """Put a write at the end of its line; not where that is full."""
        line = self._lines.setdefault(key, deque())
        if len(line) >= self.most:
            return False
        line.append(write)
        if key not in self._hands:
            self._hands[key] = asyncio.create_task(self._work(key))
        return True

    def busy(self, key: str) -> bool:
        """Whether something of a line waits or is being written."""
        return key in self._hands

    def length(self, key: str) -> int:
        """How many of a line wait."""
        return len(self._lines.get(key, ()))

    def stuck(self, key: str) -> bool:
        """Whether something of a line is being written, and takes long."""
        return self.busy(key) and self.slots.slow(key)

    def drop(self) -> frozenset[str]:
        """Forget what has not begun: it is decided anew what is to be written. Returns the lines that lag behind."""
        behind = frozenset(key for key, line in self._lines.items() if line)
        for line in self._lines.values():
            line.clear()
        return behind

    async def settle(self, seconds: float = MOMENT) -> None:
        """Wait until everything is written but what takes long, or until the moment is over."""
        if quick := [task for key, task in self._hands.items() if not self.slots.slow(key)]:
            await asyncio.wait(quick, timeout=seconds)

    async def stop(self) -> None:
        """Give up everything."""
        hands = list(self._hands.values())
        for hand in hands:
            hand.cancel()
        await asyncio.gather(*hands, return_exceptions=True)

    async def _work(self, key: str) -> None:
        """Write one line; after each write other lines have their turn."""
        try:
            while self._lines[key]:
                async with self.slots.slot(key):
                    if self._lines[key]:
                        await self._write(key, self._lines[key].popleft())
                await asyncio.sleep(0)  # many have nothing to write after all, and wait for nothing
        finally:
            del self._lines[key], self._hands[key]

    @staticmethod
    async def _write(key: str, write: Write) -> None:
        try:
            await write()
        except Exception:  # the next one may be written all the same
            log.exception("not written", line=key)
