"""Which waiting apps start now: driver admission (002), then the pool (004). An app passes both or holds nothing.

Order: PriorityClass, small before large, then FIFO or weighted fair share between namespaces. Nobody overtakes within a
category: an app that must wait for the budget holds back every later driver, one that must wait for its pool
holds back its category. An app that could never run is refused and holds back nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from slackwater.admission.budget import DriverOutcome, DriverVerdict, RunningMeans, WaitingDriver, admit
from slackwater.cycle.grounds import Ground, Grounds
from slackwater.cycle.sizes import measure
from slackwater.cycle.snapshot import App, Order, Pool, Queue, Snapshot
from slackwater.cycle.verdicts import Verdict, WaitReason
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
    slot_count,
    slots,
)
from slackwater.resources import NOTHING, Resources
from slackwater.roles import Role
from slackwater.validation import TOLERANCE, clip


@dataclass(slots=True)
class Admitted:
    """What came of one queue's waiting apps."""

    started: list[App] = field(default_factory=list)
    grown: list[App] = field(default_factory=list)  # started towards nodes that do not exist yet
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    adjustment: Adjustment | None = None


class AdmissionRound:
    """One queue in one round: what is charged already, and the tests a waiting app has to pass."""

    def __init__(self, snapshot: Snapshot, queue: Queue, pool: Pool | None, apps: Sequence[App]) -> None:
        self.queue = queue
        self.pool = pool
        self.apps = apps
        self.sizes = {app.id: measure(app, pool) for app in apps}
        self.running = [app for app in apps if app.started]
        self.waiting = [app for app in apps if not app.started and any(group.held for group in app.groups)]
        self._means: RunningMeans | None = None
        self.shares: dict[str, float] = {}
        self._now, self._patience = snapshot.now, snapshot.patience
        self._grounds = Grounds(snapshot, queue, self.running, self.sizes)
        self._delta = pool.delta if pool else 0.0
        self._charge_shares()
        self._charged = dict.fromkeys(Category, 0.0)  # slots that pods hold
        self._occupied = dict.fromkeys(Category, 0.0)  # and what started apps were promised on top
        for app in self.running:
            size = self.sizes[app.id]
            self._charged[size.category] += size.charged
            self._occupied[size.category] += size.committed(app)
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
        line = self._line(result.adjustment)
        for position, app in enumerate(line, start=1):
            verdict, grows = self._judge(app, position)
            if verdict is not None:
                result.verdicts[app.id] = verdict
                continue
            (result.grown if grows else result.started).append(app)
            self._enter(app)
        self._estimate(result, line)
        return result

    def headroom(self, started: Sequence[App]) -> dict[Category, float] | None:
        """Slots each pool has left for pods of started apps; None where no pool guards the queue.

        By pods, not by commitments: what a started app has not taken yet is its own to take.
        """
        if self.pool is None:
            return None
        pools = self._pools()
        return {kind: self._headroom(kind, pools.size(kind), started) for kind in Category}

    def _headroom(self, kind: Category, size: float, started: Sequence[App]) -> float:
        """An empty pool lets one pod or gang through, however small it is: else what is larger waits for ever."""
        if self._charged[kind] > 0 or self.pool is None:
            return max(0.0, size - self._charged[kind])
        mine = [app for app in started if self.sizes[app.id].category is kind]
        return max(size, min((each for app in mine for each in self._portions(app)), default=0.0))

    def _portions(self, app: App) -> list[float]:
        """Slots of what of the app is released at once: each held pod, or the gang as a whole."""
        size = self.sizes[app.id]
        if app.gang:
            return [size.held] if size.held > 0 else []
        return [each for each, group in zip(size.slots, app.groups, strict=True) if group.held]

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
        if (verdict := _gang(app, position)) is not None:
            return verdict, False
        grows = False
        if any(group.role is Role.DRIVER and group.held for group in app.groups):
            verdict, grows = self._admit(app, position)
            if verdict is not None:
                return verdict, False
        return (None, True) if grows else (self._pass_pool(app, position), False)

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
            numbers = {"ask": short.needed, "kind": short.kind, "queue": self.queue.name, "limit": short.left}
            return Verdict(app.id, WaitReason.INFEASIBLE, numbers, position), False
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
        for ground in self._grounds.of(app):
            candidate = WaitingDriver(app.id, size.driver, self._task(app, ground))
            answer = admit(candidate, ground.means, ground.capacity, self.queue.maximum or ground.most)
            if not answer.admitted:
                break
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

    def _pass_pool(self, app: App, position: int) -> Verdict | None:
        """004: a gang needs all of its slots, any other app a driver and one task; the rest follows pod by pod."""
        if self.pool is None:
            return None
        kind = self.sizes[app.id].category
        if kind in self._blocked and app.priority <= self._blocked[kind].priority:
            return _behind(app, self._blocked[kind], f"the {kind.name.lower()} pool", position)
        pools = self._pools()
        need = self._need(app, pools)
        most = max(pools.total, slot_count(self.queue.maximum or self.queue.capacity, self.pool.slot))
        if app.gang and need > most + TOLERANCE:
            numbers: dict[str, object] = {"ask": need, "kind": "slots", "queue": self.queue.name, "limit": most}
            return Verdict(app.id, WaitReason.INFEASIBLE, numbers, position)
        free = self._free(pools)
        alone = sum(self._occupied.values()) <= TOLERANCE
        if alone or (need <= pools.available(kind) + TOLERANCE and need <= free + TOLERANCE):
            return None
        self._blocked.setdefault(kind, app)
        numbers = {
            "category": kind.name.lower(),
            "size": pools.size(kind),
            "tot": pools.total,
            "occupied": self._occupied[kind],
            "need": need,
        }
        return Verdict(app.id, WaitReason.POOL, numbers, position)

    def _free(self, pools: Pools) -> float:
        """Slots nobody holds or was promised. A promise beyond its own pool takes nothing from the other one."""
        taken = (max(self._charged[kind], min(self._occupied[kind], pools.size(kind))) for kind in Category)
        return pools.total - sum(taken)

    def _need(self, app: App, pools: Pools) -> float:
        """Slots that must be there before it starts."""
        assert self.pool is not None  # noqa: S101 - callers ask only where a pool guards the queue
        size = self.sizes[app.id]
        r = required(size.demand(app), pools, size.category, gang=app.gang)
        first = slots(size.driver, self.pool.slot) + slots(size.task, self.pool.slot)
        return r if app.gang else min(r, first)

    def _enter(self, app: App) -> None:
        size = self.sizes[app.id]
        if size.driver:
            self.means.start_driver(size.driver, size.task)
            self._grounds.enter(app)
        if self.pool is not None:
            self._occupied[size.category] += max(size.committed(app), self._need(app, self._pools()))
        share = self._share(app.namespace, self._first(app))
        self.shares[app.namespace] = self.shares.get(app.namespace, 0.0) + share

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

    def _pools(self) -> Pools:
        assert self.pool is not None  # noqa: S101 - callers ask only where a pool guards the queue
        return Pools(self._delta, self.pool.tot, self._occupied[Category.SMALL], self._occupied[Category.LARGE])

    def _estimate(self, result: Admitted, line: Sequence[App]) -> None:
        """When each waiting app's turn comes, if nobody new arrives: what those before it and it need, released."""
        if self.pool is None or not self.pool.outlook:
            return
        pools = self._pools()
        free = max(0.0, self._free(pools))
        needed = 0.0
        for app in line:
            verdict = result.verdicts.get(app.id)
            if verdict is None or verdict.refused or verdict.reason is WaitReason.PAUSED:
                continue
            needed += self._need(app, pools)
            seconds = first_fit(needed, free, self.pool.outlook)
            result.verdicts[app.id] = Verdict(app.id, verdict.reason, verdict.numbers, verdict.position, seconds)

    def _count(self, app: App, means: RunningMeans) -> None:
        """Charge a started app: its drivers by number and size, its tasks for the means."""
        promised = self.sizes[app.id].task
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


def _gang(app: App, position: int) -> Verdict | None:
    """A gang starts with all of its pods or none, so all must exist first."""
    if not app.gang:
        return None
    expected = sum(group.total for group in app.groups)
    present = sum(len(group.held) + group.charged + group.finished for group in app.groups)
    if present >= expected:
        return None
    return Verdict(app.id, WaitReason.GANG, {"expected": expected, "present": present}, position)


def _behind(app: App, ahead: App, why: str, position: int) -> Verdict:
    return Verdict(app.id, WaitReason.BEHIND, {"ahead": ahead.id, "why": why}, position)


def _fifo(apps: Iterable[App]) -> list[App]:
    return sorted(apps, key=lambda app: (app.submitted, app.id))
