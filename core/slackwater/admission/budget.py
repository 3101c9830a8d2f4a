"""Driver admission (paper 002): keep enough of the cluster free of drivers that every running app can run a task.

A driver holds resources while it waits for its tasks. Let in too many and no task ever fits: every app waits for
another one to end. So a share R of each kind is kept for tasks, and a driver starts only if R stays untouched.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from slackwater.resources import MEMORY, NOTHING, Resources, plain
from slackwater.validation import TOLERANCE, amount, positive

_MEBIBYTE = 2.0**20
_GIBIBYTE = 2.0**30


class DriverOutcome(StrEnum):
    """What the admission test says about one app."""

    ADMITTED = "admitted"
    WAITING = "waiting"  # fits an emptier cluster: drivers must end first
    BEYOND_CAPACITY = "beyond-capacity"  # more than all nodes of today: only more nodes help
    INFEASIBLE = "infeasible"  # more than the queue may ever have


@dataclass(frozen=True, slots=True)
class WaitingDriver:
    """An app that asks to start: the declared size of its driver (AMC) and of one of its tasks (TC)."""

    name: str
    driver: Resources
    task: Resources


@dataclass(frozen=True, slots=True)
class Budget:
    """What drivers may use, per kind: capacity C, reservation R, what drivers hold (TotalAMC), and what is left."""

    capacity: Resources
    reserved: Resources
    charged: Resources

    @property
    def left(self) -> Resources:
        """C − R − TotalAMC; negative after the loss of nodes."""
        return self.capacity - self.reserved - self.charged


@dataclass(frozen=True, slots=True)
class Shortage:
    """One kind that refuses: what the app needs of it, and what there is."""

    kind: str
    needed: float
    left: float

    def sentence(self) -> str:
        """For example `cpu: needs 2, 1.5 left`."""
        return f"{self.kind}: needs {in_words(self.kind, self.needed)}, {in_words(self.kind, self.left)} left"


@dataclass(frozen=True, slots=True)
class DriverVerdict:
    """The answer for one candidate, with every number it was made from."""

    outcome: DriverOutcome
    budget: Budget
    shortages: tuple[Shortage, ...] = ()

    @property
    def admitted(self) -> bool:
        """Whether the driver may start now."""
        return self.outcome is DriverOutcome.ADMITTED

    def sentence(self) -> str:
        """The reason with numbers, for people."""
        short = "; ".join(shortage.sentence() for shortage in self.shortages)
        match self.outcome:
            case DriverOutcome.ADMITTED:
                return "the driver fits beside what is reserved for tasks"
            case DriverOutcome.WAITING:
                return f"drivers already use their share, the rest is reserved for tasks ({short})"
            case DriverOutcome.BEYOND_CAPACITY:
                return f"one driver and one task need more than all nodes offer now ({short})"
            case DriverOutcome.INFEASIBLE:
                return f"one driver and one task need more than this queue may ever have ({short})"


def in_words(kind: str, value: float) -> str:
    """A short number for people; bytes of memory in GiB."""
    if kind == MEMORY and abs(value) >= _MEBIBYTE:
        return f"{plain(value / _GIBIBYTE)} GiB"
    return plain(value)


class _Mean:
    """Running sum and count per kind, over the containers that ask for that kind."""

    __slots__ = ("counts", "sums")

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}

    def add(self, size: Resources, count: int = 1) -> None:
        if count <= 0:
            return
        for kind, value in size.items():
            if value < 0:
                amount(f"running[{kind}]", value)
            self.sums[kind] = self.sums.get(kind, 0.0) + value * count
            self.counts[kind] = self.counts.get(kind, 0) + count

    def remove(self, size: Resources) -> None:
        for kind, value in size.items():
            left = self.counts.get(kind, 0) - 1
            if left > 0:
                self.counts[kind] = left
                self.sums[kind] = max(0.0, self.sums[kind] - value)
            else:  # start again at exactly 0, so that rounding never piles up
                self.counts.pop(kind, None)
                self.sums.pop(kind, None)

    def of(self, kind: str) -> float | None:
        count = self.counts.get(kind, 0)
        return self.sums[kind] / count if count else None

    def copy(self) -> _Mean:
        twin = _Mean()
        twin.sums, twin.counts = dict(self.sums), dict(self.counts)
        return twin


class RunningMeans:
    """Who runs now, as sums: O(kinds) to update and to ask.

    Means are taken over the containers that ask for a kind: a cluster where few drivers want a GPU is not one whose
    drivers want a tenth of a GPU. For kinds everybody asks for, this is the paper's mean.
    """

    __slots__ = ("_drivers", "_promised", "_tasks", "drivers")

    def __init__(self) -> None:
        self.drivers = 0
        self._drivers = _Mean()
        self._promised = _Mean()  # the declared task sizes of running apps
        self._tasks = _Mean()

    @classmethod
    def of(cls, apps: Iterable[tuple[Resources, Resources]] = (), tasks: Iterable[Resources] = ()) -> RunningMeans:
        """Count (driver, declared task) of each running app, and the running tasks."""
        means = cls()
        for driver, task in apps:
            means.start_driver(driver, task)
        for task in tasks:
            means.start_task(task)
        return means

    def copy(self) -> RunningMeans:
        """A twin that can be changed without changing this one."""
        twin = RunningMeans()
        twin.drivers = self.drivers
        twin._drivers, twin._promised, twin._tasks = self._drivers.copy(), self._promised.copy(), self._tasks.copy()
        return twin

    def start_driver(self, driver: Resources, task: Resources = NOTHING) -> None:
        """Charge a driver, in full, with the declared size of its tasks."""
        self.drivers += 1
        self._drivers.add(driver)
        self._promised.add(task)

    def end_driver(self, driver: Resources, task: Resources = NOTHING) -> None:
        """Give back what `start_driver` charged."""
        self.drivers = max(0, self.drivers - 1)
        self._drivers.remove(driver)
        self._promised.remove(task)

    def start_task(self, size: Resources, count: int = 1) -> None:
        """Count running tasks of one size."""
        self._tasks.add(size, count)

    def end_task(self, size: Resources) -> None:
        """Forget a task that ended."""
        self._tasks.remove(size)

    @property
    def charged(self) -> Resources:
        """TotalAMC: what all running drivers declared."""
        return Resources(self._drivers.sums)

    def driver_mean(self, kind: str, candidate: WaitingDriver | None) -> float:
        """Mean over running drivers, else the candidate's own."""
        mean = self._drivers.of(kind)
        return mean if mean is not None else _own(candidate, kind, driver=True)

    def task_mean(self, kind: str, candidate: WaitingDriver | None) -> float:
        """Mean over running tasks, else over what running apps declared, else the candidate's own.

        With no driver running the candidate's own size counts: whoever is first decides only about itself, so the
        first feasible app always starts, even while tasks of a lost driver still run.
        """
        if candidate is not None and self.drivers == 0:
            return candidate.task[kind]
        for mean in (self._tasks.of(kind), self._promised.of(kind)):
            if mean is not None:
                return mean
        return _own(candidate, kind, driver=False)

    def kinds(self) -> set[str]:
        """Every kind that somebody running holds or declared."""
        return {*self._drivers.sums, *self._promised.sums, *self._tasks.sums}


