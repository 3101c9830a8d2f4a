"""Pods that stand aside for a while, so that others are asked about: no node was found, or a release came to nothing.

A pod is asked about again as soon as a node has the room for which it was refused: while it stood aside, a pod of lower
priority would take it. That is what it declares, or more, where its likes were killed for their memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum

from slackwater.resources import Resources
from slackwater_cluster.objects.records import Constraints
from slackwater_operator.cache.rooms import NodeReach, Rooms


class Vain(Enum):
    """Why a release, or a reason, came to nothing; for how many seconds the pod pauses: the first time, and at most."""

    UNBOUND = (5.0, 600.0)  # the scheduler refused nodes that had room; what keeps the pod out may keep its likes out
    UNWRITTEN = (2.0, 4.0)  # the API server did not take it
    UNTOLD = (60.0, 600.0)  # its reason could not be written: another policy refuses it, or the pod is gone


@dataclass(frozen=True, slots=True)
class Pause:
    """How often a release came to nothing in this way, and until when the pod lets others go first."""

    cause: Vain
    times: int
    until: float


@dataclass(slots=True)
class Pauses:
    """By uid: pods that were let go in vain, for something that nobody told us, such as a missing volume."""

    active: bool = False  # whether somebody pauses now
    _by_uid: dict[str, Pause] = field(default_factory=dict)
    _now: float = -math.inf

    def __contains__(self, uid: object) -> bool:
        pause = self._by_uid.get(uid) if isinstance(uid, str) else None
        return pause is not None and pause.until > self._now

    def __len__(self) -> int:
        return len(self._by_uid)

    @property
    def next(self) -> float:
        """When the first pause is over; never where nobody pauses."""
        return min((each.until for each in self._by_uid.values() if each.until > self._now), default=math.inf)

    def begin(self, uid: str, now: float, cause: Vain) -> None:
        """A release came to nothing once more: the pause is twice as long as the last one of its kind."""
        first, longest = cause.value
        before = self._by_uid.get(uid)
        times = before.times if before is not None and before.cause is cause else 0
        self._by_uid[uid] = Pause(cause, times + 1, now + min(longest, first * 2.0 ** min(times, 30)))
        self.active = True

    def unbound(self, uid: str) -> Pause | None:
        """The last pause of a pod that the scheduler did not bind, be it over or not."""
        pause = self._by_uid.get(uid)
        return pause if pause is not None and pause.cause is Vain.UNBOUND else None

    def times(self, uid: str) -> int:
        """How often a pod's release came to nothing."""
        pause = self._by_uid.get(uid)
        return pause.times if pause else 0

    def forget(self, uid: str) -> None:
        """A pod is bound or gone."""
        self._by_uid.pop(uid, None)

    def look(self, now: float) -> None:
        """What time it is. What lies long back is forgotten."""
        self._now = now
        if self._by_uid:
            longest = Vain.UNBOUND.value[1]
            self._by_uid = {uid: each for uid, each in self._by_uid.items() if each.until + longest > now}
        self.active = any(each.until > now for each in self._by_uid.values())


@dataclass(frozen=True, slots=True)
class AwaitedRoom:
    """The room that a pod waits for, and where it may be."""

    amounts: Resources
    constraints: Constraints


@dataclass(slots=True)
class Refusals:
    """By uid: until when nobody asks about a pod, and the room for which it is asked about earlier."""

    reach: NodeReach
    _until: dict[str, float] = field(default_factory=dict)
    _awaited: dict[str, AwaitedRoom] = field(default_factory=dict)

    def __contains__(self, uid: object) -> bool:
        return uid in self._until

    def __len__(self) -> int:
        return len(self._until)

    @property
    def next(self) -> float:
        """When the first of them is asked about again; never where there are none."""
        return min(self._until.values(), default=math.inf)

    def add(self, uid: str, until: float) -> None:
        """No node has room for a pod."""
        self._until[uid] = until
        self._awaited.pop(uid, None)

    def await_room(self, uid: str, room: AwaitedRoom, rooms: Rooms) -> None:
        """End a pod's refusal as soon as a node has this room.

        Where a node had it already when the pod was refused, something else kept it out, and it waits its time.
        """
        if uid in self._until and not self._had(room, rooms):
            self._awaited[uid] = room

    def forget(self, uid: str) -> None:
        """A pod is gone."""
        self._until.pop(uid, None)
        self._awaited.pop(uid, None)

    def clear(self) -> None:
        """Everybody may be asked about again."""
        self._until.clear()
        self._awaited.clear()

    def expire(self, now: float, rooms: Rooms | None) -> None:
        """Forget those whose time is over, and those whose room has come."""
        over = [uid for uid, until in self._until.items() if until <= now]
        if rooms is not None:
            come = {room: self._had(room, rooms) for room in set(self._awaited.values())}
            over += [uid for uid, room in self._awaited.items() if come[room]]
        for uid in over:
            self.forget(uid)

    def _had(self, room: AwaitedRoom, rooms: Rooms) -> bool:
        self.reach.use(rooms.table.names)
        return rooms.table.holds(room.amounts, self.reach.accepted(room.constraints))
