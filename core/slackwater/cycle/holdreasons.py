"""Why pods are still held after a round, app by app: step 5 of the cycle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.appstarts.impossible import incomplete
from slackwater.cycle.appverdicts import PLACES, RESUME_APP, RESUME_QUEUE, Verdict, WaitReason
from slackwater.cycle.podline.readiness import readiness
from slackwater.cycle.podline.releasewindow import ReleaseWindow
from slackwater.cycle.queuepass import Lane
from slackwater.cycle.releasequeue import ReleaseQueue
from slackwater.cycle.snapshot import App, PodGroup, Snapshot
from slackwater.resources import Resources, times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


def verdicts(snapshot: Snapshot, lanes: Sequence[Lane], window: ReleaseWindow) -> dict[str, Verdict]:
    """One verdict for each app."""
    found: dict[str, Verdict] = {}
    known = {queue.name for queue in snapshot.queues}
    for app in snapshot.apps:
        if app.queue not in known:
            found[app.id] = Verdict(app.id, WaitReason.NO_QUEUE, {"namespace": app.namespace})
    for each in lanes:
        found |= _of_lane(each, window)
        found |= _kept_from(each, lanes, found)
    return found


def _of_lane(lane: Lane, window: ReleaseWindow) -> dict[str, Verdict]:
    counts: dict[str, int] = {}
    grown: dict[str, int] = {}
    for release in lane.releases:
        tally = grown if release.growth else counts
        tally[release.app] = tally.get(release.app, 0) + 1
    rows = _first_rows(lane.line)
    places = {app.id: place for place, app in enumerate(lane.admission.line, start=1)}
    found = dict(lane.starts.verdicts)
    for app in lane.admission.apps:
        if app.id in counts or app.id in grown:
            found[app.id] = _going(app, counts.get(app.id, 0), grown.get(app.id, 0))
        elif app.id not in found:
            found[app.id] = _in_line(_why_held(app, lane, rows, window), places, lane)
        elif (kept := _kept(found[app.id], lane) or _kept_by_owner(app, found[app.id], lane)) is not None:
            found[app.id] = kept
    return found


def _in_line(verdict: Verdict, places: Mapping[str, int], lane: Lane) -> Verdict:
    """A waiting app that might have started but found no room keeps its place, and its estimate."""
    place = places.get(verdict.app)
    if place is None:
        return verdict
    return verdict._replace(position=place, wait=lane.admission.waits.get(verdict.app))


def _first_rows(line: ReleaseQueue) -> dict[str, int]:
    first: dict[str, int] = {}
    for row, candidate in enumerate(line.rows):
        first.setdefault(candidate.app.id, row)
    return first


def _going(app: App, count: int, grown: int) -> Verdict:
    if grown:
        return Verdict(app.id, WaitReason.GROWTH, {"count": grown})
    return Verdict(app.id, WaitReason.RELEASED, {"count": count, "held": app.held_pods})


def _kept(verdict: Verdict, lane: Lane) -> Verdict | None:
    """An app that only waits behind one for which room is kept: say so, with the deadline."""
    claimant = lane.admission.assembly.app
    ahead = claimant is not None and verdict.numbers.get("ahead") == claimant.id
    return _assembling(verdict, lane) if verdict.reason is WaitReason.BEHIND and ahead else None


def _assembling(verdict: Verdict, keeper: Lane) -> Verdict | None:
    """Room is kept for another app of the keeper's queue, until its deadline; None where none is."""
    claimant = keeper.admission.assembly.app
    if claimant is None or claimant.id == verdict.app or not keeper.admission.assembly.keeps:
        return None
    until = keeper.admission.assembly.deadline(claimant)
    if until is None:
        return None
    now = keeper.snapshot.now
    numbers = {"claimant": claimant.id, "seconds": until - now, "waited": now - claimant.waits_since}
    return Verdict(verdict.app, WaitReason.ASSEMBLING, numbers, verdict.position, verdict.wait)


def _first_task(verdict: Verdict, keeper: Lane) -> Verdict | None:
    """Room is kept for a driver of the keeper's queue that has just started; None where none is."""
    claimant = next((app for app in keeper.admission.awaited if app.id != verdict.app), None)
    if claimant is None:
        return None
    numbers = {"claimant": claimant.id, "patience": keeper.snapshot.patience}
    return Verdict(verdict.app, WaitReason.FIRST_TASK, numbers, verdict.position, verdict.wait)


