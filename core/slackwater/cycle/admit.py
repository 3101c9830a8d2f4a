"""Which waiting apps start now: driver admission (002), then the pool (004). An app passes both or holds nothing.

Order: PriorityClass, small before large, then FIFO or weighted fair share between namespaces. An app that must wait for
the budget is before every later driver, one that must wait for its pool is before its category. But a claim counts only
on room in which the claimant could start now: what the apps before it cannot use is given to whoever fits (`backfill`).
An app that could never run is refused, holds nothing and is before nobody.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from slackwater.admission.budget import DriverOutcome, DriverVerdict, RunningMeans, WaitingDriver, admit, quantity
from slackwater.cycle.appsize import measure
from slackwater.cycle.contention import Ground, Grounds
from slackwater.cycle.drivernodes import Bars, DriverNodes
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.cycle.verdicts import Verdict, WaitReason, describe
from slackwater.pools.forecast import first_fit
from slackwater.pools.pools import (
    Adjustment,
    Branch,
    Category,
    Pools,
    Supply,
    adjust,
    even,
    required,
    slots,
)
from slackwater.resources import NOTHING, Resources, total
from slackwater.roles import Role
from slackwater.validation import TOLERANCE, clip

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Admitted:
    """What came of one queue's waiting apps."""

    started: list[App] = field(default_factory=list)
    grown: list[App] = field(default_factory=list)  # started towards nodes that do not exist yet
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    adjustment: Adjustment | None = None


