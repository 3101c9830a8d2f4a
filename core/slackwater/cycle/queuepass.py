"""One queue in one round: its waiting pods and those released so far.

First pass: pods in order, each pool within its border; apps that were told to wait go before pods of lower priority of
their pool. What is left then is room that nobody within the border can use, and no claim on it counts but that of a
driver whose first task is still to come (`appstarts.firsttasks`). Second pass: pods of started apps beyond their pool's
border. Third pass: apps that wait for their pool or behind another one start into room that is still left. "The pool is
full" and "somebody is before you" hold nothing back that nobody else can use. In all passes bounds that an owner wrote
(`delta.minimum`, `delta.maximum`) are kept (`appstarts.ownersbound`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from slackwater.cycle.admit import AdmissionRound, Admitted
from slackwater.cycle.appsize import AppSizes
from slackwater.cycle.appstarts.emptynodes import EmptyNodes
from slackwater.cycle.appstarts.nodegrowth import NodeGrowth
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.candidates import Pick, ReleaseCandidate
from slackwater.cycle.podline.readiness import readiness
from slackwater.cycle.podline.releasewindow import ReleaseWindow
from slackwater.cycle.releasequeue import ReleaseQueue
from slackwater.cycle.snapshot import App, Category, PodGroup, Pool, Queue, Snapshot
from slackwater.ordering.iterations import factor
from slackwater.resources import Resources


class Release(NamedTuple):
    """One pod whose gate is to be lifted, with what placement needs to know about its turn."""

    uid: str
    app: str
    group: PodGroup
    urgency: float = 0.0
    alignment: float = 0.0
    submitted: float = 0.0
    growth: bool = False  # towards nodes that do not exist yet: no node can be named
    avoid: tuple[str, ...] = ()  # nodes that tasks need: a driver must not be placed there …
    spare: tuple[str, ...] = ()  # … but for these of them, if no other has the memory that its likes came to use
    queue: str = ""  # of its app
    gang: bool = False  # its app goes as a whole or not at all …
    node: str = ""  # … and fits here beside the others of it, if they find no nodes otherwise

    @property
    def driver(self) -> bool:
        """Whether the pod is a driver."""
        return self.group.driver


def by_group(releases: Iterable[Release]) -> Counter[tuple[str, str]]:
    """How many pods of each group go, by app and key of the group."""
    return Counter((release.app, release.group.key) for release in releases)


@dataclass(slots=True)
class Lane:
    """One queue in one round."""

    snapshot: Snapshot
    queue: Queue
    pool: Pool | None
    rooms: NodeRooms
    admission: AdmissionRound
    starts: Admitted
    line: ReleaseQueue
    started: list[App]
    alpha: float
    releases: list[Release] = field(default_factory=list)
    overtook: list[tuple[App, ReleaseQueue]] = field(default_factory=list)  # apps that did, and what waits of each


def lane(
    snapshot: Snapshot,
    rooms: NodeRooms,
    driver_nodes: DriverNodes,
    empty: EmptyNodes,
    growth: NodeGrowth,
    apps: Sequence[App],
    sizes: AppSizes,
) -> Lane:
    """Steps 1 to 3 for one queue."""
    queue = growth.queue
    pool = snapshot.pool_of(queue)
    admission = AdmissionRound(snapshot, queue, pool, apps, rooms, driver_nodes, empty, sizes, growth)
    starts = Admitted() if queue.paused else admission.admit_in_order()
    started = [] if queue.paused else [*admission.running, *starts.started]
    line = _line(snapshot, queue, rooms, admission, started, bounded=True)
    return Lane(snapshot, queue, pool, rooms, admission, starts, line, started, _alpha(snapshot, started))


def _line(
    snapshot: Snapshot,
    queue: Queue,
    rooms: NodeRooms,
    admission: AdmissionRound,
    apps: Sequence[App],
    *,
    bounded: bool,
    free: Resources | None = None,
) -> ReleaseQueue:
    return ReleaseQueue(
        queue,
        [candidate for app in apps for candidate in candidates(app, admission)],
        rooms=rooms,
        bound=admission.bound,
        driver_nodes=admission.driver_nodes if not admission.grows else None,
        free=free,
        spent=admission.spent,
        headroom=admission.headroom() if bounded else None,
        shares=admission.shares,
        alpha=_alpha(snapshot, apps),
        preference=snapshot.preference,
        overdue=snapshot.now - snapshot.patience,
    )


def candidates(app: App, admission: AdmissionRound) -> Iterable[ReleaseCandidate]:
    """The groups of an app that may go now, if there is room."""
    size, shapes = admission.sizes[app.id], admission.shapes
    if not size.held_pods:
        return
    for group, slots, ready in zip(app.groups, size.slots, readiness(app, admission.queue), strict=True):
        if ready.pods and ready.reason is None:
            yield ReleaseCandidate(app, group, size.category, slots, shapes[app.id, group.key], ready.pods)


def _alpha(snapshot: Snapshot, apps: Sequence[App]) -> float:
    """HaSTE-A's factor: given, or chosen from the share of iterative apps."""
    if snapshot.alpha is not None:
        return snapshot.alpha
    return factor(sum(app.stages > 0 for app in apps) / len(apps) if apps else 0.0)


