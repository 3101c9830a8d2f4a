"""One round at the gate: a snapshot in; releases in order, and a verdict with numbers for every app, out.

    1. sort the apps into their queues
    2. start whoever passes driver admission (002) and pool (004)            starting
    3. line up the held pods of started apps by preference (001) or level (003)   ordering
    4. release from the lines in turn, as far as room, pools and the window allow
    5. say of everything that is still held why, and for how long

The operator and the simulator run this very function; placement then names a node for each release.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slackwater.admission.budget import Budget, budget
from slackwater.cycle.admit import AdmissionRound, Admitted
from slackwater.cycle.order import Pick, ReleaseCandidate, ReleaseQueue, eligible
from slackwater.cycle.snapshot import App, PodGroup, Pool, Queue, Snapshot
from slackwater.cycle.verdicts import Verdict, WaitReason, describe
from slackwater.ordering.alignment import factor
from slackwater.pools.pools import Adjustment, Category
from slackwater.roles import Role
from slackwater.validation import TOLERANCE


class Release(NamedTuple):
    """One pod whose gate is to be lifted, with what placement needs to know about its turn."""

    uid: str
    app: str
    group: PodGroup
    urgency: float = 0.0
    alignment: float = 0.0
    submitted: float = 0.0
    growth: bool = False  # towards nodes that do not exist yet: no node can be named

    @property
    def driver(self) -> bool:
        """Whether the pod is a driver."""
        return self.group.role is Role.DRIVER


@dataclass(frozen=True, slots=True)
class Round:
    """What one round decided."""

    releases: tuple[Release, ...]
    verdicts: Mapping[str, Verdict]  # by app
    started: tuple[str, ...]  # apps that start with this round
    categories: Mapping[str, Category]
    adjustments: Mapping[str, Adjustment]  # by pool: the new delta, and which branch moved it
    budgets: Mapping[str, Budget]  # by queue
    alphas: Mapping[str, float]  # by queue: HaSTE-A's factor, for placement to go by


@dataclass(slots=True)
class _Lane:
    """One queue on its way through the round."""

    queue: Queue
    pool: Pool | None
    entrance: AdmissionRound
    starts: Admitted
    line: ReleaseQueue
    started: list[App]
    releases: list[Release]
    alpha: float


def decide(snapshot: Snapshot, *, explain: bool = True) -> Round:
    """Decide one round. Equal snapshots give equal rounds, in whatever order their members are listed.

    `explain=False` leaves verdicts and budgets out, where nobody reads them (the simulator): decisions are the same.
    """
    lanes = [_lane(snapshot, queue, apps) for queue, apps in _by_queue(snapshot)]
    flight = sum(group.released for app in snapshot.apps for group in app.groups)
    _release(lanes, snapshot.window - flight, idle=flight == 0)
    for lane in lanes:
        _grow(lane)
    return Round(
        releases=tuple(release for lane in lanes for release in lane.releases),
        verdicts=_verdicts(snapshot, lanes, flight) if explain else {},
        started=tuple(app.id for lane in lanes for app in (*lane.starts.started, *lane.starts.grown)),
        categories={app: size.category for lane in lanes for app, size in lane.entrance.sizes.items()},
        adjustments={
            lane.pool.name: lane.starts.adjustment
            for lane in lanes
            if lane.pool is not None and lane.starts.adjustment is not None
        },
        budgets={lane.queue.name: budget(lane.queue.capacity, lane.entrance.means) for lane in lanes if explain},
        alphas={lane.queue.name: lane.alpha for lane in lanes},
    )


def _by_queue(snapshot: Snapshot) -> list[tuple[Queue, list[App]]]:
    apps: dict[str, list[App]] = {queue.name: [] for queue in snapshot.queues}
    for app in sorted(snapshot.apps, key=lambda app: (app.submitted, app.id)):
        if app.queue in apps:
            apps[app.queue].append(app)
    return [(queue, apps[queue.name]) for queue in sorted(snapshot.queues, key=lambda queue: queue.name)]


def _lane(snapshot: Snapshot, queue: Queue, apps: Sequence[App]) -> _Lane:
    """Steps 2 and 3 for one queue."""
    pool = next((pool for pool in snapshot.pools if pool.name == queue.pool), None)
    entrance = AdmissionRound(snapshot, queue, pool, apps)
    starts = Admitted() if queue.paused else entrance.open()
    started = [] if queue.paused else [*entrance.running, *starts.started]
    candidates = [candidate for app in started for candidate in _candidates(app, entrance)]
    alpha = factor(_iterative(started)) if snapshot.alpha is None else snapshot.alpha
    line = ReleaseQueue(
        queue,
        candidates,
        headroom=entrance.headroom(started),
        shares=entrance.shares,
        alpha=alpha,
        preference=snapshot.preference,
    )
    return _Lane(queue, pool, entrance, starts, line, started, [], alpha)


def _candidates(app: App, entrance: AdmissionRound) -> Iterable[ReleaseCandidate]:
    if app.paused or not any(group.held for group in app.groups):
        return
    led = _led(app)
    size = entrance.sizes[app.id]
    for group, slots in zip(app.groups, size.slots, strict=True):
        if group.held and not group.unplaceable and (group.role is Role.DRIVER or (led and eligible(app, group))):
            yield ReleaseCandidate(app, group, size.category, slots)


def _led(app: App) -> bool:
    """Head before workers: tasks wait until a driver of their app is bound (Ray's workers, Spark's executors).

    Once every driver has finished nobody is left to wait for, and what it left behind goes.
    """
    drivers = [group for group in app.groups if group.role is Role.DRIVER]
    if not drivers:
        return not app.has_driver
    over = all(group.finished and not (group.held or group.charged or group.blocked) for group in drivers)
    return over or any(group.running for group in drivers)


def _iterative(apps: Sequence[App]) -> float:
    return sum(app.stages > 0 for app in apps) / len(apps) if apps else 0.0


def _release(lanes: Sequence[_Lane], left: int, *, idle: bool) -> None:
    """Step 4: a pod from each line in turn until the window is full. Gangs go first, whole or not at all."""
    for lane in lanes:
        for app in [app for app in lane.started if app.gang]:
            held = sum(len(group.held) for group in app.groups)
            # A gang larger than the window would never fit into it: it may go when nothing else is on its way.
            if held <= left or (idle and not any(other.releases for other in lanes)):
                picks = lane.line.gang(app.id)
                lane.releases += [_release_of(pick) for pick in picks]
                left -= len(picks)
            lane.line.close(app.id)
    waiting = list(lanes)
    while waiting and left > 0:
        for lane in list(waiting):
            pick = lane.line.pick() if left > 0 else None
            if pick is None:
                waiting.remove(lane)
            else:
                lane.releases.append(_release_of(pick))
                left -= 1


def _grow(lane: _Lane) -> None:
    """Where nodes can still be added, a few pods without room are released, so that an autoscaler sees the need."""
    queue = lane.queue
    if queue.paused or queue.maximum is None or queue.maximum.fits(queue.capacity):
        return
    left = queue.growth - sum(group.released for app in lane.entrance.apps for group in app.groups)
    grown = [
        Release(uid, app.id, group, submitted=app.submitted, growth=True)
        for app in lane.starts.grown
        for group in app.groups
        if group.role is Role.DRIVER
        for uid in group.held
    ]
    for row, candidate in enumerate(lane.line.rows):
        if not lane.line.fits(row) and not candidate.app.gang:
            first = lane.line.taken(row)
            grown += [
                Release(uid, candidate.app.id, candidate.group, submitted=candidate.app.submitted, growth=True)
                for uid in candidate.group.held[first:]
            ]
    lane.releases += grown[: max(0, left)]


def _release_of(pick: Pick) -> Release:
    app = pick.candidate.app
    return Release(pick.uid, app.id, pick.candidate.group, pick.urgency, pick.alignment, app.submitted)


def _verdicts(snapshot: Snapshot, lanes: Sequence[_Lane], flight: int) -> dict[str, Verdict]:
    """Step 5: one verdict for each app."""
    verdicts: dict[str, Verdict] = {}
    known = {queue.name for queue in snapshot.queues}
    for app in snapshot.apps:
        if app.queue not in known:
            verdicts[app.id] = Verdict(app.id, WaitReason.NO_QUEUE, {"namespace": app.namespace})
    for lane in lanes:
        counts: dict[str, int] = {}
        grown: dict[str, int] = {}
        for release in lane.releases:
            tally = grown if release.growth else counts
            tally[release.app] = tally.get(release.app, 0) + 1
        rows = _first_rows(lane.line)
        verdicts |= lane.starts.verdicts
        for app in lane.entrance.apps:
            if app.id in counts or app.id in grown:
                verdicts[app.id] = _going(app, counts.get(app.id, 0), grown.get(app.id, 0))
            elif app.id not in verdicts:
                verdicts[app.id] = _held(app, lane, rows, flight + len(lane.releases), snapshot.window)
    return verdicts


def _first_rows(line: ReleaseQueue) -> dict[str, int]:
    first: dict[str, int] = {}
    for row, candidate in enumerate(line.rows):
        first.setdefault(candidate.app.id, row)
    return first


def _going(app: App, count: int, grown: int) -> Verdict:
    if grown:
        return Verdict(app.id, WaitReason.GROWTH, {"count": grown})
    return Verdict(app.id, WaitReason.RELEASED, {"count": count, "held": sum(len(group.held) for group in app.groups)})


def _held(app: App, lane: _Lane, rows: Mapping[str, int], flight: int, window: int) -> Verdict:
    """Why nothing of a started app goes: the first test that its first held group fails."""
    held = [group for group in app.groups if group.held]
    if not held:
        blocked = sum(group.blocked for group in app.groups)
        reason, numbers = (WaitReason.FOREIGN, {"count": blocked}) if blocked else (WaitReason.COMPLETE, {})
        return Verdict(app.id, reason, numbers)
    if app.paused or lane.queue.paused:
        what = f"app {app.id}" if app.paused else f"queue {lane.queue.name}"
        return Verdict(app.id, WaitReason.PAUSED, {"what": what})
    row = rows.get(app.id)
    if row is None:
        return _not_yet(app, held, lane.queue)
    return _crowded(app, lane, row, flight, window)


def _crowded(app: App, lane: _Lane, row: int, flight: int, window: int) -> Verdict:
    """It might go, but for room, pool or window."""
    if not lane.line.fits(row):
        kind, free, ask = lane.line.lacking(row)
        return Verdict(app.id, WaitReason.ROOM, {"queue": lane.queue.name, "kind": kind, "free": free, "ask": ask})
    if _need(app, lane, row) > lane.line.headroom(row) + TOLERANCE:
        return _closed(app, lane, row)
    if app.gang and (together := lane.line.lacking_together(app.id)) is not None:
        kind, free, ask = together
        return Verdict(app.id, WaitReason.WHOLE, {"queue": lane.queue.name, "kind": kind, "free": free, "ask": ask})
    return Verdict(app.id, WaitReason.WINDOW, {"flight": flight, "window": window})


def _not_yet(app: App, held: Sequence[PodGroup], queue: Queue) -> Verdict:
    """No group of it is a candidate: its driver or its parents are not there yet, or no single node has room."""
    stuck = next((group for group in held if group.unplaceable), None)
    if stuck is not None:
        return Verdict(app.id, WaitReason.FRAGMENTED, {"queue": queue.name, "ask": describe(stuck.request)})
    if not _led(app):
        return Verdict(app.id, WaitReason.DRIVER, {"count": sum(len(group.held) for group in held)})
    first = min(held, key=lambda group: group.level)
    return Verdict(app.id, WaitReason.PARENTS, {"stage": first.stage, "level": first.level})


def _closed(app: App, lane: _Lane, row: int) -> Verdict:
    pool, kind = lane.pool, lane.entrance.sizes[app.id].category
    delta = lane.starts.adjustment.delta if lane.starts.adjustment else 0.0
    tot = pool.tot if pool else 0.0
    size = tot * (delta if kind is Category.SMALL else 1 - delta)
    numbers = {
        "category": kind.name.lower(),
        "size": size,
        "tot": tot,
        "occupied": size - lane.line.headroom(row),
        "need": _need(app, lane, row),
    }
    return Verdict(app.id, WaitReason.POOL, numbers)


def _need(app: App, lane: _Lane, row: int) -> float:
    """Slots that must be free in the pool: for one pod, or for a whole gang."""
    return lane.entrance.sizes[app.id].held if app.gang else lane.line.rows[row].slots