def _kept_from(lane: Lane, lanes: Sequence[Lane], found: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Apps that find no node because room is kept for an app of their queue, or of one that shares its nodes."""
    near = (lane, *(each for each in lanes if each is not lane))
    keepers = [each for each in near if each.admission.assembly.app or each.admission.awaited]
    said: dict[str, Verdict] = {}
    for app in lane.admission.apps if keepers else ():
        verdict = found[app.id]
        if verdict.reason in (WaitReason.FRAGMENTED, WaitReason.SCATTERED) and (rows := _kept_rows(app, lane)).any():
            kept = [_assembling(verdict, each) for each in keepers if _could_use(each, rows)]
            kept += [_first_task(verdict, each) for each in keepers]
            if (first := next((each for each in kept if each is not None), None)) is not None:
                said[app.id] = first
    return said


def _kept_rows(app: App, lane: Lane) -> Mask:
    """The nodes that would have room for a held pod of an app, were none kept for others."""
    shapes = [lane.admission.shapes[app.id, group.key] for group in app.groups if group.held]
    rows: Mask = np.logical_or.reduce([lane.rooms.kept_from(shape) for shape in shapes])
    return rows


def _could_use(keeper: Lane, rows: Mask) -> bool:
    """Whether the app for which room is kept could start on one of these nodes: of others' room it says nothing."""
    app, shapes = keeper.admission.assembly.app, keeper.admission.shapes
    held = [shapes[app.id, group.key] for group in app.groups if group.held] if app is not None else []
    return any((keeper.rooms.possible(shape) & rows).any() for shape in held)


def _why_held(app: App, lane: Lane, rows: Mapping[str, int], window: ReleaseWindow) -> Verdict:
    """Why nothing of a started app goes: the first test that its first held group fails."""
    held = [group for group in app.groups if group.held]
    if not held:
        if (refused := lane.admission.infeasible(app)) is not None:
            return refused
        return _not_ours(app)
    if app.paused or lane.queue.paused:
        what, remedy = (f"app {app.id}", RESUME_APP) if app.paused else (f"queue {lane.queue.name}", RESUME_QUEUE)
        return Verdict(app.id, WaitReason.PAUSED, {"what": what, "remedy": remedy})
    row = rows.get(app.id)
    if row is None:
        return _not_yet(app, held, lane)
    return _crowded(app, lane, row, window)


def _not_ours(app: App) -> Verdict:
    """Nothing of an app is held: what else its pods wait for, if for anything."""
    counts = {
        WaitReason.FOREIGN: sum(g.blocked - g.unknown - g.stranded - g.elsewhere for g in app.groups),
        WaitReason.LOOKED_UP: sum(group.unknown for group in app.groups),
        WaitReason.NOT_BOUND: sum(group.stranded for group in app.groups),
        WaitReason.ELSEWHERE: sum(group.elsewhere for group in app.groups),
    }
    for reason, count in counts.items():
        if count:
            return Verdict(app.id, reason, {"count": count})
    return Verdict(app.id, WaitReason.COMPLETE)


def _crowded(app: App, lane: Lane, row: int, window: ReleaseWindow) -> Verdict:
    """It might go, but for room, an owner's bound or the window."""
    line, queue = lane.line, lane.queue.name
    if not line.fits(row):
        kind, free, ask = line.lacking(row)
        return Verdict(app.id, WaitReason.ROOM, {"queue": queue, "kind": kind, "free": free, "ask": ask})
    seated = line.seated(row)
    if not app.gang and not seated:
        return lane.admission.no_node_verdict(app, line.rows[row].group)
    if app.gang and (together := line.lacking_together(app.id)) is not None:
        kind, free, ask = together
        return Verdict(app.id, WaitReason.WHOLE, {"queue": queue, "kind": kind, "free": free, "ask": ask})
    if (closed := _closed(app, lane, line.asked(row))) is not None:
        return closed
    # The window only shrinks in a round: a gang that it would still take was tried, and the nodes did not take it.
    group = line.rows[row].group
    if app.gang and window.kept_for(app) is None and window.takes_gang(app, line.gang_pods(app.id)):
        return Verdict(app.id, WaitReason.SCATTERED, {"queue": queue, "count": app.held_pods})
    return _window_full(app, group, line, window)


def _window_full(app: App, group: PodGroup, line: ReleaseQueue, window: ReleaseWindow) -> Verdict:
    """It might go, but for the pods that are on their way, or a gang that is to be next."""
    first = window.kept_for(app)
    if first is not None and first.id != app.id and window.places(app, group) > 0:
        return Verdict(app.id, WaitReason.BEHIND, {"ahead": first.id, "why": PLACES})
    numbers = {"flight": window.flight, "window": window.size}
    return Verdict(app.id, WaitReason.WINDOW, {**numbers, "count": line.gang_pods(app.id)} if app.gang else numbers)


def _not_yet(app: App, held: Sequence[PodGroup], lane: Lane) -> Verdict:
    """No group of it is a candidate: its driver or its parents are not there yet, or placement found no node."""
    reasons = {each.reason for each in readiness(app, lane.queue)}
    if WaitReason.NOT_BOUND in reasons:
        pausing = sum(len(group.held) for group in held if group.pausing)
        return Verdict(app.id, WaitReason.NOT_BOUND, {"count": pausing})
    if WaitReason.UNPLACED in reasons:
        return lane.admission.unplaced_verdict(app, [group for group in held if group.unplaceable])
    if WaitReason.DRIVER in reasons:
        return Verdict(app.id, WaitReason.DRIVER, {"count": app.held_pods})
    if (verdict := incomplete(app)) is not None:
        return verdict
    first = min(held, key=lambda group: group.level)
    return Verdict(app.id, WaitReason.PARENTS, {"stage": first.stage, "level": first.level})


def _closed(app: App, lane: Lane, asked: Resources) -> Verdict | None:
    """An owner's bound of delta keeps for the other side what is asked for; None where it does not."""
    side = lane.admission.sizes[app.id].category
    short = lane.admission.bound.shortage(side, asked)
    return short and Verdict(app.id, WaitReason.POOL, {"category": side.name.lower(), **short._asdict()})


def _kept_by_owner(app: App, verdict: Verdict, lane: Lane) -> Verdict | None:
    """An app that waits for its pool would borrow room, but for an owner's bound: that is what it waits for."""
    if verdict.reason is not WaitReason.POOL:
        return None
    first = lane.admission.head(app).groups
    asked = times((group.request, len(group.held)) for group in first) if app.gang else first[0].request
    closed = _closed(app, lane, asked)
    return closed and verdict._replace(numbers=closed.numbers)
