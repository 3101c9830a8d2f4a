"""Which waiting apps start now: driver admission (002), then the pool (004). An app passes both or holds nothing.

Order: PriorityClass, small before large, then FIFO or weighted fair share between namespaces. An app that must wait for
the budget is before every later driver, one that must wait for its pool is before its category. But a claim counts only
on room in which the claimant could start now: what the apps before it cannot use goes to whoever fits (`may_backfill`).
An app that could never run is refused, holds nothing and is before nobody. The tests themselves are in `appstarts`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from slackwater.admission.budget import DriverOutcome, DriverVerdict, RunningMeans
from slackwater.cycle.appsize import AppSizes
from slackwater.cycle.appstarts.appline import AppLine, FairShares
from slackwater.cycle.appstarts.assembly import Assembly, idle
from slackwater.cycle.appstarts.driverbudget import DriverBudget
from slackwater.cycle.appstarts.emptynodes import EmptyNodes
from slackwater.cycle.appstarts.firsttasks import first_tasks
from slackwater.cycle.appstarts.impossible import PossibleApps, incomplete
from slackwater.cycle.appstarts.nodegrowth import NodeGrowth
from slackwater.cycle.appstarts.ownersbound import OwnersBound
from slackwater.cycle.appstarts.poolslots import PoolSlots
from slackwater.cycle.appverdicts import RESUME_APP, Verdict, WaitReason, apart, describe, enlarged
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.noderooms import NodeRooms
from slackwater.cycle.podline.driverbars import ANYWHERE, Bars
from slackwater.cycle.podline.readiness import stands_aside
from slackwater.cycle.snapshot import App, PodGroup, Pool, Queue, Snapshot
from slackwater.pools.pools import Adjustment, Category
from slackwater.resources import Resources, times
from slackwater.validation import TOLERANCE


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
        driver_nodes: DriverNodes,
        empty: EmptyNodes,
        sizes: AppSizes,
        growth: NodeGrowth,
    ) -> None:
        self.queue, self.pool, self.rooms, self.driver_nodes = queue, pool, rooms, driver_nodes
        self.head, self.facts, self.growth = sizes.head, sizes.facts, growth
        self._possible = PossibleApps(queue, rooms, empty, apps)
        self.shapes, self.apps, self.grows = self._possible.shapes, self._possible.apps, queue.grows
        scale = pool.scale if pool else None
        self.sizes = {app.id: sizes.of(app, scale) for app in self.apps}
        self.line: list[App] = []  # waiting apps in order
        self.waits: dict[str, float | None] = {}  # … and the seconds until their turn comes, as far as they are known
        self.running = [app for app in self.apps if app.started]
        self._arrived = frozenset(growth.with_room)
        self.waiting = [app for app in self.apps if not app.started and self.sizes[app.id].held_pods]
        self._shares = FairShares(queue, self.running)
        self._order = AppLine(queue, self.sizes, self._shares, snapshot.now, snapshot.patience)
        self.budget = DriverBudget(snapshot, queue, self.running, self.sizes, driver_nodes, self._arrived)
        self.assembly = Assembly(rooms, driver_nodes, empty, self.shapes, queue, snapshot.now, snapshot.patience)
        self._slots = PoolSlots(pool, self.sizes, self.running, driver_nodes.serves) if pool else None
        self.bound = OwnersBound(pool, queue.free, self.apps, self.sizes, growth.with_room)
        # Slots of what was released in this round.
        self.spent = self._slots.spent if self._slots else dict.fromkeys(Category, 0.0)
        self.awaited: list[App] = []  # room is kept for the first task of these
        self._blocked: dict[Category | None, App] = {}  # None: whoever waits for the driver budget

    @property
    def means(self) -> RunningMeans:
        """What runs, for the driver budget."""
        return self.budget.means

    @property
    def shares(self) -> dict[str, float]:
        """What each namespace has, in a fair queue."""
        return self._shares.by_namespace

    def admit_in_order(self) -> Admitted:
        """Move the pools' border, then let in whoever passes, in order."""
        result = Admitted(adjustment=self._slots.adjust(self.waiting) if self._slots else None)
        ascending = result.adjustment is not None and result.adjustment.ascending
        self.line = self._order.ordered(self.waiting, ascending=ascending)
        for position, app in enumerate(self.line, start=1):
            verdict, grows = self._judge(app, position)
            if verdict is not None:
                result.verdicts[app.id] = verdict
                continue
            (result.grown if grows else result.started).append(app)
            self.enter(app, grows=grows)
        self._estimate(result)
        return result

    def enter(self, app: App, *, grows: bool = False) -> None:
        """Charge an app that starts; of one that `grows` tasks here lose nothing if it fits no node there is."""
        if not grows or self._fits(app):
            self.budget.enter(app)
        if self._slots is not None:
            self._slots.enter(app)
        self._shares.add(app.namespace, self.sizes[app.id].first)

    def _fits(self, app: App) -> bool:
        """Whether a node has room for a driver of the app: let go for a machine to come, it would be bound there."""
        driver = self.head(app).driver
        return driver is not None and self.rooms.fits(self.shapes[app.id, driver.key])

    def _estimate(self, result: Admitted) -> None:
        """When each waiting app's turn comes, as far as forecasts tell."""
        if self._slots is None:
            return
        said = result.verdicts
        hopes = [app for app in self.line if (v := said.get(app.id)) is None or not _never(v)]
        self.waits = self._slots.waits(hopes)
        for app, seconds in self.waits.items():
            if (verdict := said.get(app)) is not None:
                said[app] = Verdict(app, verdict.reason, verdict.numbers, verdict.position, seconds)

    def headroom(self) -> dict[Category, float] | None:
        """Slots each pool has left for pods of started apps; None where no pool guards the queue."""
        return None if self._slots is None else self._slots.headroom()

    # ---- the tests -------------------------------------------------------------------------------------------------

    def _judge(self, app: App, position: int) -> tuple[Verdict | None, bool]:
        """None: it may start (and whether only towards nodes that do not exist yet). Else why not."""
        if app.paused or self.queue.draining:
            return self._set_aside(app, position), False
        if (verdict := self.infeasible(app, position) or incomplete(app, position)) is not None:
            return verdict, False
        if (verdict := self._aside(app, position) or self._no_node(app, position)) is not None:
            return verdict, False
        if app.behind:
            why = "room, for which a driver of this app was given up"
            return Verdict(app.id, WaitReason.BEHIND, {"ahead": app.behind, "why": why}, position), False
        grows = False
        if self.head(app).driver is not None:
            verdict, grows = self._admit(app, position)
            if verdict is not None:
                return verdict, False
        return (None, True) if grows else (self._pass_pool(app, position) or self._pass_bound(app, position), False)

    def infeasible(self, app: App, position: int = 0) -> Verdict | None:
        """The verdict on an app that no node, or not all nodes together, could ever serve."""
        if self.grows:
            return self._possible.beyond_all(app, position)
        if (verdict := self._possible.too_large(app, position)) is not None:
            return verdict
        driver = self.head(app).driver
        if driver is not None and not app.started and not self.driver_nodes.together(app, driver):
            return self._apart(app, driver, position)
        if not app.gang:
            return None
        tests = (self._possible.gang_too_large, self._possible.beyond_all, self._possible.never_together)
        return next((verdict for test in tests if (verdict := test(app, position)) is not None), None)

    def _apart(self, app: App, driver: PodGroup, position: int) -> Verdict:
        """Driver and task are more than all nodes together, or no node would take the task beside the driver."""
        answer = self.budget.test(app)
        if answer.outcome is DriverOutcome.INFEASIBLE:
            return self._more_than_all(app, answer, position)
        return apart(app.id, self.queue.name, driver.request, self.sizes[app.id].task, position)

    def _more_than_all(self, app: App, answer: DriverVerdict, position: int) -> Verdict:
        short = answer.shortages[0]
        numbers = {"ask": short.needed, "kind": short.kind, "queue": self.queue.name, "limit": short.left}
        numbers["remedy"] = enlarged(self.queue.maximum)
        return Verdict(app.id, WaitReason.INFEASIBLE, numbers, position)

    def _aside(self, app: App, position: int) -> Verdict | None:
        """What was let go in vain, or found no node a moment ago, claims neither budget nor slots nor room meanwhile.

        Where nodes are added, it shows the need.
        """
        first = self.head(app).groups
        reasons = {stands_aside(group) for group in first}
        if not first or None in reasons:
            return None
        if WaitReason.NOT_BOUND in reasons:
            count = sum(len(group.held) for group in first if group.pausing)
            return Verdict(app.id, WaitReason.NOT_BOUND, {"count": count}, position)
        return None if self.grows else self.unplaced_verdict(app, first, position)

    def _no_node(self, app: App, position: int) -> Verdict | None:
        """What fits nowhere now claims nothing: others may go before it. Where nodes are added, it shows the need."""
        first, driver = self.head(app)
        if self.grows or (app.gang and driver is None) or not first:
            return None
        if any(self.seated(app, group) for group in first):
            return None
        return self.no_node_verdict(app, first[0], position)

    def no_node_verdict(self, app: App, group: PodGroup, position: int = 0) -> Verdict:
        """No node has room for a pod of the group; or one has that a driver may not take, because tasks need it."""
        if (fits := self.rooms.rows(self.shapes[app.id, group.key])).any():
            numbers = {"queue": self.queue.name, "claimant": self.bars(app, group).claimant(fits)}
            return Verdict(app.id, WaitReason.LAST_NODE, numbers, position)
        numbers = {"queue": self.queue.name, "ask": describe(group.request)}
        return Verdict(app.id, WaitReason.FRAGMENTED, numbers, position)

    def unplaced_verdict(self, app: App, groups: Sequence[PodGroup], position: int = 0) -> Verdict:
        """Placement found no node for these groups a moment ago; what is true now is said of the first without room."""
        full = next((group for group in groups if not self.seated(app, group)), None)
        if full is not None:
            return self.no_node_verdict(app, full, position)
        what = "all pods of its gang" if app.gang else f"a pod that asks for {describe(groups[0].request)}"
        return Verdict(app.id, WaitReason.UNPLACED, {"what": what}, position)

    def seated(self, app: App, group: PodGroup) -> bool:
        """Whether a node has room for one pod of the group, and a driver may take it."""
        return self.rooms.fits(self.shapes[app.id, group.key], self.bars(app, group).barred)

    def bars(self, app: App, group: PodGroup) -> Bars:
        """Nodes that a driver may not take, because tasks would be left without any."""
        if not group.driver or self.grows:
            return ANYWHERE
        return self.driver_nodes.bars(app, group.request)

    def _set_aside(self, app: App, position: int) -> Verdict:
        if app.paused:
            return Verdict(app.id, WaitReason.PAUSED, {"what": f"app {app.id}", "remedy": RESUME_APP}, position)
        return Verdict(app.id, WaitReason.DRAINING, {"queue": self.queue.name}, position)

    def _admit(self, app: App, position: int) -> tuple[Verdict | None, bool]:
        """002: one reservation for all drivers of the queue. The second value: start it so that nodes are added."""
        if None in self._blocked and app.priority <= self._blocked[None].priority:
            return _behind(app, self._blocked[None], "the driver budget", position), False
        answer = self.budget.test(app)
        if answer.admitted:
            return None, False
        short = answer.shortages[0]
        if answer.outcome is DriverOutcome.INFEASIBLE:
            return self._more_than_all(app, answer, position), False
        self._blocked.setdefault(None, app)
        driver = self.head(app).driver
        if answer.outcome is DriverOutcome.BEYOND_CAPACITY and driver is not None and self.growth.allows(driver):
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

    def admits(self, app: App) -> bool:
        """Whether the budget lets the app's driver in."""
        return self.budget.test(app).admitted

    def _pass_pool(self, app: App, position: int) -> Verdict | None:
        """004: a gang needs all of its slots, any other app a driver and one task; the rest follows pod by pod.

        Its pool must have them all. Free must be what goes first: where slots come free one by one, an app that waited
        for two at once would see each of them lent to the other side. Slots of nodes that may be added are free, too:
        whoever waits for these alone is held by no policy, and shall ask for them.
        """
        if self._slots is None:
            return None
        kind = self.sizes[app.id].category
        if kind in self._blocked and app.priority <= self._blocked[kind].priority:
            return _behind(app, self._blocked[kind], f"the {kind.name.lower()} pool", position)
        pools = self._slots.pools(app.priority, self.growth.slots(self._slots.pool.slot))
        need = self._slots.need(app, pools)
        free = self._slots.free(pools)
        enough = need <= pools.available(kind) + TOLERANCE
        if self._slots.alone or (enough and self._slots.first(app, need) <= free + TOLERANCE):
            return None
        self._blocked.setdefault(kind, app)
        numbers: dict[str, object] = {
            "category": kind.name.lower(),
            "size": pools.size(kind),
            "tot": pools.total,
            "occupied": self._slots.occupied[kind],
            "need": need,
        }
        if enough:
            return Verdict(app.id, WaitReason.LENT, numbers | {"unused": free}, position)
        return Verdict(app.id, WaitReason.POOL, numbers, position)

    def _pass_bound(self, app: App, position: int) -> Verdict | None:
        """An owner's bound of delta: what it keeps from going holds neither budget nor slots, and is before nobody."""
        if not self.bound.binds:
            return None
        side, short = self.sizes[app.id].category, None
        for asked in self._at_first(app):
            if (short := self.bound.enter(side, asked, lambda: self._could_go(app))) is None:
                return None
        return short and Verdict(app.id, WaitReason.POOL, {"category": side.name.lower(), **short._asdict()}, position)

    def _could_go(self, app: App) -> bool:
        """Whether there is room now for what of the app goes first, as in `_at_first`."""
        head = self.head(app)
        if app.gang and head.driver is None:
            return self.rooms.holds_all([(self.shapes[app.id, group.key], len(group.held)) for group in head.groups])
        return any(self.seated(app, group) for group in head.groups)

    def _at_first(self, app: App) -> list[Resources]:
        """What of the app may go first: its driver, all of a gang without one, else a pod of any of its groups."""
        head = self.head(app)
        if app.gang and head.driver is None:
            return [times((group.request, len(group.held)) for group in head.groups)]
        return [group.request for group in head.groups]

    # ---- room that nobody before them can use ----------------------------------------------------------------------

    def passed_over(self, starts: Admitted) -> list[App]:
        """Waiting apps that were told to wait for their pool, the budget or somebody before them, in order."""
        held_back = {WaitReason.POOL, WaitReason.LENT, WaitReason.BEHIND, WaitReason.BUDGET}
        return [app for app in self.line if (v := starts.verdicts.get(app.id)) is not None and v.reason in held_back]

    def reserve(self, started: Iterable[App], gone: Mapping[tuple[str, str], int]) -> Resources | None:
        """What drivers that start into room that is left over must leave for a task; None: all of 002's reserve.

        The reserve is a claim only while started apps have tasks that wait or are still to come. Else there must be
        room for a task of every driver. `gone` are the pods that this round has released, by app and group; an app that
        was let in and of which none went claims nothing.
        """
        went = {app for app, _ in gone}
        run = [each for each in started if (each.started and self.here(each)) or each.id in went]
        if any(self.budget.wants_tasks(each, gone) for each in run):
            return None
        return self.budget.largest_task(run)

    def here(self, app: App) -> bool:
        """Whether a started app has something on the nodes there are, or is about to: not only on machines to come."""
        return not app.afar or any(uid in self._arrived for group in app.groups for uid in group.growing)

    def may_backfill(self, app: App, reserve: Callable[[], Resources | None]) -> bool:
        """Whether an app may start into room that is left over: nobody's claim on it counts."""
        head = self.head(app)
        if not app.gang and not any(self.seated(app, group) for group in head.groups):
            return False
        if head.driver is None:
            return True
        if self._in_the_way(app, head.driver):
            return False
        if self.admits(app):
            return True
        task = reserve()
        return task is not None and self.budget.leaves_a_task(app, task)

    def _in_the_way(self, app: App, driver: PodGroup) -> bool:
        """Whether a driver could take a node on which an app that is being assembled, no less urgent, could start."""
        other = self.assembly.app
        if other is None or other.id == app.id or other.priority < app.priority:
            return False
        return self.assembly.could_use(other, self.queue, self.rooms.rows(self.shapes[app.id, driver.key]))

    def leaves(self, app: App, *, bounded: bool) -> bool:
        """Whether its pool leaves anything to some held pod of an app: its owner's bounds and, `bounded`, its border.

        No is certain, and told without a line of the app's pods: very many apps may wait for a pool that is full.
        """
        size, headroom = self.sizes[app.id], self.headroom() if bounded else None
        left = math.inf if headroom is None else headroom[size.category] + TOLERANCE
        return any(
            slots <= left and (app.gang or self.bound.could_allow(size.category, group.request))
            for group, slots in zip(app.groups, size.slots, strict=True)
            if group.held
        )

    def awaits(self, snapshot: Snapshot, gone: Collection[str]) -> list[tuple[App, PodGroup]]:
        """First tasks of drivers that have just started; `gone`: apps that this round released."""
        return first_tasks(snapshot, self.queue, self.apps, self.facts, gone)

    def keep(self, coming: Sequence[tuple[App, PodGroup]]) -> None:
        """Keep room for these first tasks, as far as there is any."""
        shapes = self.rooms.shapes(self.queue, [task for _, task in coming])
        seats = self.rooms.keep_most([(shape, 1) for shape in shapes])
        self.awaited += [app for (app, _), seat in zip(coming, seats, strict=True) if seat]

    def overdue(self, started: Iterable[App]) -> Iterable[App]:
        """Apps that have waited longer than patience, in order; room is kept for the first that fits nowhere."""
        for app in (*(each for each in started if idle(each)), *self.line):
            if self.assembly.may_claim(app) and self.infeasible(app) is None:
                yield app


def _never(verdict: Verdict) -> bool:
    return verdict.refused or verdict.reason is WaitReason.PAUSED


def _behind(app: App, ahead: App, why: str, position: int) -> Verdict:
    return Verdict(app.id, WaitReason.BEHIND, {"ahead": ahead.id, "why": why}, position)