# ---- step 4 -------------------------------------------------------------------------------------------------------


def release_all(lanes: Sequence[Lane], window: ReleaseWindow) -> None:
    """All three passes over all queues.

    The second and the third go by priority: an app that was told to wait starts before pods of lower priority get more
    than their pool's border gives them.
    """
    _assemble(lanes, window)
    _overtake(lanes, window)
    _pass(lanes, window)
    _beyond(lanes, window, None, _keep_first_tasks(lanes, window))


def _overtake(lanes: Sequence[Lane], window: ReleaseWindow) -> None:
    """Within the border, waiting apps go before pods of lower priority that share their pool.

    They were told to wait because of what others were promised; where these can use no room now, it is no claim.
    """
    for priority in sorted({priority for each in lanes for priority in _overtaking(each)}, reverse=True):
        _pass(lanes, window, priority)
        for each in lanes:
            _backfill(each, window, priority, bounded=True)
        _close(lanes)


def _overtaking(each: Lane) -> set[int]:
    """Priorities of waiting apps above that of a started app with held pods of the same pool."""
    if each.pool is None:
        return set()
    sizes, lowest = each.admission.sizes, dict[Category, int]()
    for app in each.started:
        size = sizes[app.id]
        if size.held_pods:
            side = size.category
            lowest[side] = min(app.priority, lowest.get(side, app.priority))
    waiting = ((app.priority, sizes[app.id].category) for app in _passed_over(each))
    return {priority for priority, side in waiting if side in lowest and priority > lowest[side]}


def _beyond(lanes: Sequence[Lane], window: ReleaseWindow, least: int | None, below: float = math.inf) -> None:
    """The second and the third pass, for pods of this priority at the least; those from `below` on had their turn."""
    _by_priority(lanes, window, -math.inf if least is None else least, below)
    _lend(lanes, window, least)


def _by_priority(lanes: Sequence[Lane], window: ReleaseWindow, least: float, below: float) -> None:
    """Priority by priority: what pools lend to started apps, then waiting apps into room that is left."""
    waiting = {app.priority for each in lanes for app in (*_passed_over(each), *(app for app, _ in each.overtook))}
    for priority in sorted((found for found in waiting if least <= found < below), reverse=True):
        _lend(lanes, window, priority)
        for each in lanes:
            _follow(each, window, priority)
            _backfill(each, window, priority)


def _assemble(lanes: Sequence[Lane], window: ReleaseWindow) -> None:
    """Keep room for one app of each queue that is overdue; pods of higher priority take theirs before it is kept.

    A round only takes room: what of a priority could not go before one claimant cannot go before the next either.
    """
    lowest, gone = math.inf, set[str]()
    for each in lanes:
        for claimant in each.admission.overdue(each.started):
            if claimant.priority < lowest:
                lowest = claimant.priority
                _urgent(lanes, window, claimant.priority + 1)
                gone = {app for other in lanes for app in _gone(other)}
            if claimant.id not in gone and each.admission.assembly.keep(claimant):
                break


def _keep_first_tasks(lanes: Sequence[Lane], window: ReleaseWindow) -> float:
    """Leave drivers that have just started room for a task, once pods of higher priority took what is left for them.

    Returns the priority from which on all have had their turn. A round only takes room, as `_assemble` says: what could
    not go before one task cannot go before the next either.
    """
    coming = [(each, each.admission.awaits(each.snapshot, _gone(each))) for each in lanes if each.pool is not None]
    below = math.inf
    for priority in sorted({app.priority for _, tasks in coming for app, _ in tasks}, reverse=True):
        if _may_go(lanes, priority + 1, below):
            _beyond(lanes, window, priority + 1, below)
        below = priority + 1
        for each, tasks in coming:
            if mine := [(app, task) for app, task in tasks if app.priority == priority]:
                each.admission.keep(mine)
    return below


def _gone(each: Lane) -> set[str]:
    return {release.app for release in each.releases}


def _may_go(lanes: Sequence[Lane], least: int, below: float = math.inf) -> bool:
    """Whether pods of this priority or above, but below that one, lack nothing but room."""
    apps = ((each.admission, app) for each in lanes for app in each.admission.apps)
    return any(least <= app.priority < below and any(candidates(app, admission)) for admission, app in apps)


def _urgent(lanes: Sequence[Lane], window: ReleaseWindow, least: int) -> None:
    """What of this priority and above goes; afterwards the pools' borders are closed again for the others."""
    if not _may_go(lanes, least):
        return
    _pass(lanes, window, least)
    _beyond(lanes, window, least)
    _close(lanes)


