"""Stalls, and apps of other queues, on the same nodes: one pod is given up at a time, for all who wait there.

What one pod frees may be all that the others wait for. Where each queue gave up a driver of its own at the same
moment, both would be back a moment later, again and again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING

from slackwater.cycle.feasibility import reachable
from slackwater.cycle.snapshot import App, PodGroup, Snapshot
from slackwater.cycle.stalls.detection import Stall, stands_still, tasks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


def in_turn(snapshot: Snapshot, victims: Mapping[str, Stall]) -> set[str]:
    """Whom of the victims of some stalls to give up now: of several on the same nodes the first."""
    chosen: dict[str, Mask | None] = {}
    for uid, stall in victims.items():
        rows = _ground(snapshot, stall.apps)
        if not any(_meet(rows, others) for others in chosen.values()):
            chosen[uid] = rows
    return set(chosen)


def beside(snapshot: Snapshot, app: App) -> list[App]:
    """Apps of other queues that stand still, too, on nodes that the tasks of this one can use."""
    paused = {queue.name for queue in snapshot.queues if queue.paused}
    able = (each for each in snapshot.apps if each.started and not each.paused and each.queue not in paused)
    others = [each for each in able if each.queue != app.queue and stands_still(each)]
    rows = _ground(snapshot, [app]) if others else None
    return [each for each in others if _meet(rows, _ground(snapshot, [each]))]


def _ground(snapshot: Snapshot, apps: Iterable[App]) -> Mask | None:
    """The rows that tasks of these apps which wait can use; None: not known node by node."""
    if snapshot.nodes is None:
        return None
    waiting = ((app, group) for app, group in tasks(apps) if group.unserved)
    masks = [mask for app, group in waiting if (mask := _reach(snapshot, app, group)) is not None]
    return reduce(or_, masks) if masks else None


def _reach(snapshot: Snapshot, app: App, group: PodGroup) -> Mask | None:
    queue = next((queue for queue in snapshot.queues if queue.name == app.queue), None)
    return None if queue is None else reachable(snapshot, queue, group.constraints)


def _meet(mine: Mask | None, others: Mask | None) -> bool:
    return mine is None or others is None or bool((mine & others).any())