def _own(candidate: WaitingDriver | None, kind: str, *, driver: bool) -> float:
    """The candidate's own size, or 0 when nobody asks."""
    if candidate is None:
        return 0.0
    return candidate.driver[kind] if driver else candidate.task[kind]


# Paper 002, eqs 1 and 2:  R = C · TC / (AMC + TC)
def reservation(capacity: float, driver: float, task: float) -> float:
    """What of one kind is kept for tasks, from the (mean) sizes of a driver and of a task."""
    both = driver + task
    return capacity * (task / both) if both > 0 else 0.0


# Paper 002, eq 3:  if R + TotalAMC > C:  R ← min(C, R · (R + TotalAMC) / C)
def scaled(reserved: float, charged: float, capacity: float) -> float:
    """The reservation, raised when drivers already reach into it; never more than there is."""
    if reserved + charged <= capacity:
        return reserved
    return min(capacity, reserved * ((reserved + charged) / capacity)) if capacity > 0 else 0.0


def budget(capacity: Resources, running: RunningMeans, candidate: WaitingDriver | None = None) -> Budget:
    """R and the charge of every kind; without a candidate, as seen by the next one of average size."""
    charged = running.charged
    kinds = {*capacity, *running.kinds()}
    if candidate is not None:
        kinds.update(candidate.driver, candidate.task)
    reserved = {}
    for kind in kinds:
        nominal = capacity[kind]
        if nominal < 0:
            amount(f"capacity[{kind}]", nominal)
        first = reservation(nominal, running.driver_mean(kind, candidate), running.task_mean(kind, candidate))
        reserved[kind] = scaled(first, charged[kind], nominal)
    return Budget(capacity, Resources(reserved), charged)


