"""Whether all pods of a gang would find room at once, were the nodes empty.

Two questions, because the answers are used in two ways:

    could hold    room is kept for the gang: a way to place all of its held pods was found on open nodes, beside pods of
                  others and beside its own drivers. Where none was found, nothing is kept
    shortage      the gang is refused: it is certain that there is no such way on any nodes of the queue, open or not,
                  with nothing on them. Either too many of its pods are so large, or every way was tried

Only held pods that go at once count. Of its tasks, those that run may use less than they declare, or end before; later
stages follow when there is room again. Drivers count in full, as everywhere in 002.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.earlystart import at_once
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.resources import Resources, places

if TYPE_CHECKING:
    from slackwater.nodetable import NodeTable

Wanted = tuple[tuple[int, int], ...]  # shapes, and how many pods of each

# Pods of different gangs that one round places to answer each question, and what a gang counts at the least: a round
# must not take longer the more of them wait.
PODS, LEAST = 500, 25


class GangShortage(NamedTuple):
    """Why the nodes never hold a gang."""

    pods: int  # all of them, or those that are too many
    places: int = 0  # on all nodes together …
    kind: str = ""  # … for pods that ask for so much of this kind or more; "": every way to place all was tried
    size: float = 0.0


class EmptyNodes:
    """The nodes of one round without pods of ours. Where only sums are known they hold every gang."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._queues = {queue.name: queue for queue in snapshot.queues}
        self._to_hold = self._to_rule_out = PODS
        self._held: dict[tuple[object, ...], bool] = {}
        self._short: dict[Wanted, GangShortage | None] = {}

    def capacity(self, queue: Queue) -> Resources:
        """Σ allocatable of the nodes that a queue selects, open or not; its capacity, where that is all that is known.

        A node that is cordoned may come back, and what others hold on it ends.
        """
        table = self._snapshot.nodes
        if table is None or queue.shares is None:
            return queue.capacity
        return table.allocatable(queue.nodes).at_least(queue.capacity)

    def could_hold(self, gang: App) -> bool:
        """Whether a way was found to place all held pods of a gang at once, or was not looked for; no is no proof."""
        if self._snapshot.nodes is None:
            return True
        held, drivers = at_once(gang), [group for group in gang.groups if group.driver and group.seats]
        wanted = self._wanted(self._bare, gang.queue, held)
        key = (wanted, tuple((group.request, group.seats) for group in drivers))
        if key not in self._held:
            self._held[key] = self._to_hold <= 0 or self._placed(gang.queue, held, drivers)
            self._to_hold -= max(LEAST, _pods(wanted))
        return self._held[key]

    def _placed(self, queue: str, held: Sequence[PodGroup], drivers: Sequence[PodGroup]) -> bool:
        rooms = NodeRooms(self._beside_others)
        for group, shape in zip(drivers, rooms.shapes(self._queues[queue], drivers), strict=True):
            for node in group.seats:
                if node in self._table.index:
                    rooms.take_on(shape, node)
        return rooms.holds_all(self._wanted(rooms, queue, held))

    def shortage(self, gang: App) -> GangShortage | None:
        """Why the nodes could never hold the held pods of several groups at once; None where that is not certain."""
        held = at_once(gang)
        if self._snapshot.nodes is None or len(held) < 2:
            return None
        wanted = self._wanted(self._bare, gang.queue, held)
        if wanted not in self._short:
            self._short[wanted] = self._outnumbered(gang.queue, held) or self._no_way(wanted)
        return self._short[wanted]

    def _wanted(self, rooms: NodeRooms, queue: str, held: Sequence[PodGroup]) -> Wanted:
        """How many pods of each shape are held."""
        counts = Counter[int]()
        for group, shape in zip(held, rooms.shapes(self._queues[queue], held), strict=True):
            counts[shape] += len(group.held)
        return tuple(sorted(counts.items()))

    # pods that ask for s or more > Σ over the nodes that take one of them of ⌊total ÷ s⌋
    def _outnumbered(self, queue: str, held: Sequence[PodGroup]) -> GangShortage | None:
        """Of pods that ask for so much or more of one kind a node holds so many at the most, whatever their mixture."""
        total, shapes = self._table.total, self._bare.shapes(self._queues[queue], held)
        for column, kind in enumerate(self._table.kinds):
            rows, pods = np.zeros(len(total), np.bool_), 0
            largest_first = sorted(zip(held, shapes, strict=True), key=lambda each: -each[0].request[kind])
            for group, shape in largest_first:
                rows, pods, size = rows | self._bare.rows(shape), pods + len(group.held), group.request[kind]
                if size <= 0 or pods <= rows.sum():  # each of these nodes takes one of them
                    continue
                if pods > (there := int(places(total[rows][:, [column]], [size]).sum())):
                    return GangShortage(pods, there, kind, size)
        return None

    def _no_way(self, wanted: Wanted) -> GangShortage | None:
        """Every way to place them was tried."""
        certain = self._to_rule_out > 0 and self._bare.rules_out(wanted)
        self._to_rule_out -= max(LEAST, _pods(wanted))
        return GangShortage(_pods(wanted)) if certain else None

    @property
    def _table(self) -> NodeTable:
        table = self._snapshot.nodes
        assert table is not None  # noqa: S101 - only asked where nodes are known
        return table

    @cached_property
    def _bare(self) -> NodeRooms:
        """All nodes with nothing on them; closed ones may open again."""
        every, total = np.ones(len(self._table), np.bool_), self._table.total
        empty = replace(self._snapshot, nodes=replace(self._table, room=total, native=total, open=every))
        # Whom `_to_rule_out` lets ask is answered: a refusal must not come and go with turns.
        rooms = NodeRooms(empty, searches=2 * PODS // LEAST)
        groups: dict[str, list[PodGroup]] = {name: [] for name in self._queues}
        for app in self._snapshot.apps:
            if app.gang and app.queue in groups:
                groups[app.queue] += [group for group in app.groups if group.held]
        for name, theirs in groups.items():  # all at once: each new shape is looked for on all nodes
            rooms.shapes(self._queues[name], theirs)
        return rooms

    @cached_property
    def _beside_others(self) -> Snapshot:
        """The open nodes with what pods of others leave of them, and with no less than is free now."""
        table, foreign = self._table, self._snapshot.foreign
        left = table.total if foreign is None else table.total - foreign
        room, native = np.maximum(left, table.room), np.maximum(left, table.native)
        return replace(self._snapshot, nodes=replace(table, room=room, native=native))


def _pods(wanted: Wanted) -> int:
    return sum(count for _, count in wanted)
