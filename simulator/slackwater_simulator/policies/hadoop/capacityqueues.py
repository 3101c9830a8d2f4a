"""Capacity's queue tree: guarantees, maxima, users and the limit on drivers.

Numbers follow Hadoop 3.3: a user's limit, the share for drivers rounded up to the smallest allocation, and a first
application that is always let in (otherwise a small limit would stop a queue for ever).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from slackwater.errors import InvalidInput, UnknownName
from slackwater_simulator.policies.base import Queue
from slackwater_simulator.policies.hadoop.calculators import Amounts, Calculator, plus, scaled

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import App

ROOT = "root"


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """One queue as an administrator writes it; percentages are of the parent queue."""

    capacity: float = 100.0
    maximum: float = 100.0
    user_limit_factor: float = 1.0  # how much of the queue one user may take; −1: no limit
    minimum_user_limit: float = 100.0  # percent of the queue a user is entitled to while others wait too
    maximum_am_percent: float = 0.1  # share of the queue that drivers may hold


class User:
    """What one user holds in one queue."""

    __slots__ = ("drivers", "used", "waiting")

    def __init__(self, kinds: int) -> None:
        self.used = [0.0] * kinds
        self.drivers = [0.0] * kinds
        self.waiting = 0  # active applications that wait for containers


class CapacityQueue:
    """A node of the tree. Leaves hold applications."""

    def __init__(
        self, path: str, settings: QueueSettings, parent: CapacityQueue | None, calculator: Calculator
    ) -> None:
        self.path = path
        self.settings = settings
        self.parent = parent
        self.calculator = calculator
        self.children: list[CapacityQueue] = []
        kinds = len(calculator.total)
        self.share: float = settings.capacity / 100.0 * (parent.share if parent else 1.0)
        self.ceiling: float = settings.maximum / 100.0 * (parent.ceiling if parent else 1.0)
        self.used = [0.0] * kinds
        self.drivers = [0.0] * kinds  # held by, or promised to, drivers of active applications
        self.limit: Amounts = [0.0] * kinds  # what the queue could grow to, as of the last time it was looked at
        self.users: dict[str, User] = {}
        self.inactive: list[App] = []  # submitted, but over the drivers' limit
        self.active = 0
        self.queue = Queue()
        self.resize()

    def resize(self) -> None:
        """The cluster's size has changed."""
        self.guarantee = scaled(self.calculator.total, self.share)
        self.maximum = self.calculator.down(scaled(self.calculator.total, self.ceiling))

    def pressure(self) -> tuple[float, float]:
        """Order among siblings: the least used relative to its guarantee first, then the larger one."""
        guarantee = self.calculator.size(self.guarantee)
        return (self.calculator.size(self.used) / guarantee if guarantee > 0 else float("inf"), -self.share)

    def child_limit(self, child: CapacityQueue, limit: Amounts) -> Amounts:
        """How far a child may grow: own limit − own use + the child's use, rounded down."""
        mine = self.calculator.smaller(limit, self.maximum)
        room = [m - u + c for m, u, c in zip(mine, self.used, child.used, strict=True)]
        return self.calculator.down(room)

    def charge(self, user: str, amounts: Amounts, sign: float) -> None:
        """Add to (or take from) what the user, this queue and its parents hold."""
        held = self.user(user).used
        for kind, amount in enumerate(amounts):
            held[kind] += sign * amount
        queue: CapacityQueue | None = self
        while queue is not None:
            for kind, amount in enumerate(amounts):
                queue.used[kind] += sign * amount
            queue = queue.parent

    def user(self, name: str) -> User:
        """The user's record."""
        if name not in self.users:
            self.users[name] = User(len(self.used))
        return self.users[name]

    def user_limit(self) -> Amounts:
        """What a user with waiting applications may hold (UsersManager.computeUserLimit)."""
        calc, settings = self.calculator, self.settings
        if len(self.users) == 1 and calc.inside(self.maximum, self.guarantee) and settings.user_limit_factor >= 1:
            return self.maximum  # one user in a queue that cannot grow: only the queue's own limit matters
        capacity = calc.larger(self.guarantee, calc.least)
        consumed = calc.up(self.used)
        current = capacity if calc.over(capacity, consumed) else plus(consumed, calc.least)
        waiting = [user for user in self.users.values() if user.waiting]
        shared: Amounts = calc.least
        for user in waiting:
            shared = plus(shared, user.used)
        fair = scaled(shared, 1.0 / max(1, len(waiting)))
        entitled = scaled(current, settings.minimum_user_limit / 100.0)
        most = self.maximum if settings.user_limit_factor < 0 else scaled(capacity, settings.user_limit_factor)
        return calc.up(calc.smaller(calc.larger(fair, entitled), most))

    def drivers_limit(self) -> Amounts:
        """am-percent × max(guarantee, current limit), rounded up."""
        usable = self.limit if self.calculator.inside(self.guarantee, self.limit) else self.guarantee
        return self.calculator.up(scaled(usable, self.settings.maximum_am_percent))

    def user_drivers_limit(self) -> Amounts:
        """The same formula for one user: × max(minimum user limit, 1 / waiting users) × user-limit-factor."""
        settings = self.settings
        waiting = sum(1 for user in self.users.values() if user.waiting)
        effective = min(1.0, max(settings.minimum_user_limit / 100.0, 1.0 / max(1, waiting)))
        factor = effective * settings.user_limit_factor if settings.user_limit_factor >= 0 else 1.0
        limit = self.calculator.up(scaled(self.guarantee, settings.maximum_am_percent * factor))
        return self.calculator.smaller(limit, self.drivers_limit())

    def activate(self) -> list[App]:
        """Let in as many applications as the drivers' limits allow, at least one if none is in."""
        queue_limit, user_limit = self.drivers_limit(), self.user_drivers_limit()
        entered: list[App] = []
        for app in self.inactive:
            wanted = app.master.shape if app.master is not None else (0.0,) * len(self.used)
            user = self.user(app.job.user)
            over = not self.calculator.inside(plus(self.drivers, wanted), queue_limit)
            over = over or not self.calculator.inside(plus(user.drivers, wanted), user_limit)
            if over and self.active:
                continue
            entered.append(app)
            self.active += 1
            self._hold(user, wanted, 1.0)
        if entered:
            left = set(map(id, entered))
            self.inactive = [app for app in self.inactive if id(app) not in left]
        return entered

    def leave(self, app: App) -> None:
        """An active application is over."""
        self.active -= 1
        wanted = app.master.shape if app.master is not None else (0.0,) * len(self.used)
        self._hold(self.user(app.job.user), wanted, -1.0)

    def _hold(self, user: User, wanted: Amounts, sign: float) -> None:
        for kind, amount in enumerate(wanted):
            self.drivers[kind] += sign * amount
            user.drivers[kind] += sign * amount

    def leaves(self) -> Iterator[CapacityQueue]:
        """All leaves below (or this one)."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()


def tree(queues: Mapping[str, Mapping[str, Any]], defaults: Mapping[str, Any], calculator: Calculator) -> CapacityQueue:
    """The tree from dotted paths below root, such as {"a": {"capacity": 40}, "b": {"capacity": 60}, "b.x": {…}}."""
    root = CapacityQueue(ROOT, QueueSettings(), None, calculator)
    made = {ROOT: root}
    for path in sorted(queues, key=lambda path: (path.count("."), list(queues).index(path))):
        parent = made.get(path.rpartition(".")[0] or ROOT)
        if parent is None:
            raise UnknownName(f"queues: parent of {path}", path.rpartition(".")[0], made)
        made[path] = CapacityQueue(path, _settings(path, {**defaults, **queues[path]}), parent, calculator)
        parent.children.append(made[path])
    for queue in made.values():
        _check(queue)
    return root


def _settings(path: str, values: Mapping[str, Any]) -> QueueSettings:
    known = {field.name for field in fields(QueueSettings)}
    for name in values:
        if name not in known:
            raise UnknownName(f"queues: {path}", name, known)
    return QueueSettings(**values)


def _check(queue: CapacityQueue) -> None:
    total = sum(child.settings.capacity for child in queue.children)
    if queue.children and abs(total - 100.0) > 1e-6:
        raise InvalidInput(f"queues: {queue.path}", f"the capacities below it add up to {total:g} %", "make them 100 %")