def _close(lanes: Sequence[Lane]) -> None:
    """Close the pools' borders to all but what this round has left of them, whoever took the rest."""
    for each in lanes:
        if (headroom := each.admission.headroom()) is not None:
            each.line.lend(headroom)


def _lend(lanes: Sequence[Lane], window: ReleaseWindow, least: int | None) -> None:
    """The second pass: pods of started apps, of this priority at the least, beyond their pool's border."""
    pooled = [each for each in lanes if each.pool is not None]
    for each in pooled:
        each.line.lend(None)
    _pass(pooled, window, least)


def _pass(lanes: Sequence[Lane], window: ReleaseWindow, least: int | None = None) -> None:
    """Gangs before single pods of their priority, whole or not at all; pods of a higher one go before them."""
    gangs = [(each, app) for each in lanes for app in each.started if app.gang and app.held_pods]
    for priority in sorted({app.priority for _, app in gangs}, reverse=True):
        if least is not None and priority < least:
            break
        _singles(lanes, window, priority + 1)
        for each, app in gangs:
            if app.priority == priority:
                _release_gang(each, each.line, app, window)
    _singles(lanes, window, least)


def _singles(lanes: Sequence[Lane], window: ReleaseWindow, least: int | None) -> None:
    """A pod from each line in turn until the window is full."""
    waiting = list(lanes)
    while waiting and window.left > 0:
        for each in list(waiting):
            if not _release_next(each, each.line, window, least):
                waiting.remove(each)


def _release_next(each: Lane, line: ReleaseQueue, window: ReleaseWindow, least: int | None = None) -> bool:
    """Release the next pod of a line that the window takes, of this priority at the least; False where none goes."""
    pick = line.pick(least, lambda candidate: window.closed_to(candidate.app, candidate.group))
    if pick is None:
        return False
    each.releases.append(_release_of(pick))
    window.take(pick.candidate.app, pick.candidate.group)
    return True


def _release_gang(each: Lane, line: ReleaseQueue, app: App, window: ReleaseWindow) -> None:
    """Release a gang whole. If places of the window are all that it lacks, they are kept for it as they come free."""
    if window.kept_for(app) is not None:
        return
    if window.takes_gang(app, line.gang_pods(app.id)):
        for pick in line.gang(app.id):
            each.releases.append(_release_of(pick))
            window.take(app, pick.candidate.group)
    elif line.takes_gang(app.id):
        window.keep_for(app)


def _backfill(each: Lane, window: ReleaseWindow, priority: int, *, bounded: bool = False) -> None:
    """Start apps of one priority into room that nobody before them can use, in order; bounded: within the border."""
    gone = by_group(each.releases)
    reserve = cache(lambda: each.admission.reserve(each.started, gone))  # until somebody starts
    for app in [app for app in _passed_over(each) if app.priority == priority]:
        if not _has_places(app, window) or not each.admission.may_backfill(app, reserve):
            continue
        if not each.admission.leaves(app, bounded=bounded):
            continue
        free = each.line.left()
        line = _line(each.snapshot, each.queue, each.rooms, each.admission, [app], bounded=bounded, free=free)
        if released := _release_line(each, line, app, window):
            gone.update(by_group(released))
            reserve.cache_clear()
            each.admission.enter(app)
            each.started.append(app)
            if bounded:
                each.overtook.append((app, line))


def _follow(each: Lane, window: ReleaseWindow, priority: int) -> None:
    """Of apps that overtook others within the border, release what goes beyond it."""
    for app, line in each.overtook:
        if app.priority == priority:
            line.spend(line.left() - each.line.left())
            line.lend(None)
            _release_line(each, line, app, window)


def _release_line(each: Lane, line: ReleaseQueue, app: App, window: ReleaseWindow) -> list[Release]:
    """Release what goes of one app, which has a line of its own; returns it."""
    free, before = line.left(), len(each.releases)
    if app.gang:
        _release_gang(each, line, app, window)
    while _release_next(each, line, window):
        pass
    each.line.spend(free - line.left())
    return each.releases[before:]


def _passed_over(each: Lane) -> list[App]:
    """Waiting apps that were told to wait and have not started since into room that was left."""
    started = {app.id for app in each.started}
    return [app for app in each.admission.passed_over(each.starts) if app.id not in started]


def _has_places(app: App, window: ReleaseWindow) -> bool:
    """Whether the window is open to some held pods of an app, or may be to all of a gang."""
    held = (group for group in app.groups if group.held)
    return window.left > 0 and (app.gang or any(not window.closed_to(app, group) for group in held))


def _release_of(pick: Pick) -> Release:
    app = pick.candidate.app
    return Release(
        pick.uid,
        app.id,
        pick.candidate.group,
        pick.urgency,
        pick.alignment,
        app.submitted,
        avoid=pick.avoid,
        spare=pick.spare,
        queue=app.queue,
        gang=app.gang,
        node=pick.node,
    )
