"""What waits after a round, and the rooms that the round left: the live side of `idle.split`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.idle import WaitingPods
from slackwater.cycle.cycle import Round
from slackwater.cycle.feasibility import reachable
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.readiness import readiness
from slackwater.cycle.queuepass import by_group
from slackwater.cycle.snapshot import PodGroup, Queue, Snapshot
from slackwater.nodetable import NodeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


def waiting(snapshot: Snapshot, decided: Round) -> list[WaitingPods]:
    """Pods still held after the round that lack nothing but a node, whether one has room for them or none."""
    released = by_group(decided.releases)
    queues = {queue.name: queue for queue in snapshot.queues}
    found: list[WaitingPods] = []
    for app in snapshot.apps:
        queue = queues.get(app.queue)
        if queue is None:
            continue
        for group, ready in zip(app.groups, readiness(app, queue), strict=True):
            count = ready.pods - released[app.id, group.key]
            if count > 0 and ready.reason in (None, WaitReason.UNPLACED):
                found.append(_pods(snapshot, queue, group, count))
    return found


def _pods(snapshot: Snapshot, queue: Queue, group: PodGroup, count: int) -> WaitingPods:
    kinds = snapshot.nodes.kinds if snapshot.nodes is not None else ()
    native = group.request if group.native is None else group.native
    reach = reachable(snapshot, queue, group.constraints)
    return WaitingPods(count, group.request.vector(kinds).tolist(), native.vector(kinds).tolist(), reach)


def left(snapshot: Snapshot, decided: Round) -> NodeTable | None:
    """The nodes once what the round released has its room; None where only sums are known."""
    table = snapshot.nodes
    if table is None or not decided.releases:
        return table
    rooms = NodeRooms(snapshot)
    occupy(rooms, snapshot, decided)
    return replace(table, room=rooms.room, native=rooms.native)


def occupy(rooms: NodeRooms, snapshot: Snapshot, decided: Round) -> dict[str, str]:
    """Give what the round released its room; growth pods wait for nodes that do not exist yet.

    Returns the nodes of single pods, by uid.
    """
    queues = {queue.name: queue for queue in snapshot.queues}
    rows = {name: row for row, name in enumerate(rooms.names)}
    found: dict[str, str] = {}
    for release in sorted(decided.releases, key=lambda each: not each.node):  # first those whose nodes are known
        if release.growth:
            continue
        shape, row = rooms.shapes(queues[release.queue], [release.group])[0], -1
        if release.avoid:
            row = rooms.take(shape, _barred(release.avoid, rows))
        elif not release.node:
            row = rooms.take(shape)
        if row >= 0:
            found[release.uid] = rooms.names[row]
        else:
            rooms.take_on(shape, release.node)
    return found


def _barred(names: Iterable[str], rows: Mapping[str, int]) -> Mask:
    """The nodes of these names, as rows."""
    found = np.zeros(len(rows), np.bool_)
    found[[rows[name] for name in names]] = True
    return found
