"""What a queue may still ask an autoscaler for, and which pods have asked already.

    left = maximum − capacity − Σ N of growth pods that find no room, of the kinds that the maximum names

N is what kube-scheduler counts of a pod: machines are made for that. A growth pod was released although no node had
room. Until it has a node, or its release is taken back, it takes room before any held pod: it asked for the machine
that came. One that finds room needs no machine any more.

Some pods no autoscaler can serve, and nothing tells which. Those that waited in vain for a machine ask after all
others, and while they ask, half of the growth pods are left to others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.snapshot import App, PodGroup, Queue
from slackwater.resources import NOTHING, Resources


class NodeGrowth:
    """One queue's claims of growth pods, and what it may still ask for."""

    def __init__(self, queue: Queue, apps: Sequence[App], rooms: NodeRooms) -> None:
        self.with_room: list[str] = []  # growth pods for which a node has room now
        self._rooms = rooms
        self._asked = 0  # growth pods under way
        self._most = queue.growth
        self._left = (queue.maximum or NOTHING) - queue.capacity
        self._kinds = tuple(queue.maximum or ())
        self.queue = replace(queue, free=self._claim(queue, apps))
        self.open = queue.grows and not queue.paused  # whether machines may be asked for at all

    def _claim(self, queue: Queue, apps: Sequence[App]) -> Resources:
        """Give growth pods the room that there is, those of the earliest app first; returns what is free then."""
        waiting = [group for app in _earliest_first(apps) for group in app.groups if group.growing]
        free = queue.free
        for group, shape in zip(waiting, self._rooms.shapes(queue, waiting), strict=True):
            self._asked += len(group.growing)
            for uid in group.growing:
                if self._rooms.take(shape) < 0:
                    self._left = self._left - counted(group)
                else:
                    self.with_room.append(uid)
                    free = free - group.request
        return free.at_least(NOTHING) if self.with_room else free

    def allows(self, group: PodGroup, count: int = 1) -> bool:
        """Whether machines for so many pods of a group may be asked for: pods and maximum have room for them."""
        most = min(self._most, max(1, self._most // 2)) if group.in_vain else self._most
        return self.open and self._asked + count <= most and self._within(counted(group) * count)

    def slots(self, slot: Resources) -> float:
        """How many slots of a pool could still be added, by the kinds that the maximum names."""
        if not self.open or self._asked >= self._most:
            return 0.0
        return max(0.0, min((self._left[k] / slot[k] for k in self._kinds if slot[k] > 0), default=0.0))

    def ask(self, group: PodGroup) -> bool:
        """Ask for a machine for one pod, if that is allowed."""
        if not self.allows(group):
            return False
        self._note(counted(group), 1)
        return True

    def ask_whole(self, members: Sequence[tuple[PodGroup, int]]) -> bool:
        """Ask for machines for all held pods of a gang that find no room now (groups and their shapes), or for none.

        A gang of more pods than may be under way asks while nobody else does, else it never could.
        """
        wanted = [(shape, len(group.held)) for group, shape in members]
        count = sum(pods for _, pods in wanted)
        missing = NOTHING
        for (group, _), seats in zip(members, self._rooms.seats(wanted), strict=True):
            missing = missing + counted(group) * (len(group.held) - seats)
        room = self._asked == 0 or self._asked + count <= self._most
        if not (self.open and self._most > 0 and room and missing and self._within(missing)):
            return False
        self._rooms.take_most(wanted)
        self._note(missing, count)
        return True

    def _within(self, asked: Resources) -> bool:
        return Resources({kind: asked[kind] for kind in self._kinds}).fits(self._left)

    def _note(self, asked: Resources, pods: int) -> None:
        self._asked += pods
        self._left = self._left - asked


def _earliest_first(apps: Iterable[App]) -> list[App]:
    """The apps of which a growth pod is under way."""
    growing = [app for app in apps if any(group.growing for group in app.groups)]
    return sorted(growing, key=lambda app: (app.submitted, app.id))


def counted(group: PodGroup) -> Resources:
    """What kube-scheduler, and so an autoscaler, counts of one pod."""
    return group.request if group.native is None else group.native


def in_flight(apps: Iterable[App]) -> int:
    """Pods of all these apps that wait for the scheduler."""
    return sum([group.in_flight for app in apps for group in app.groups])
