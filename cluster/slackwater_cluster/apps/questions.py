"""Questions to the API server of which many may be due at once: who is asked about next, and again when.

Few are under way at the same time, and each answer is used as it comes: nobody waits for the answer of another.
Namespaces take turns; of one namespace, what was never asked goes before what nobody answered, and that is asked after
growing pauses.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, KeysView, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Generic, NamedTuple, TypeVar

Asked = TypeVar("Asked", bound=Hashable)  # what a question is about
Each = TypeVar("Each")

# Questions that are put in line in one go, and those under way at the same time.
IN_LINE = 1000
TOGETHER = 8
# … of which so many, at most, are about what nobody answered before: these may hang again.
REPEATED = TOGETHER // 2
# Seconds between two looks at what is due, while questions are under way.
LOOK_SECONDS = 0.25
# Pauses after an answer that did not come: doubling, up to the longest.
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0


class _Pause(NamedTuple):
    """Nobody answered a question."""

    until: float
    seconds: float
    since: float  # when that was first so


@dataclass
class Questions(Generic[Asked]):
    """Asks what is due, and remembers what nobody answered."""

    clock: Callable[[], float] = monotonic
    _paused: dict[Asked, _Pause] = field(default_factory=dict)

    @property
    def unanswered(self) -> KeysView[Asked]:
        """What nobody answered, the last time it was asked."""
        return self._paused.keys()

    def silence(self, about: Asked) -> float:
        """Seconds since nobody answered for the first time; 0 where that was never so."""
        pause = self._paused.get(about)
        return self.clock() - pause.since if pause else 0.0

    def forget(self, about: Asked) -> None:
        """It was answered, or is another one of that name: the next question is the first."""
        self._paused.pop(about, None)

    async def run(
        self, wanted: Callable[[], Sequence[tuple[Asked, str]]], ask: Callable[[Asked], Awaitable[bool]]
    ) -> None:
        """Ask until nothing is due. `wanted` gives namespaces, too; `ask` uses the answer and says if there was one.

        No question outlives this call, however it ends.
        """
        time = asyncio.get_running_loop().time
        hands: dict[asyncio.Task[None], tuple[Asked, str]] = {}
        line, looked = deque[tuple[Asked, str]](), time()
        try:
            while True:
                if not (hands or line) or time() - looked >= LOOK_SECONDS:
                    line, looked = deque(self._due(wanted(), list(hands.values()))), time()
                while len(hands) < TOGETHER and (question := self._next(line, hands.values())) is not None:
                    hands[asyncio.create_task(self._ask(question[0], ask))] = question
                if not hands:
                    return
                done, _ = await asyncio.wait(hands, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    del hands[task]
                    task.result()
        finally:
            for task in hands:
                task.cancel()
            await asyncio.gather(*hands, return_exceptions=True)

    def _due(
        self, wanted: Sequence[tuple[Asked, str]], under_way: Sequence[tuple[Asked, str]]
    ) -> list[tuple[Asked, str]]:
        """The next ones in their order; a namespace's questions that are under way count as its turns."""
        kept = {about for about, _ in wanted}
        self._paused = {about: pause for about, pause in self._paused.items() if about in kept}
        now, busy = self.clock(), {about for about, _ in under_way}
        ready = [each for each in wanted if each[0] not in self._paused]
        again = [each for each in wanted if (pause := self._paused.get(each[0])) is not None and pause.until <= now]
        return [each for each in fair((*under_way, *ready, *again)) if each[0] not in busy][:IN_LINE]

    def _next(self, line: deque[tuple[Asked, str]], under_way: Iterable[tuple[Asked, str]]) -> tuple[Asked, str] | None:
        """The first in line; what nobody answered before waits while enough of its kind is under way."""
        full = sum(about in self._paused for about, _ in under_way) >= REPEATED
        found = next((each for each in line if not (full and each[0] in self._paused)), None)
        if found is not None:
            line.remove(found)
        return found

    async def _ask(self, about: Asked, ask: Callable[[Asked], Awaitable[bool]]) -> None:
        if await ask(about):
            self.forget(about)
        else:
            self._pause(about)

    def _pause(self, about: Asked) -> None:
        """Nobody answered: later."""
        now = self.clock()
        last = self._paused.get(about, _Pause(now, FIRST_PAUSE / 2, now))
        seconds = min(2 * last.seconds, LONGEST_PAUSE)
        self._paused[about] = _Pause(now + seconds, seconds, last.since)


def fair(wanted: Iterable[tuple[Each, str]]) -> list[tuple[Each, str]]:
    """The same, namespaces taking turns: the first of each, then the second of each, and so on."""
    turns: dict[str, int] = {}
    numbered = []
    for each in wanted:
        turns[each[1]] = turns.get(each[1], 0) + 1
        numbered.append((turns[each[1]], each))
    return [each for _, each in sorted(numbered, key=lambda one: one[0])]
