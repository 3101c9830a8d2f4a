"""Which of the different requests of a line may still go: those that fit and have headroom in their pool.

A round only takes: what no longer fits never fits again. So all are looked at only when one of them may have closed:

    max over the open requests of what is needed ≤ what is free, of each kind and of slots, and no node was lost to any
    ⇒  all of them still go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from slackwater.cycle.appstarts.ownersbound import OwnersBound
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.candidates import RequestShape
from slackwater.cycle.podline.sumroom import SumRoom
from slackwater.pools.pools import Category
from slackwater.validation import TOLERANCE


class OpenRequests:
    """Requests by number; `headroom` are the slots that each pool has left, counted by whoever takes them."""

    def __init__(
        self,
        requests: Sequence[RequestShape],
        room: SumRoom,
        rooms: NodeRooms,
        bound: OwnersBound,
        headroom: Mapping[Category, float],
    ) -> None:
        self._requests, self._sum, self._rooms, self._bound = requests, room, rooms, bound
        self.open(headroom)

    def open(self, headroom: Mapping[Category, float]) -> None:
        """All of them may go until somebody looks: there is other headroom."""
        self._headroom = headroom
        self._going = list(range(len(self._requests)))
        self._losses = -1  # of nodes, when all were looked at last
        self._needed: tuple[float, ...] = ()  # the most of each kind that one of them needs
        self._slots: dict[Category, float] = {}  # … and of the slots of each pool

    def close(self, closed: Iterable[int]) -> None:
        """These go no more."""
        gone = set(closed)
        self._going = [number for number in self._going if number not in gone]

    def sift(self) -> list[int]:
        """Close those that no longer go; returns them."""
        if self._all_go():
            return []
        closed = [number for number in self._going if not self._goes(number)]
        if closed:
            self.close(closed)
        shapes = [self._requests[number] for number in self._going]
        self._needed, self._losses = self._sum.most_needed(self._going), self._rooms.losses
        self._slots = {
            side: max([each.slots for each in shapes if each.category is side], default=0.0) for side in Category
        }
        return closed

    def _all_go(self) -> bool:
        """Whether all that the last look left open surely go still; an owner's bound is always looked at."""
        if self._bound.binds or self._losses != self._rooms.losses or not self._sum.holds(self._needed):
            return False
        return all(slots <= self._headroom[side] + TOLERANCE for side, slots in self._slots.items())

    def _goes(self, number: int) -> bool:
        """Whether a request fits and has headroom, wherever a driver may not go."""
        shape = self._requests[number]
        enough = shape.slots <= self._headroom[shape.category] + TOLERANCE and self._sum.fits(number)
        return enough and self._bound.allows(shape.category, shape.request) and self._rooms.fits(shape.node)
