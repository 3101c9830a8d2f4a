"""Which nodes a driver may take so that tasks keep theirs: 002's reserve, node by node.

A sum says nothing of a task that needs half a node or all of it. A driver on the last node that is large enough keeps
such a task waiting for as long as it runs; where the task is its own, for ever. So

    left      allocatable − what drivers and pods of others hold: what tasks find once the tasks there have ended
    places    of a task on a node: how often it goes into what is left
    needed    one place for each kind of task that a started app still has to run, all places together for a gang

A driver may take no node that leaves fewer places than are needed, be it for tasks of apps that have started or for its
own. A task for which there are too few places already claims nothing: no reserve would serve it; its own driver does
not start before there are. Nor does a kind of its own for which there are too few beside the driver even on empty
nodes, as long as another kind has its places: to wait for it would be to wait for ever.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.appsize import AppFacts, AppSizes, TaskNeed, one_of
from slackwater.cycle.feasibility import reachable
from slackwater.cycle.podline.driverbars import ANYWHERE, OWN, Bars
from slackwater.cycle.podline.earlystart import at_once
from slackwater.cycle.podline.readiness import helped_by_room
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.resources import NOTHING, Resources, places, places_on, times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


@dataclass(slots=True)
class _Places:
    """Of one kind of task: its places on each node, all of them, and the most on one node."""

    each: Floats
    total: float
    most: float
    drivers: int = 0  # so many had gone to nodes when these were counted

    def put(self, row: int, count: float) -> None:
        """So many are left on a node; all are whole numbers, so that their sum stays exact."""
        before = float(self.each[row])
        self.each[row] = count
        self.total += count - before
        if before >= self.most > count:
            self.most = float(self.each.max())


class DriverNodes:
    """All nodes in one round, without the tasks on them. Where only sums are known every node serves every driver."""

    def __init__(self, snapshot: Snapshot, sizes: AppSizes | None = None) -> None:
        self._snapshot = snapshot
        self._sizes = AppSizes() if sizes is None else sizes
        self._table = snapshot.nodes
        self.known = snapshot.nodes is not None and snapshot.reserve
        self._queues = {queue.name: queue for queue in snapshot.queues}
        self._places: dict[TaskNeed, _Places] = {}
        self._gone: list[int] = []  # the nodes that drivers went to in this round
        # Until a driver goes to a node:
        self._lost: dict[tuple[TaskNeed, Resources], Floats] = {}  # places lost to a driver of this size
        self._serving: dict[tuple[TaskNeed, ...], bool] = {}
        self._of_queue: dict[str, Resources | None] = {}  # what tasks find on all nodes of a queue together
        self._bars: dict[tuple[tuple[TaskNeed, ...], Resources], Bars] = {}  # … or a task of a new kind counts
        # Whatever goes where:
        self._kept: dict[tuple[object, ...], tuple[TaskNeed, ...]] = {}
        self._facts: dict[str, tuple[App, AppFacts]] = {}
        self._kinds: dict[str, tuple[App, tuple[TaskNeed, ...]]] = {}

    def facts(self, app: App) -> AppFacts:
        """What the tests ask of an app. Announced tasks are taken to run where its driver may, unless they never could.

        They may then be meant for other nodes: a driver on demand, its tasks on large spot nodes. What nobody knows
        refuses no app that the scheduler would run.
        """
        kept = self._facts.get(app.id)
        if kept is None or kept[0] is not app:
            kept = self._facts[app.id] = app, self._find_facts(app)
        return kept[1]

    def _find_facts(self, app: App) -> AppFacts:
        known = self._sizes.facts(app)
        if not (known.guessed and self.known):
            return known
        lead = next((group for group in app.groups if group.driver and not group.ended), None)
        home = lead is None or known.needs[-1] in self._beside(known.needs, lead, app.queue)
        return known if home else known.anywhere()

    @cached_property
    def left(self) -> Floats:
        """What tasks find on each node once the tasks there have ended."""
        table = self._table
        assert table is not None  # noqa: S101 - only asked where nodes are known
        left = np.where(table.open[:, None], table.total, 0.0)
        if self._snapshot.foreign is not None:
            left = left - self._snapshot.foreign
        rows: list[int] = []
        held: list[list[float]] = []
        for group in (group for app in self._snapshot.apps for group in app.groups if group.seats):
            here = [table.index[name] for name in group.seats if name in table.index]
            rows += here
            held += [[group.request[kind] for kind in table.kinds]] * len(here)
        if rows:
            np.subtract.at(left, rows, held)
        return left

    def left_on(self, nodes: Mask | None) -> Resources | None:
        """The same of some nodes together, all by default; None where nodes are not known one by one."""
        if not self.known or self._table is None:
            return None
        left = self.left if nodes is None else self.left[nodes]
        return Resources.from_vector(self._table.kinds, np.maximum(left, 0.0).sum(axis=0).tolist())

    def _left_to(self, name: str) -> Resources | None:
        """The same of the nodes of a queue, summed up once however many gangs ask."""
        if name not in self._of_queue:
            queue = self._queues.get(name)
            self._of_queue[name] = self.left_on(None if queue is None else queue.nodes)
        return self._of_queue[name]

    @cached_property
    def _needs(self) -> dict[TaskNeed, str]:
        """Of all apps that have started, each with the first app that has it."""
        found: dict[TaskNeed, str] = {}
        for app in sorted(self._snapshot.apps, key=lambda app: (app.submitted, app.id)):
            queue = self._queues.get(app.queue)
            started = app.started and not app.afar
            if started and queue is not None and helped_by_room(app, queue, self._snapshot):
                for need in self._claims(app):
                    found.setdefault(need, app.id)
        return found

    @cached_property
    def _going(self) -> int:
        """Drivers that may go in this round."""
        held = (len(g.held) for app in self._snapshot.apps for g in app.groups if g.driver)
        return min(sum(held), self._snapshot.window)

    # ---- tasks ----------------------------------------------------------------------------------------------------

    def start(self, app: App) -> None:
        """An app starts with this round: its tasks count from now on."""
        if self.known:
            known = len(self._needs)
            for need in self._claims(app):
                self._needs.setdefault(need, app.id)
            if len(self._needs) > known:
                self._bars.clear()

    def serves(self, app: App) -> bool:
        """Whether tasks of the app that are to run have the places for it, or nobody knows yet what they ask for."""
        if not self.known:
            return True
        needs = self.facts(app).needs
        found = self._serving.get(needs)
        if found is None:
            first = _first(needs)
            found = self._serving[needs] = not first or any(self._served(need) for need in first)
        return found

    def promised(self, app: App, task: Resources) -> Resources:
        """What drivers leave for a task of an app that has started: of the kinds that have their places, if any has.

        `task`: what one asks for, whatever its kind.
        """
        if not self.known:
            return task
        needs = self.facts(app).needs
        served = needs if len(needs) <= 1 else [need for need in needs if self._served(need)]
        return one_of(served, needs, task) if self.serves(app) else NOTHING

    def placeable(self, app: App, task: Resources) -> Resources:
        """The same of an app whose driver waits: of the kinds that find places beside it if all nodes are empty."""
        return one_of(self.kinds(app), self.facts(app).needs, task)

    def _served(self, need: TaskNeed) -> bool:
        return self._goes_into_emptiest(need) or self._of(need).total >= need.together

    @cached_property
    def _emptiest(self) -> int:
        """The node that had the most left of the first kind when somebody first asked; −1 without nodes."""
        return int(np.argmax(self.left[:, 0])) if self.left.size else -1

    def _goes_into_emptiest(self, need: TaskNeed) -> bool:
        """One look at one node, which answers for most tasks; no says nothing."""
        table, queue = self._table, self._queues.get(need.queue)
        if table is None or need.together > 1 or self._emptiest < 0:
            return False
        if queue is not None and self._reach(queue, need.constraints) is not None:
            return False
        left = dict(zip(table.kinds, self.left[self._emptiest].tolist(), strict=True))
        return all(left.get(kind, 0.0) >= amount for kind, amount in need.request.items() if amount > 0)

    def _claims(self, app: App) -> list[TaskNeed]:
        """What drivers must leave room for: not for stages whose turn never comes, as one before them has no place.

        Nor for a gang of which more is held, to go at once, than drivers leave: none that is kept out would help it.
        """
        needs, left = self.kinds(app), self._left_to(app.queue) if app.gang else None
        if left is not None and not times((group.request, len(group.held)) for group in at_once(app)).fits(left):
            return []
        stuck = any(not need.later and not self._served(need) for need in needs)
        return [need for need in needs if not (stuck and need.later)]

    def _of(self, need: TaskNeed) -> _Places:
        found = self._places.get(need)
        if found is None:
            each = self._count(need, self.left)
            found = self._places[need] = _Places(each, float(each.sum()), float(each.max(initial=0.0)), len(self._gone))
        for row in self._gone[found.drivers :]:
            found.put(row, self._count_on(row, need))
        found.drivers = len(self._gone)
        return found

    def _count_on(self, row: int, need: TaskNeed) -> float:
        """Its places on one node: most of many kinds of tasks are counted once, and then where a driver went."""
        table, queue = self._table, self._queues.get(need.queue)
        assert table is not None  # noqa: S101 - only asked where nodes are known
        reach = self._reach(queue, need.constraints) if queue is not None else None
        if reach is not None and not reach[row]:
            return 0.0
        return places_on(self.left[row].tolist(), need.request.demand(table.kinds))

    def _count(self, need: TaskNeed, left: Floats) -> Floats:
        """Its places on each node, if so much is left of them."""
        table, queue = self._table, self._queues.get(need.queue)
        assert table is not None  # noqa: S101 - only asked where nodes are known
        each = places(left, need.request.demand(table.kinds))
        reach = self._reach(queue, need.constraints) if queue is not None else None
        return each if reach is None else np.where(reach, each, 0.0)

    def _reach(self, queue: Queue, constraints: str) -> Mask | None:
        if queue.nodes is None and constraints not in self._snapshot.reach:
            return None
        return reachable(self._snapshot, queue, constraints)

    # ---- drivers --------------------------------------------------------------------------------------------------

    def together(self, app: App, driver: PodGroup, *, beside_others: bool = False) -> bool:
        """Whether the app's driver and a task, or all of a gang, would find nodes if all nodes were empty.

        `beside_others`: but for pods of others.
        """
        if not self.known or not (own := self.facts(app).needs):
            return True
        kept = self._beside(own, driver, app.queue, beside_others=beside_others)
        return (all if app.gang else any)(need in kept for need in _first(own))

    def kinds(self, app: App) -> tuple[TaskNeed, ...]:
        """What of the app is still to run, without what never could beside its driver that waits; all if none could."""
        kept = self._kinds.get(app.id)
        if kept is None or kept[0] is not app:
            kept = self._kinds[app.id] = app, self._find_kinds(app)
        return kept[1]

    def _find_kinds(self, app: App) -> tuple[TaskNeed, ...]:
        facts = self.facts(app)
        if not self.known or facts.driver is None or not facts.needs:
            return facts.needs
        return self._beside(facts.needs, facts.driver, app.queue) or facts.needs

    def _beside(
        self, own: tuple[TaskNeed, ...], driver: PodGroup, queue: str, *, beside_others: bool = False
    ) -> tuple[TaskNeed, ...]:
        """The kinds of an app's tasks that find places beside its driver if all nodes are empty, first stages first.

        All of them on one and the same choice of a node for the driver: a kind that would leave it none is left out.
        """
        lead = TaskNeed(driver.request, driver.constraints, queue)
        key = (lead, own, beside_others)
        if key not in self._kept:
            self._kept[key] = self._find_beside(lead, own, beside_others)
        return self._kept[key]

    def _find_beside(self, driver: TaskNeed, own: tuple[TaskNeed, ...], beside_others: bool) -> tuple[TaskNeed, ...]:
        table, foreign = self._table, self._snapshot.foreign
        assert table is not None  # noqa: S101 - only asked where nodes are known
        total = table.total - foreign if beside_others and foreign is not None else table.total
        homes = self._count(driver, total) > 0
        if driver.queue not in self._queues or not homes.any():
            return own  # it is said elsewhere that no node could take the driver itself
        kept: list[TaskNeed] = []
        for need in sorted(own, key=lambda each: each.later):
            beside = self._count(need, total - driver.request.vector(table.kinds))
            left = homes & (places_beside(self._count(need, total), beside, homes) >= need.together)
            if left.any():
                homes = left
                kept.append(need)
        return tuple(kept)

    def in_the_way(self, app: App) -> TaskNeed | None:
        """Tasks that cannot run beside the drivers there are, but could if their own driver were gone."""
        table = self._table
        needs = _first(self.facts(app).needs)
        seated = [group for group in app.groups if group.driver and group.seats]
        if table is None or not seated or self.serves(app):
            return None
        left = self.left.copy()
        for group in seated:
            rows = [table.index[name] for name in group.seats if name in table.index]
            np.add.at(left, rows, group.request.vector(table.kinds))
        return next((need for need in needs if float(self._count(need, left).sum()) >= need.together), None)

    def unserved(self, app: App) -> TaskNeed | None:
        """Tasks of the app that cannot run beside the drivers there are, as its driver sees them when it comes back.

        Those that could if their own driver were gone; else the first ones, which wait for drivers of others.
        """
        if self._table is None or self.serves(app):
            return None
        return self.in_the_way(app) or next(iter(_first(self.facts(app).needs)), None)

    def bars(self, app: App, request: Resources) -> Bars:
        """Where a driver of the app may not go. Where there are places enough for all nobody looks closer."""
        if not self.known:
            return ANYWHERE
        own = self.kinds(app)
        found = self._bars.get((own, request))
        if found is None:
            found = self._bars[own, request] = self._look(own, request)
        return found

    def _look(self, own: Collection[TaskNeed], request: Resources) -> Bars:
        assert self._table is not None  # noqa: S101 - only asked where nodes are known
        barred = costly = None
        found: list[tuple[str, Mask]] = []
        most = max(1, self._going)
        for need, owner in {**self._needs, **dict.fromkeys(own, OWN)}.items():
            there = self._of(need)
            spare = there.total - need.together
            if spare < 0 and need in own and not need.later:
                everywhere = np.ones(len(self._table), np.bool_)
                return Bars(everywhere, None, ((OWN, everywhere),))  # it would start in vain
            if (spare < 0 and need not in own) or spare >= most * there.most:
                continue
            if spare < 0:
                cost = taken = self._in_its_own_way(need, request)
            else:
                lost = self._lost_to(need, request)
                cost, taken = lost > 0, lost > spare
            costly = cost if costly is None else costly | cost
            if taken.any():
                barred = taken if barred is None else barred | taken
                found.append((owner, taken))
        return Bars(barred, costly, tuple(found))

    def _in_its_own_way(self, need: TaskNeed, request: Resources) -> Mask:
        """Nodes on which a driver would keep a later stage of its own out for ever: those of others end some time."""
        assert self._table is not None  # noqa: S101 - only asked where nodes are known
        total = self._table.total
        alone = self._count(need, total)
        if alone.sum() < need.together:
            return np.zeros(len(alone), np.bool_)
        beside = self._count(need, total - request.vector(self._table.kinds))
        return places_beside(alone, beside, np.ones(len(alone), np.bool_)) < need.together

    def _lost_to(self, need: TaskNeed, request: Resources) -> Floats:
        """Places on each node that a driver there would take away."""
        found = self._lost.get((need, request))
        if found is None:
            assert self._table is not None  # noqa: S101 - only asked where nodes are known
            beside = self._count(need, self.left - request.vector(self._table.kinds))
            found = self._lost[need, request] = self._of(need).each - beside
        return found

    def take(self, row: int, request: Resources) -> None:
        """A driver goes to a node."""
        if self._table is not None and row >= 0:
            self.left[row] -= request.vector(self._table.kinds)
            self._gone.append(row)
            for kept in (self._lost, self._serving, self._of_queue, self._bars):
                kept.clear()


def places_beside(alone: Floats, beside: Floats, homes: Mask) -> Floats:
    """Places of a task on all nodes together, by the node that its driver is on; none where a driver cannot be.

    `alone` are its places on each node, and `beside` those that a driver there would leave of them.
    """
    return np.where(homes, alone.sum() - alone + beside, 0.0)


def _first(needs: Sequence[TaskNeed]) -> Sequence[TaskNeed]:
    """Those whose turn is now: the others only come once they have run."""
    return [need for need in needs if not need.later] or needs
