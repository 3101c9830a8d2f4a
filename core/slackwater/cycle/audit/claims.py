"""Checks after a round that every pod still held lacks room, or that another pod has the better claim on it.

For each group of pods that is still held after a round:

    no node has room for it now; or
    it cannot start yet for its own sake (paused, its driver or parents are not there, a gang is not complete); or
    somebody has the better claim on the room that there is:
        the window      pods on their way to nodes, as many as the API server is to see at once
        the reserve     002: tasks of started apps that wait or are announced, against a new driver; the first task of
                        a driver that has just started, against what is lent beyond a pool's border
        an assembly     an app that waited longer than patience and is being assembled, until its deadline
        an owner        a bound of delta that the pool's owner wrote

"The pool is full" and "somebody is before you" are no claims on room that they cannot use. Whatever is held for none of
these reasons is held for nobody: `Claim.NOBODY`, which no round may leave behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from slackwater.cycle.admit import AdmissionRound
from slackwater.cycle.appsize import AppSizes
from slackwater.cycle.appstarts.emptynodes import EmptyNodes
from slackwater.cycle.appstarts.firsttasks import first_tasks
from slackwater.cycle.appstarts.nodegrowth import NodeGrowth
from slackwater.cycle.appverdicts import Verdict, WaitReason, describe
from slackwater.cycle.audit.waitingpods import occupy
from slackwater.cycle.cycle import Round
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.driverbars import OWN
from slackwater.cycle.podline.readiness import lacking_room, readiness
from slackwater.cycle.podline.releasewindow import ReleaseWindow
from slackwater.cycle.queuepass import by_group
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.pools.pools import Category
from slackwater.resources import NOTHING, Resources, total

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


class Claim(StrEnum):
    """Why a pod is held."""

    NO_ROOM = "no node has room"
    NEVER = "no node could ever take it"
    NOT_READY = "it is not ready"
    WINDOW = "window"
    RESERVE = "reserve for tasks"
    ASSEMBLY = "assembly"
    OWNER = "owner's bound"
    NOBODY = "nobody"


# What a group that is not ready waits for; nothing is said of one that is.
WHY: Mapping[WaitReason | None, str] = {
    None: "",
    WaitReason.PAUSED: "paused",
    WaitReason.DRAINING: "the queue is draining",
    WaitReason.GANG: "its gang is not complete",
    WaitReason.UNPLACED: "placement found no node for it, or for others of its gang, a moment ago",
    WaitReason.NOT_BOUND: "it was released before, or others of its gang were, and came to no node",
    WaitReason.DRIVER: "its driver does not run",
    WaitReason.PARENTS: "its parents are not placed",
}


@dataclass(frozen=True, slots=True)
class Hold:
    """Held pods of one group, and for whom."""

    app: str
    group: str
    count: int
    claim: Claim
    claimant: str = ""
    nodes: tuple[str, ...] = ()  # with room for one of them
    why: str = ""


def holds(snapshot: Snapshot, decided: Round) -> list[Hold]:
    """Every group that is still held after the round, and why; the same in whatever order apps are listed."""
    every = sorted(snapshot.apps, key=lambda app: (app.submitted, app.id))
    snapshot = replace(snapshot, apps=tuple(every), queues=tuple(sorted(snapshot.queues, key=lambda each: each.name)))
    rooms, empty = NodeRooms(snapshot), EmptyNodes(snapshot)
    # Growth pods under way take their room first, as in the round itself.
    growths = {q.name: NodeGrowth(q, [a for a in snapshot.apps if a.queue == q.name], rooms) for q in snapshot.queues}
    snapshot = replace(snapshot, queues=tuple(each.queue for each in growths.values()))
    after = _after(snapshot, decided, rooms)
    window = ReleaseWindow(after)
    found: list[Hold] = []
    before = {app.id: app for app in snapshot.apps}
    for queue in snapshot.queues:
        apps = [app for app in after.apps if app.queue == queue.name]
        found += _Holds(after, growths[queue.name], apps, before, rooms, empty, window).all()
    return found


def _after(snapshot: Snapshot, decided: Round, rooms: NodeRooms) -> Snapshot:
    """The snapshot as it is once the round is carried out; `rooms` give up what was released."""
    nodes = occupy(rooms, snapshot, decided)
    released = by_group(decided.releases)
    grown = {release.uid for release in decided.releases if release.growth}
    asked: dict[str, Resources] = {}
    for release in decided.releases:
        if not release.growth:
            asked[release.queue] = asked.get(release.queue, NOTHING) + release.group.request
    apps = tuple(_released(app, released, grown, nodes) for app in snapshot.apps)
    left = tuple(replace(q, free=q.free - asked[q.name]) if q.name in asked else q for q in snapshot.queues)
    return replace(snapshot, apps=apps, queues=left)


def _released(app: App, released: Counter[tuple[str, str]], grown: Collection[str], nodes: Mapping[str, str]) -> App:
    counts = [released[app.id, group.key] for group in app.groups]
    if not any(counts):
        return app
    groups = tuple(
        _without_first(group, count, grown, nodes) if count else group
        for group, count in zip(app.groups, counts, strict=True)
    )
    return replace(app, groups=groups, started=True)


def _without_first(group: PodGroup, count: int, grown: Collection[str], nodes: Mapping[str, str]) -> PodGroup:
    first = group.held[:count]
    towards = tuple(uid for uid in first if uid in grown)
    seats = tuple(nodes[uid] for uid in first if group.driver and uid in nodes)
    return replace(
        group,
        held=group.held[count:],
        released=group.released + count,
        growing=(*group.growing, *towards),
        seats=(*group.seats, *seats),
    )


class _Holds:
    """What is held of one queue."""

    def __init__(
        self,
        snapshot: Snapshot,
        growth: NodeGrowth,
        apps: Sequence[App],
        before: Mapping[str, App],
        rooms: NodeRooms,
        empty: EmptyNodes,
        window: ReleaseWindow,
    ) -> None:
        queue = next(each for each in snapshot.queues if each.name == growth.queue.name)
        self.snapshot, self.queue, self.rooms, self.empty, self.window = snapshot, queue, rooms, empty, window
        self.before = before  # what the round saw: parents that go with it let their children go in the next one
        pool, sizes = snapshot.pool_of(queue), AppSizes()
        nodes = DriverNodes(snapshot, sizes)
        self.admission = AdmissionRound(snapshot, queue, pool, apps, rooms, nodes, empty, sizes, growth)
        self.apps = apps

    def all(self) -> list[Hold]:
        return [self._hold(app, group) for app in self.apps for group in app.groups if group.held]

    def _hold(self, app: App, group: PodGroup) -> Hold:
        shape = self.admission.shapes[app.id, group.key]
        claim, claimant, why = self._claim(app, group, shape)
        return Hold(app.id, group.key, len(group.held), claim, claimant, tuple(self.rooms.nodes(shape)[:3]), why)

    def _claim(self, app: App, group: PodGroup, shape: int) -> tuple[Claim, str, str]:
        """The first of the rule's reasons that holds, whose claim it is, and why."""
        if (refused := self.admission.infeasible(app)) is not None and not self._feasible(app, group, refused):
            found = Claim.NEVER, "", refused.sentence
        elif why := self._not_ready(app, group):
            found = Claim.NOT_READY, "", why
        elif not self._has_room(app, group, shape):
            found = Claim.NO_ROOM, "", f"no node has room for {describe(group.request)}"
        elif self.window.places(app, group) <= 0 or (app.gang and self.window.flight):
            found = Claim.WINDOW, "", f"pods on their way: {self.window.flight}"
        elif (other := self._next_gang(app)) is not None:
            found = Claim.WINDOW, other.id, "places are kept for it as pods come to their nodes"
        elif (other := self._assembled_for(app, shape)) is not None:
            found = Claim.ASSEMBLY, other.id, "room is kept for it until its deadline"
        elif (other := self._first_task(app, shape)) is not None:
            found = Claim.RESERVE, other.id, "its first task is still to come"
        elif not app.started and group.driver and (other := self._reserve(app)) is not None:
            found = Claim.RESERVE, other.id, "its tasks wait or are still to come"
        elif not self.admission.seated(app, group):
            claimant = self.admission.bars(app, group).claimant(self.rooms.rows(shape))
            owner = app.id if claimant == OWN else claimant
            found = Claim.RESERVE, owner, "its tasks need the node that the driver would take"
        elif self._bound(app, group):
            found = Claim.OWNER, self.queue.pool, "a bound of delta keeps the room for the other side"
        else:
            found = Claim.NOBODY, "", "nobody has a better claim"
        return found

    def _feasible(self, app: App, group: PodGroup, refused: Verdict) -> bool:
        """Whether the group could run although something of its app cannot."""
        if refused.reason in (WaitReason.TASK_BESIDE_DRIVER, WaitReason.INFEASIBLE):
            return False
        left = next(each for each in self.admission.apps if each.id == app.id)
        return any(each.held for each in left.groups if each.key == group.key)

    def _not_ready(self, app: App, group: PodGroup) -> str:
        """What it waits for that is its own, in what the round saw."""
        seen = self.before[app.id]
        at = next(number for number, each in enumerate(seen.groups) if each.key == group.key)
        ready = readiness(seen, self.queue)[at]
        gone = group.released - seen.groups[at].released
        return WHY[WaitReason.PARENTS if ready.reason is None and ready.pods <= gone else ready.reason]

    def _has_room(self, app: App, group: PodGroup, shape: int) -> bool:
        if app.gang:
            wanted = [(self.admission.shapes[app.id, g.key], len(g.held)) for g in app.groups if g.held]
            asked = [g.request * len(g.held) for g in app.groups if g.held]
            together = asked[0]
            for each in asked[1:]:
                together = together + each
            return together.fits(self.queue.free) and self.rooms.holds_all(wanted)
        return self.rooms.fits(shape) and group.request.fits(self.queue.free)

    def _next_gang(self, app: App) -> App | None:
        """A gang of any queue that has room and more pods than the window has places: it keeps these from the app."""
        queues = {queue.name: queue for queue in self.snapshot.queues}
        for each in self.snapshot.apps:
            queue = queues.get(each.queue)
            if queue is None or not each.gang or each.id == app.id or app.priority > each.priority:
                continue
            wanted = self._wanted(queue, each)
            lacks = sum(count for _, count in wanted) > self.window.left
            if lacks and self.rooms.holds_all(wanted):
                return each
        return None

    def _wanted(self, queue: Queue, gang: App) -> list[tuple[int, int]]:
        """Pods of a gang that lack nothing but room, as shapes and their numbers."""
        ready = {group.key for group in lacking_room(self.before[gang.id], queue)}
        groups = [group for group in gang.groups if group.held and group.key in ready]
        shapes = self.rooms.shapes(queue, groups)
        return [(shape, len(group.held)) for shape, group in zip(shapes, groups, strict=True)]

    def _assembled_for(self, app: App, shape: int) -> App | None:
        """The app for which room of a shape is kept, of this queue or one that shares its nodes; no less urgent."""
        sharing = {queue.name for queue in self.snapshot.queues if self._shares_nodes(queue)}
        others = [each for each in self.snapshot.apps if each.queue in sharing and each.queue != self.queue.name]
        waiting = [
            each
            for each in (*self.apps, *others)
            if each.id != app.id and each.priority >= app.priority and each.held_pods
        ]
        queues = {queue.name: queue for queue in self.snapshot.queues}
        assembly, rows = self.admission.assembly, self.rooms.rows(shape)
        overdue = (each for each in waiting if assembly.deadline(each) is not None)
        lacking = (each for each in overdue if assembly.could_use(self.before[each.id], queues[each.queue], rows))
        return next((each for each in lacking if not each.gang or self.empty.could_hold(each)), None)

    def _shares_nodes(self, other: Queue) -> bool:
        """Whether another queue's apps may use nodes of this one; where nodes are not known, none do."""
        mine, theirs = self.queue.nodes, other.nodes
        if not self.rooms.known:
            return False
        return mine is None or theirs is None or bool((mine & theirs).any())

    def _first_task(self, app: App, shape: int) -> App | None:
        """An app of a pooled queue whose first task is still to come, if beside such tasks no room is left."""
        others = [each for each in self._coming if each[0].id != app.id and each[0].priority >= app.priority]
        kept = [(number, 1) for _, number in others]
        seats = self.rooms.seats(kept)
        full = sum(seats) > 0 and sum(self.rooms.seats([*kept, (shape, 1)])) <= sum(seats)
        return others[next(at for at, seat in enumerate(seats) if seat)][0] if full else None

    @cached_property
    def _coming(self) -> list[tuple[App, int]]:
        """Apps of pooled queues whose first task is still to come, and its shape: the same for all that is held."""
        found: list[tuple[App, int]] = []
        gone = {app.id for app in self.snapshot.apps if app.held_pods < self.before[app.id].held_pods}
        for queue in self.snapshot.queues:
            if self.snapshot.pool_of(queue) is not None:
                theirs = (app for app in self.before.values() if app.queue == queue.name)
                coming = first_tasks(self.snapshot, queue, theirs, self.admission.facts, gone)
                shapes = self.rooms.shapes(queue, [task for _, task in coming])
                found += zip((app for app, _ in coming), shapes, strict=True)
        return found

    def _reserve(self, app: App) -> App | None:
        """A started app on whose tasks the reserve is spent; else one that would be left without a task."""
        started = list(filter(self.admission.here, self.admission.running))
        if self.admission.admits(app):
            return None
        budget = self.admission.budget
        wanting = next((each for each in started if budget.wants_tasks(each, {})), None)
        if wanting is not None:
            return wanting
        return None if budget.leaves_a_task(app, budget.largest_task(started)) else next(iter(started), app)

    def _bound(self, app: App, group: PodGroup) -> bool:
        bound, side = self.admission.bound, self.admission.sizes[app.id].category
        asked = total(each.request * len(each.held) for each in app.groups) if app.gang else group.request
        # Of a side of which no task runs it may go, unless something else of it did.
        bound.open(lambda _: NOTHING if self._went(side) else asked)
        return not bound.allows(side, asked)

    def _went(self, kind: Category) -> bool:
        """Whether the round released something of a side."""
        mine = [app for app in self.apps if self.admission.sizes[app.id].category is kind]
        return any(app.held_pods < self.before[app.id].held_pods for app in mine)
