"""Pods for which no node was found: they step aside for a while, so that others are asked about.

A pod is asked about again as soon as a node has the room for which it was refused: while it stood aside, a pod of lower
priority would take it. That is what it declares, or more, where its likes were killed for their memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from slackwater.resources import Resources
from slackwater_cluster.watch.records import Constraints
from slackwater_operator.cache.rooms import NodeReach, Rooms


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