# Paper 002:  admit if for all k:  C − TotalAMC − AMC ≥ R
def admit(
    candidate: WaitingDriver, running: RunningMeans, capacity: Resources, maximum: Resources | None = None
) -> DriverVerdict:
    """Test one app against nominal capacity. `maximum` is the most its queue may ever have, where that is stated.

    A kind the app asks for neither in its driver nor in its tasks does not refuse it, nor one that the maximum does not
    name.
    """
    _check(candidate)
    held = budget(capacity, running, candidate)
    smallest = candidate.driver + candidate.task
    bounded = Resources({kind: smallest[kind] for kind in maximum or ()})
    if maximum is not None and (lacking := _shortages(bounded, maximum)):
        return DriverVerdict(DriverOutcome.INFEASIBLE, held, lacking)
    if lacking := _shortages(smallest, capacity):
        return DriverVerdict(DriverOutcome.BEYOND_CAPACITY, held, lacking)
    short = tuple(_overdrawn(candidate, held, sorted(smallest)))
    return DriverVerdict(DriverOutcome.WAITING if short else DriverOutcome.ADMITTED, held, short)


def drain(
    waiting: Iterable[WaitingDriver], running: RunningMeans, capacity: Resources, maximum: Resources | None = None
) -> Iterator[tuple[WaitingDriver, DriverVerdict]]:
    """Test a FIFO from its head and stop at the first that must wait: nobody overtakes.

    Charges each admitted driver to `running` (pass a copy to ask "what if"). An app that no emptier cluster could
    serve is refused and does not hold up those behind it.
    """
    for candidate in waiting:
        verdict = admit(candidate, running, capacity, maximum)
        if verdict.admitted:
            running.start_driver(candidate.driver, candidate.task)
        yield candidate, verdict
        if verdict.outcome is DriverOutcome.WAITING:
            return


# Paper 002, eq 4:  score = (1 − (M − M_min) / M_min) · 100 %
def score(makespan: float, best: float) -> float:
    """How near a makespan comes to the best one, in percent; above 100 when it is better still."""
    return (1 - (amount("makespan", makespan) - positive("best", best)) / best) * 100


def _overdrawn(candidate: WaitingDriver, held: Budget, kinds: Iterable[str]) -> Iterator[Shortage]:
    """The kinds of which the driver needs more than is left beside the reservation."""
    for kind in kinds:
        capacity = held.capacity[kind]
        left = capacity - held.reserved[kind] - held.charged[kind]
        if candidate.driver[kind] > left + TOLERANCE * max(1.0, capacity):
            yield Shortage(kind, candidate.driver[kind], left)


def _shortages(need: Resources, room: Resources) -> tuple[Shortage, ...]:
    return tuple(Shortage(kind, need[kind], room[kind]) for kind in need.lacking(room))


def _check(candidate: WaitingDriver) -> None:
    """Resources are finite by construction; here they must also not be negative."""
    for field, size in (("driver", candidate.driver), ("task", candidate.task)):
        for kind, value in size.items():
            if value < 0:
                amount(f"{candidate.name}.{field}[{kind}]", value)