class AdmissionRound:
    """One queue in one round: what is charged already, and the tests a waiting app has to pass."""

    def __init__(
        self,
        snapshot: Snapshot,
        queue: Queue,
        pool: Pool | None,
        apps: Sequence[App],
        rooms: NodeRooms,
        drivers: DriverNodes,
    ) -> None:
        self.queue = queue
        self.pool = pool
        self.rooms = rooms
        self.drivers = drivers
        self.shapes: dict[tuple[str, str], int] = {}  # of groups with held pods, by app and key
        self.impossible: dict[str, PodGroup] = {}  # by app: a group that no node could ever take
        self.apps = apps = self._shaped(apps)
        self.sizes = {app.id: measure(app, pool) for app in apps}
        self.spent = dict.fromkeys(Category, 0.0)  # slots of what was released in this round
        self.assembling: App | None = None  # keeps room until its deadline although it cannot start yet
        self.line: list[App] = []  # waiting apps in order
        self.waits: dict[str, float | None] = {}  # … and the seconds until their turn comes, as far as they are known
        self.running = [app for app in apps if app.started]
        self.waiting = [app for app in apps if not app.started and any(group.held for group in app.groups)]
        self._means: RunningMeans | None = None
        self.shares: dict[str, float] = {}
        self._now, self._patience = snapshot.now, snapshot.patience
        self._grounds = Grounds(snapshot, queue, self.running, self.sizes, drivers.serves)
        self._delta = pool.delta if pool else 0.0
        self._charge_shares()
        self._charged = dict.fromkeys(Category, 0.0)  # slots that pods hold
        self._occupied = dict.fromkeys(Category, 0.0)  # and what started apps were promised on top
        self._promised: dict[tuple[Category, int], float] = {}  # … which is all that is on top, by priority
        for app in self.running:
            size = self.sizes[app.id]
            self._charged[size.category] += size.charged
            # What can never run beside the drivers there are is promised nothing.
            self._occupy(app, size.committed(app) if drivers.serves(app) else size.charged, size.charged)
        self._blocked: dict[Category | None, App] = {}  # None: whoever waits for the driver budget

    @property
    def means(self) -> RunningMeans:
        """What runs, for the driver budget: counted when first asked for, as most rounds have no driver to admit."""
        if self._means is None:
            self._means = RunningMeans()
            for app in self.running:
                self._count(app, self._means)
        return self._means

    def open(self) -> Admitted:
        """Move the pools' border, then let in whoever passes, in order."""
        result = Admitted(adjustment=self._adjust())
        line = self.line = self._line(result.adjustment)
        for position, app in enumerate(line, start=1):
            verdict, grows = self._judge(app, position)
            if verdict is not None:
                result.verdicts[app.id] = verdict
                continue
            (result.grown if grows else result.started).append(app)
            self.enter(app)
        self._estimate(result, line)
        return result

    def headroom(self) -> dict[Category, float] | None:
        """Slots each pool has left for pods of started apps; None where no pool guards the queue.

        By pods, not by commitments: what a started app has not taken yet is its own to take.
        """
        if self.pool is None:
            return None
        pools = self._pools()
        return {kind: max(0.0, pools.size(kind) - self._charged[kind]) for kind in Category}

    def owners_headroom(self) -> dict[Category, float]:
        """Slots each side may take beyond the border: all of them, but for bounds that an owner wrote (delta).

        A side of which no task runs may always run one: a bound shares the work out, it does not end it.
        """
        if self.pool is None:
            return dict.fromkeys(Category, math.inf)
        most = {Category.SMALL: self.pool.high, Category.LARGE: 1 - self.pool.low}
        return {kind: self._owners_headroom(kind, most[kind], self.pool.tot) for kind in Category}

    def _owners_headroom(self, kind: Category, share: float, tot: float) -> float:
        if share >= 1:
            return math.inf
        left = max(0.0, share * tot - self._charged[kind] - self.spent[kind])
        mine = [app for app in self.apps if self.sizes[app.id].category is kind]
        if self.spent[kind] or any(g.charged for app in mine for g in app.groups if g.role is not Role.DRIVER):
            return left
        return max(left, min((each for app in mine for each in self._portions(app)), default=0.0))

    def _portions(self, app: App) -> list[float]:
        """Slots of what of the app is released at once: each held pod, or the gang as a whole."""
        size = self.sizes[app.id]
        if app.gang:
            return [size.held] if size.held > 0 else []
        return [each for each, group in zip(size.slots, app.groups, strict=True) if group.held]

    # ---- what no node could ever take ------------------------------------------------------------------------------

    def _shaped(self, apps: Sequence[App]) -> list[App]:
        """The apps without groups that no node could ever take; such groups hold nothing and count nowhere."""
        held = [(app, group) for app in apps for group in app.groups if group.held]
        numbers = self.rooms.shapes(self.queue, [group for _, group in held])
        for (app, group), number in zip(held, numbers, strict=True):
            self.shapes[app.id, group.key] = number
        if self.grows:
            return list(apps)  # nodes that do not exist yet may be larger
        never = {number for number in set(numbers) if not self.rooms.possible(number)}
        if not never:
            return list(apps)
        return [self._without(app, never) for app in apps]

    def _without(self, app: App, never: Collection[int]) -> App:
        lost = [g for g in app.groups if g.held and self.shapes[app.id, g.key] in never]
        if not lost:
            return app
        self.impossible[app.id] = lost[0]
        whole = app.gang or any(group.role is Role.DRIVER for group in lost)
        groups = tuple(replace(g, held=()) if g in lost or (whole and g.held) else g for g in app.groups)
        return replace(app, groups=groups, memo=[])

    @property
    def grows(self) -> bool:
        """Whether nodes can still be added."""
        maximum = self.queue.maximum
        return maximum is not None and not maximum.fits(self.queue.capacity)

    def infeasible(self, app: App, position: int = 0) -> Verdict | None:
        """The verdict on an app that no node, or not all nodes together, could ever serve."""
        group = self.impossible.get(app.id)
        if group is not None and self.sizes[app.id].held_pods == 0:
            kind, ask, most = self.rooms.largest(self.shapes[app.id, group.key])
            return Verdict(app.id, WaitReason.TOO_LARGE, self._too_large(group, kind, ask, most), position)
        if self.grows:
            return None
        driver = next((group for group in app.groups if group.role is Role.DRIVER and group.held), None)
        if driver is not None and not app.started and not self.drivers.together(app, driver):
            return self._apart(app, driver, position)
        for group in app.groups if app.gang else ():
            places = self.rooms.places(self.shapes[app.id, group.key]) if group.held else group.total
            if group.held and self.rooms.known and group.total > places:
                numbers = {"queue": self.queue.name, "expected": group.total, "places": places}
                return Verdict(app.id, WaitReason.GANG_TOO_LARGE, numbers, position)
        return None

    def _apart(self, app: App, driver: PodGroup, position: int) -> Verdict:
        """Driver and task are more than all nodes together, or no node would take the task beside the driver."""
        answer = self._test(app)
        if answer.outcome is DriverOutcome.INFEASIBLE:
            return self._more_than_all(app, answer, position)
        task = self.sizes[app.id].task
        said = {"queue": self.queue.name, "driver": describe(driver.request), "task": describe(task)}
        return Verdict(app.id, WaitReason.TASK_BESIDE_DRIVER, said, position)

    def _more_than_all(self, app: App, answer: DriverVerdict, position: int) -> Verdict:
        short = answer.shortages[0]
        numbers = {"ask": short.needed, "kind": short.kind, "queue": self.queue.name, "limit": short.left}
        return Verdict(app.id, WaitReason.INFEASIBLE, numbers, position)

    def _too_large(self, group: PodGroup, kind: str, ask: float, most: float) -> dict[str, object]:
        missing = next((k for k, value in group.request.items() if value > 0 and k not in self.rooms.kinds), None)
        if missing is not None:
            kind, ask, most = missing, group.request[missing], 0.0
        return {"queue": self.queue.name, "kind": kind, "ask": quantity(kind, ask), "most": quantity(kind, most)}

    def _line(self, adjustment: Adjustment | None) -> list[App]:
        """Waiting apps in the order in which they are tried."""
        buckets: dict[tuple[int, int], list[App]] = {}
        for app in self.waiting:
            small = self.sizes[app.id].category is Category.SMALL
            buckets.setdefault((-app.priority, 0 if small else 1), []).append(app)
        ascending = adjustment is not None and adjustment.ascending
        turns = self._fair if self.queue.order is Order.FAIR else _fifo
        line: list[App] = []
        for _, bucket in sorted(buckets.items()):
            line += self._ascending(bucket) if ascending else turns(bucket)
        return line

    def _ascending(self, apps: Iterable[App]) -> list[App]:
        """Both pools short: smallest demand first, but whoever lost patience keeps its place at the head."""
        overdue = [app for app in apps if self._now - app.submitted > self._patience]
        rest = [app for app in apps if self._now - app.submitted <= self._patience]
        return [*_fifo(overdue), *sorted(rest, key=lambda app: (self.sizes[app.id].demand(app), app.submitted, app.id))]

    def _fair(self, apps: Iterable[App]) -> list[App]:
        """Weighted DRF between namespaces: whoever has the least share of its weight is next, FIFO inside."""
        lines: dict[str, list[App]] = {}
        for app in _fifo(apps):
            lines.setdefault(app.namespace, []).append(app)
        shares = dict(self.shares)
        turns: list[App] = []
        while lines:
            namespace = min(lines, key=lambda name: (shares.get(name, 0.0), lines[name][0].submitted, name))
            app = lines[namespace].pop(0)
            turns.append(app)
            shares[namespace] = shares.get(namespace, 0.0) + self._share(namespace, self._first(app))
            if not lines[namespace]:
                del lines[namespace]
        return turns

    def _judge(self, app: App, position: int) -> tuple[Verdict | None, bool]:
        """None: it may start (and whether only towards nodes that do not exist yet). Else why not."""
        if app.paused or self.queue.draining:
            return self._set_aside(app, position), False
        if (verdict := self.infeasible(app, position) or incomplete(app, position)) is not None:
            return verdict, False
        if (verdict := self._no_node(app, position)) is not None:
            return verdict, False
        grows = False
        if any(group.role is Role.DRIVER and group.held for group in app.groups):
            verdict, grows = self._admit(app, position)
            if verdict is not None:
                return verdict, False
        return (None, True) if grows else (self._pass_pool(app, position), False)

    def _no_node(self, app: App, position: int) -> Verdict | None:
        """What fits nowhere now claims nothing: others may go before it. Where nodes are added, it shows the need."""
        if self.grows or app.gang:
            return None
        first = self.first(app)
        if not first or any(self.seated(app, group) for group in first):
            return None
        ask = describe(first[0].request)
        if self.rooms.fits(self.shapes[app.id, first[0].key]):
            claimant = self.drivers.bars(app, first[0].request).claimant
            numbers = {"queue": self.queue.name, "claimant": "its own app" if claimant == app.id else claimant}
            return Verdict(app.id, WaitReason.LAST_NODE, numbers, position)
        return Verdict(app.id, WaitReason.FRAGMENTED, {"queue": self.queue.name, "ask": ask}, position)

    def seated(self, app: App, group: PodGroup) -> bool:
        """Whether a node has room for one pod of the group, and a driver may take it."""
        return self.rooms.fits(self.shapes[app.id, group.key], self.bars(app, group).barred)

    def bars(self, app: App, group: PodGroup) -> Bars:
        """Nodes that a driver may not take, because tasks would be left without any."""
        if group.role is not Role.DRIVER or self.grows:
            return Bars()
        return self.drivers.bars(app, group.request)

    def first(self, app: App) -> list[PodGroup]:
        """What of the app goes first: its driver, or where it has none any of its pods."""
        held = [group for group in app.groups if group.held]
        return [group for group in held if group.role is Role.DRIVER] or held

    def _set_aside(self, app: App, position: int) -> Verdict:
        if app.paused:
            return Verdict(app.id, WaitReason.PAUSED, {"what": f"app {app.id}"}, position)
        return Verdict(app.id, WaitReason.DRAINING, {"queue": self.queue.name}, position)

    def _admit(self, app: App, position: int) -> tuple[Verdict | None, bool]:
        """002: one reservation for all drivers of the queue. The second value: start it so that nodes are added."""
        if None in self._blocked and app.priority <= self._blocked[None].priority:
            return _behind(app, self._blocked[None], "the driver budget", position), False
        answer = self._test(app)
        if answer.admitted:
            return None, False
        short = answer.shortages[0]
        if answer.outcome is DriverOutcome.INFEASIBLE:
            return self._more_than_all(app, answer, position), False
        self._blocked.setdefault(None, app)
        beyond = answer.outcome is DriverOutcome.BEYOND_CAPACITY and self.queue.maximum is not None
        if beyond and self._in_flight() < self.queue.growth:
            return None, True
        kept = answer.budget
        numbers = {
            "queue": self.queue.name,
            "kind": short.kind,
            "capacity": kept.capacity[short.kind],
            "reserved": kept.reserved[short.kind],
            "budget": kept.capacity[short.kind] - kept.reserved[short.kind],
            "charged": kept.charged[short.kind],
            "ask": short.needed,
        }
        return Verdict(app.id, WaitReason.BUDGET, numbers, position), False

    def _test(self, app: App) -> DriverVerdict:
        """The budget on each of the app's grounds: the first that refuses, else the last."""
        size = self.sizes[app.id]
        answers = (
            admit(
                WaitingDriver(app.id, size.driver, self._task(app, ground)),
                ground.means,
                ground.capacity,
                self.queue.maximum or ground.most,
            )
            for ground in self._grounds.of(app)
        )
        answer = next(answers)  # an app has at least one ground
        while answer.admitted and (further := next(answers, None)) is not None:
            answer = further
        return answer

    # While nobody knows the size of a task:  TC = min(AMC, C − AMC)
    def _task(self, app: App, ground: Ground) -> Resources:
        """What one task asks of the ground; while nobody knows, as much as the driver, as far as there is room.

        A plain `spark-submit` says nothing of its executors before they exist, and drivers that are let in without any
        reserve fill the nodes.
        """
        size = self.sizes[app.id]
        if not ground.shared:
            return NOTHING
        if size.task or not app.tasks_to_come:
            return size.task
        return size.driver.at_most((ground.capacity - size.driver).at_least(NOTHING))

    def admits(self, app: App) -> bool:
        """Whether the budget lets the app's driver in."""
        return self._test(app).admitted

    def _pass_pool(self, app: App, position: int) -> Verdict | None:
        """004: a gang needs all of its slots, any other app a driver and one task; the rest follows pod by pod.

        Its pool must have them all. Free must be what goes first: where slots come free one by one, an app that waited
        for two at once would see each of them lent to the other side.
        """
        if self.pool is None:
            return None
        kind = self.sizes[app.id].category
        if kind in self._blocked and app.priority <= self._blocked[kind].priority:
            return _behind(app, self._blocked[kind], f"the {kind.name.lower()} pool", position)
        pools = self._pools(app.priority)
        need = self._need(app, pools)
        if app.gang and (verdict := self._beyond_all(app, position)) is not None:
            return verdict
        free = self._free(pools)
        alone = sum(self._occupied.values()) <= TOLERANCE
        if alone or (need <= pools.available(kind) + TOLERANCE and self._first_slots(app, need) <= free + TOLERANCE):
            return None
        self._blocked.setdefault(kind, app)
        numbers: dict[str, object] = {
            "category": kind.name.lower(),
            "size": pools.size(kind),
            "tot": pools.total,
            "occupied": self._occupied[kind],
            "need": need,
        }
        return Verdict(app.id, WaitReason.POOL, numbers, position)

    def _beyond_all(self, app: App, position: int) -> Verdict | None:
        """A gang that asks for more than the queue may ever have."""
        asked = total(group.request * group.total for group in app.groups)
        most = self.queue.capacity.at_least(self.queue.maximum or NOTHING)
        lacking = asked.lacking(most)
        if not lacking:
            return None
        kind = lacking[0]
        numbers = {"ask": asked[kind], "kind": kind, "queue": self.queue.name, "limit": most[kind]}
        return Verdict(app.id, WaitReason.INFEASIBLE, numbers, position)

    def _free(self, pools: Pools) -> float:
        """Slots nobody holds or was promised. A promise beyond its own pool takes nothing from the other one."""
        occupied = {Category.SMALL: pools.small_occupied, Category.LARGE: pools.large_occupied}
        taken = (max(self._charged[kind], min(occupied[kind], pools.size(kind))) for kind in Category)
        return pools.total - sum(taken)

    def _need(self, app: App, pools: Pools) -> float:
        """Slots that must be there before it starts."""
        assert self.pool is not None  # noqa: S101 - callers ask only where a pool guards the queue
        size = self.sizes[app.id]
        r = required(size.demand(app), pools, size.category, gang=app.gang)
        first = slots(size.driver, self.pool.slot) + slots(size.task, self.pool.slot)
        return r if app.gang else min(r, first)

    def _first_slots(self, app: App, need: float) -> float:
        """Slots of what goes first: the driver; all it needs where it has none or goes as a gang."""
        assert self.pool is not None  # noqa: S101 - callers ask only where a pool guards the queue
        driver = self.sizes[app.id].driver
        return need if app.gang or not driver else min(need, slots(driver, self.pool.slot))

    def enter(self, app: App) -> None:
        """Charge an app that starts."""
        size = self.sizes[app.id]
        self.drivers.start(app)
        if size.driver:
            self.means.start_driver(size.driver, size.task)
            self._grounds.enter(app)
        if self.pool is not None:
            self._occupy(app, max(size.committed(app), self._need(app, self._pools())), 0.0)
        share = self._share(app.namespace, self._first(app))
        self.shares[app.namespace] = self.shares.get(app.namespace, 0.0) + share

    # ---- room that nobody before them can use ----------------------------------------------------------------------

    def passed_over(self, starts: Admitted) -> list[App]:
        """Waiting apps that were told to wait for their pool, the budget or somebody before them, in order."""
        held_back = {WaitReason.POOL, WaitReason.BEHIND, WaitReason.BUDGET}
        return [app for app in self.line if (v := starts.verdicts.get(app.id)) is not None and v.reason in held_back]

    def may_backfill(self, app: App, started: Iterable[App], gone: Mapping[tuple[str, str], int]) -> bool:
        """Whether an app may start into room that is left over: nobody's claim on it counts.

        `gone` are the pods that this round has released, by app and group.

        002's reserve is a claim only while started apps have tasks that wait or are still to come. Then a driver must
        leave it untouched; else it must leave room for a task of every driver.
        """
        first = self.first(app)
        if not app.gang and not any(self.seated(app, group) for group in first):
            return False
        if not any(group.role is Role.DRIVER for group in first):
            return True
        other = self.assembling
        if other is not None and other.id != app.id and other.priority >= app.priority:
            return False
        if self.admits(app):
            return True
        return not any(self.wants_tasks(each, gone) for each in started) and self.leaves_a_task(app, started)

    def wants_tasks(self, app: App, gone: Mapping[tuple[str, str], int]) -> bool:
        """Whether tasks of an app wait, or are still to come, and a node could take one beside the drivers."""
        if not self.drivers.serves(app):
            return False
        tasks = [group for group in app.groups if group.role is not Role.DRIVER]
        if not tasks:
            return app.has_driver and any(group.held or group.charged for group in app.groups)
        return any(len(group.held) > gone.get((app.id, group.key), 0) for group in tasks)

    def leaves_a_task(self, app: App, started: Iterable[App]) -> bool:
        """Beside all drivers and this one, the largest task of any of their apps still fits."""
        largest = NOTHING
        for each in (*(other for other in started if _lives(other)), app):
            if (each.has_driver or self.sizes[each.id].driver) and self.drivers.serves(each):
                largest = largest.at_least(self.sizes[each.id].task)
        asked = self.sizes[app.id].driver + largest
        return all((ground.means.charged + asked).fits(ground.capacity) for ground in self._grounds.of(app))

    def assemble(self, started: Iterable[App]) -> None:
        """Keep room for the first app that has waited longer than patience and fits nowhere, until its deadline.

        Its claim lasts one patience and rests for one, so that what never comes together does not idle the nodes.
        """
        for app in (*(each for each in started if self._idle(each)), *self.line):
            if self.deadline(app) is None or app.paused or self.infeasible(app) is not None:
                continue
            if self._keep(app):
                return

    def deadline(self, app: App) -> float | None:
        """Until when an app may keep room that it cannot use yet; None while it may not."""
        periods = int((self._now - app.submitted) / self._patience) if self._patience > 0 else 0
        return app.submitted + (periods + 1) * self._patience if periods % 2 == 1 else None

    def _idle(self, app: App) -> bool:
        """A started app of which no task runs and some wait."""
        tasks = [group for group in app.groups if group.role is not Role.DRIVER]
        return any(group.held for group in tasks) and not any(group.charged for group in tasks)

    def _keep(self, app: App) -> bool:
        """Keep room for an app; False where nothing that is kept could help it."""
        held = [(self.shapes[app.id, group.key], len(group.held)) for group in app.groups if group.held]
        if not held or not self.drivers.serves(app):
            return False
        if app.gang:
            self.assembling = app
            if not self.rooms.holds_all(held):
                self.rooms.take_most(held)
            return True
        if not any(self.rooms.fits(shape) for shape, _ in held):
            row = self.rooms.roomiest(held[0][0], self.drivers.left if self.drivers.known else None)
            if row < 0:
                return False
            self.rooms.close(row)
        self.assembling = app
        return True

    def _first(self, app: App) -> Resources:
        """What the app takes to begin with: its driver and one task."""
        size = self.sizes[app.id]
        return size.driver + size.task

    def _adjust(self) -> Adjustment | None:
        """Algorithm 3, before anybody is let in."""
        pool = self.pool
        if pool is None:
            return None
        pools = Pools(pool.delta, pool.tot, self._occupied[Category.SMALL], self._occupied[Category.LARGE])
        supplies = [Supply(pools.available(kind), pool.releases.get(kind, 0.0)) for kind in Category]
        wants: dict[Category, list[float]] = {kind: [] for kind in Category}
        for app in self.waiting:
            size = self.sizes[app.id]
            wants[size.category].append(required(size.demand(app), pools, size.category, gang=app.gang))
        for app in self.running:
            size = self.sizes[app.id]
            more = size.charged + size.held - size.committed(app)
            if more > TOLERANCE:
                wants[size.category].append(more)
        needs = {kind: self._occupied[kind] + sum(wants[kind]) for kind in Category}
        # What was promised and has no slot any more, because Tot or the border moved, is a demand like any other.
        for kind in Category:
            wants[kind].append(max(0.0, self._occupied[kind] - pools.size(kind)))
        moved = adjust(
            pool.delta,
            pool.tot,
            supplies[0],
            supplies[1],
            wants[Category.SMALL],
            wants[Category.LARGE],
            bounds=(pool.low, pool.high),
        )
        if moved.branch is Branch.BOTH_SHORT:
            border = clip(even(needs[Category.SMALL], needs[Category.LARGE], pool.tot), pool.low, pool.high)
            moved = replace(moved, delta=clip(border, 1 / pool.tot, 1 - 1 / pool.tot))
        self._delta = moved.delta
        return moved

    def _pools(self, priority: int | None = None) -> Pools:
        """The pools as they are; or as an app of this priority sees them: no promise to a lower one counts."""
        assert self.pool is not None  # noqa: S101 - callers ask only where a pool guards the queue
        occupied = [self._occupied[kind] - self._lower(kind, priority) for kind in Category]
        return Pools(self._delta, self.pool.tot, max(0.0, occupied[0]), max(0.0, occupied[1]))

    def _lower(self, kind: Category, priority: int | None) -> float:
        """Slots that apps of lower priority were promised and do not hold."""
        if priority is None:
            return 0.0
        return sum(slots for (side, of), slots in self._promised.items() if side is kind and of < priority)

    def _occupy(self, app: App, committed: float, charged: float) -> None:
        kind = self.sizes[app.id].category
        self._occupied[kind] += committed
        self._promised[kind, app.priority] = self._promised.get((kind, app.priority), 0.0) + committed - charged

    def _estimate(self, result: Admitted, line: Sequence[App]) -> None:
        """When each waiting app's turn comes, if nobody new arrives: what those before it and it need, released."""
        if self.pool is None or not self.pool.outlook:
            return
        pools = self._pools()
        free = max(0.0, self._free(pools))
        needed = 0.0
        for app in line:
            verdict = result.verdicts.get(app.id)
            if verdict is not None and (verdict.refused or verdict.reason is WaitReason.PAUSED):
                continue
            needed += self._need(app, pools)
            seconds = self.waits[app.id] = first_fit(needed, free, self.pool.outlook)
            if verdict is not None:
                result.verdicts[app.id] = Verdict(app.id, verdict.reason, verdict.numbers, verdict.position, seconds)

    def _count(self, app: App, means: RunningMeans) -> None:
        """Charge a started app: its drivers by number and size, its tasks for the means."""
        promised = self.sizes[app.id].task if self.drivers.serves(app) else NOTHING
        for group in app.groups:
            if group.role is Role.DRIVER:
                for _ in range(max(group.charged, 1 if group.held else 0)):
                    means.start_driver(group.request, promised)
            elif group.running:
                means.start_task(group.request, group.running)

    def _charge_shares(self) -> None:
        held: dict[str, dict[str, float]] = {}
        for app in self.running if self.queue.order is Order.FAIR else ():
            sums = held.setdefault(app.namespace, {})
            for group in app.groups:
                for kind, value in group.request.items():
                    sums[kind] = sums.get(kind, 0.0) + value * group.charged
        self.shares = {name: self._share(name, Resources(sums)) for name, sums in held.items()}

    def _share(self, namespace: str, amount: Resources) -> float:
        return amount.share(self.queue.capacity) / max(self.queue.weights.get(namespace, 1.0), TOLERANCE)

    def _in_flight(self) -> int:
        return sum(group.released for app in self.apps for group in app.groups)


def incomplete(app: App, position: int) -> Verdict | None:
    """A gang starts with all of its pods or none, so all must exist first."""
    if not app.gang:
        return None
    expected = sum(group.total for group in app.groups)
    present = sum(len(group.held) + group.charged + group.finished for group in app.groups)
    if present >= expected:
        return None
    return Verdict(app.id, WaitReason.GANG, {"expected": expected, "present": present}, position)


def _lives(app: App) -> bool:
    return any(group.held or group.charged or group.blocked for group in app.groups)


def _behind(app: App, ahead: App, why: str, position: int) -> Verdict:
    return Verdict(app.id, WaitReason.BEHIND, {"ahead": ahead.id, "why": why}, position)


def _fifo(apps: Iterable[App]) -> list[App]:
    return sorted(apps, key=lambda app: (app.submitted, app.id))
