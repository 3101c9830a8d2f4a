"""Slots for what goes on at the same time, such that nobody waits long for somebody else's slow writes.

    a slot is free            keys (namespaces) that wait take turns; what waits for one key goes in its order
    held longer than PATIENCE it is given to another: what takes so long waits for a webhook, and costs nobody anything
    a slow key                what it begins next takes one of as many slots that only slow keys have; nothing of it
                              goes on: it is tried in a slot that nobody else wants
    not seen quick just now   no more than a FEW of a key begin until one of them was quick
    few are free of all       a key has no more than as many as are left to others, so that those that begin to hang in
                              turn leave some; the last, half as many as there are slots, are for keys that have none

A key is slow while something of it is held for so long, and after that until all of it was quick for PATIENCE: of a
webhook whose replicas are not all well, some writes are quick and the next ones hang. Where all keys are slow, as many
go on at once as if none were. Beyond twice as many slow ones a slot is kept, so that all is bounded: therefore one slow
key never has more than there are slots, and many that turn slow at once have a few each.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PATIENCE = 1.0  # seconds
MOST = 3  # times as many as there are slots may go on at once: in them, and twice as many slow ones
MOST_KEYS = 10_000  # slow ones that are remembered
FEW = 2


@dataclass(slots=True, eq=False)
class _Ticket:
    """Something that wants a slot, waits for it or has it."""

    key: str
    turn: asyncio.Future[None]
    slow: bool = False  # which kind of slot it has
    late: bool = False  # it took longer than patience
    alarm: asyncio.TimerHandle | None = None


@dataclass
class FairSlots:
    """So many slots, and once more as many for slow keys."""

    slots: int
    patience: float = PATIENCE
    _held: int = 0
    _held_slow: int = 0
    _kept: deque[_Ticket] = field(default_factory=deque)  # slow ones that still hold an ordinary slot
    _late: dict[str, int] = field(default_factory=dict)  # slow keys, and how much of each is late now
    _going: Counter[str] = field(default_factory=Counter)  # how much of each key goes on
    _well: dict[str, float] = field(default_factory=dict)  # since when all of a slow key is quick
    _going_slow: int = 0  # … of all slow keys, in whichever slots
    _quick_at: dict[str, float] = field(default_factory=dict)  # when something of a key was quick, of those that go on
    # What waits, by key, in the order of turns: of quick keys and of slow ones.
    _quick_lines: dict[str, deque[_Ticket]] = field(default_factory=dict)
    _slow_lines: dict[str, deque[_Ticket]] = field(default_factory=dict)

    def slow(self, key: str) -> bool:
        """Whether something of a key takes long, or did until a moment ago."""
        return key in self._late

    def waiting(self, key: str) -> int:
        """How many of a key wait for a slot."""
        return len(self._lines(key).get(key, ()))

    @asynccontextmanager
    async def slot(self, key: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it."""
        ticket = _Ticket(key, asyncio.get_running_loop().create_future())
        self._lines(key).setdefault(key, deque()).append(ticket)
        self._hand_out()
        try:
            await ticket.turn
        except asyncio.CancelledError:
            if ticket.turn.cancelled():
                self._leave(ticket)
            else:
                self._end(ticket)
            raise
        try:
            yield
        finally:
            self._end(ticket)

    def _lines(self, key: str) -> dict[str, deque[_Ticket]]:
        return self._slow_lines if key in self._late else self._quick_lines

    def _hand_out(self) -> None:
        while self._kept and self._held_slow < (MOST - 1) * self.slots:
            self._give_up(self._kept.popleft())
        while self._held < self.slots and (key := next(filter(self._may_begin, self._quick_lines), None)) is not None:
            self._begin(_next(self._quick_lines, key), slow=False)
        while self._slow_lines and max(self._held_slow, self._going_slow) < self.slots:
            self._begin(_next(self._slow_lines, next(iter(self._slow_lines))), slow=True)
        while self._may_try() and (key := next(filter(self._idle, self._slow_lines), None)) is not None:
            self._begin(_next(self._slow_lines, key), slow=False)

    def _may_begin(self, key: str) -> bool:
        """Whether one more of a quick key may begin: many at once only while its writes are seen to be quick.

        And only while it leaves as many to others: all that go on may hang from this moment on, and nobody knows yet.
        """
        going = self._going[key]
        if not going:
            return True
        if going >= MOST * self.slots - self._held - self._held_slow - self.slots // 2:
            return False
        return going < FEW or _now() - self._quick_at.get(key, -math.inf) < self.patience

    def _may_try(self) -> bool:
        """Whether a slow key may be tried in an ordinary slot: one that can be given up then, or one of half of all."""
        room = max(self._held_slow, self._going_slow) < (MOST - 1) * self.slots
        return self._held < (self.slots if room else self.slots // 2)

    def _idle(self, key: str) -> bool:
        return not self._going[key]

    def _begin(self, ticket: _Ticket, *, slow: bool) -> None:
        if ticket.turn.done():  # whoever waited was cancelled a moment ago
            return
        ticket.slow = slow
        self._held_slow += slow
        self._held += not slow
        self._going[ticket.key] += 1
        self._going_slow += ticket.key in self._late
        ticket.turn.set_result(None)
        self._wait(ticket)

    def _wait(self, ticket: _Ticket) -> None:
        loop = ticket.turn.get_loop()
        ticket.alarm = loop.call_later(self.patience, self._outlast, ticket, loop.time() + 1.5 * self.patience)

    def _outlast(self, ticket: _Ticket, latest: float) -> None:
        """It takes long: others get its slot. Where we ourselves were busy meanwhile, an answer may have come."""
        if ticket.turn.get_loop().time() > latest:
            self._wait(ticket)
            return
        ticket.late = True
        self._well.pop(ticket.key, None)
        line = self._quick_lines.pop(ticket.key, None)
        if ticket.key not in self._late:
            self._going_slow += self._going[ticket.key]
        self._late[ticket.key] = self._late.pop(ticket.key, 0) + 1
        if line is not None:
            self._slow_lines[ticket.key] = line
        if not ticket.slow:
            self._kept.append(ticket)
        self._hand_out()

    def _give_up(self, ticket: _Ticket) -> None:
        """It goes on, among the slow ones."""
        ticket.slow = True
        self._held -= 1
        self._held_slow += 1

    def _end(self, ticket: _Ticket) -> None:
        if ticket.alarm is not None:
            ticket.alarm.cancel()
        if ticket.slow:
            self._held_slow -= 1
        else:
            self._held -= 1
            if ticket.late:
                self._kept.remove(ticket)
        self._going_slow -= ticket.key in self._late
        self._going[ticket.key] -= 1
        if ticket.late:
            self._late[ticket.key] -= 1
            self._forget_one()
        else:
            self._quick_at[ticket.key] = _now()
            if self._well_again(ticket.key):
                self._quicken(ticket.key)
        self._hand_out()
        if not self._going[ticket.key]:
            del self._going[ticket.key]
            self._quick_at.pop(ticket.key, None)

    def _well_again(self, key: str) -> bool:
        """Whether nothing of a slow key is late, of which something was quick now, nor was for so long."""
        return self._late.get(key) == 0 and _now() - self._well.setdefault(key, _now()) >= self.patience

    def _quicken(self, key: str) -> None:
        del self._late[key]
        self._well.pop(key, None)
        self._going_slow -= self._going[key]
        line = self._slow_lines.pop(key, None)
        if line is not None:
            self._quick_lines[key] = line

    def _forget_one(self) -> None:
        """Namespaces come and go."""
        if len(self._late) > MOST_KEYS:
            oldest = next((key for key, late in self._late.items() if not late), None)
            if oldest is not None:  # "" is a key, too
                self._quicken(oldest)

    def _leave(self, ticket: _Ticket) -> None:
        """Nobody wants it any more."""
        lines = self._lines(ticket.key)
        if ticket in (line := lines.get(ticket.key, deque())):
            line.remove(ticket)
            if not line:
                del lines[ticket.key]


def _now() -> float:
    return asyncio.get_running_loop().time()


def _next(lines: dict[str, deque[_Ticket]], key: str) -> _Ticket:
    """The first of the key whose turn it is; the key goes behind the others."""
    line = lines.pop(key)
    ticket = line.popleft()
    if line:
        lines[key] = line
    return ticket
