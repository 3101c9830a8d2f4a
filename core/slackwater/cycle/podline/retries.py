"""Which pods that were released in vain are tried again now: together they take a share of the window, never all of it.

A pod that the scheduler does not bind, for something that nobody told us, takes a place of the window until it is
parked. Many such pods whose pauses are over would take all places, again and again, and keep those of others.

    S            half of the window, at least one place
    r_n          retries of namespace n on their way, or let go by this rule already
    n gets one   r_n < S − Σ r

A namespace alone gets half of the share, and another one finds places at once (the threshold of Choudhury and Hahne,
"Dynamic queue length thresholds for shared-memory packet switches", 1998). Who gets none pauses for this round: it
claims neither budget nor slots nor room. What no node has room for takes no turn from those behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.readiness import readiness
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot


def with_retries_in_turn(snapshot: Snapshot) -> Snapshot:
    """The snapshot in which those retries pause that find no place now.

    An app goes with all it may release, so one gang, or a group of which as many run already, may exceed the share.
    """
    waiting = [app for app in snapshot.apps if any(map(_waits, app.groups))]
    if not waiting:
        return snapshot
    share, taken = max(1, snapshot.window // 2), _on_their_way(snapshot.apps)
    pods, resting = _able(snapshot, waiting), set[str]()
    for app in sorted(waiting, key=_turn):
        if not pods[app.id]:
            continue
        if taken[app.namespace] < share - taken.total():
            taken[app.namespace] += pods[app.id]
        else:
            resting.add(app.id)
    return replace(snapshot, apps=tuple(_rested(app) if app.id in resting else app for app in snapshot.apps))


def _waits(group: PodGroup) -> bool:
    return group.tried and bool(group.held) and not group.pausing


def _on_their_way(apps: Iterable[App]) -> Counter[str]:
    """Retries that are released and not bound yet, by namespace; growth pods wait for a machine."""
    found = Counter[str]()
    for app in apps:
        for group in app.groups:
            if group.tried and group.released:
                found[app.namespace] += group.released - len(group.growing)
    return found


def _turn(app: App) -> tuple[int, bool, float, str]:
    """Urgent ones first; tasks before drivers that may wait for their end; then whoever has waited longest."""
    return -app.priority, not app.started, app.submitted, app.id


def _able(snapshot: Snapshot, waiting: Iterable[App]) -> Mapping[str, int]:
    """By app: how many retries lack nothing but a place. Shapes of one queue are looked for on all nodes at once."""
    rooms, queues = NodeRooms(snapshot), {queue.name: queue for queue in snapshot.queues}
    found, ready = Counter[str](), dict[str, list[tuple[App, PodGroup, int]]]()
    for app in waiting:
        if (queue := queues.get(app.queue)) is not None:
            ready.setdefault(queue.name, []).extend((app, group, pods) for group, pods in _ready(app, queue))
    for name, members in ready.items():
        shapes = rooms.shapes(queues[name], [group for _, group, _ in members])
        for (app, _, pods), shape in zip(members, shapes, strict=True):
            found[app.id] += pods if rooms.fits(shape) else 0
    return found


def _ready(app: App, queue: Queue) -> Iterable[tuple[PodGroup, int]]:
    told = zip(app.groups, readiness(app, queue), strict=True)
    return ((group, ready.pods) for group, ready in told if _waits(group) and ready.reason is None)


def _rested(app: App) -> App:
    return replace(app, groups=tuple(replace(group, pausing=True) if _waits(group) else group for group in app.groups))
