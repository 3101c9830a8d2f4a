"""What is shown, as plain frozen values: nodes, apps, queues, pools, courses over time and bars of a Gantt chart.

Amounts are floats by kind of resource: cores, bytes, pieces. Times are Unix seconds, or seconds of virtual time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from slackwater_cluster.governance import first_pools
from slackwater_simulator.charts.amounts import percent, unit_of

Amounts = Mapping[str, float]
QUIET = "nothing has come to its queue or started there for longer than was expected"
NO_MORE = "has started; when further pods of an app go is not forecast: they go as room comes"
LATE = "it has waited for longer than was expected; the operator has not said more since"


@dataclass(frozen=True, slots=True)
class Node:
    """A node's ledger in short."""

    name: str
    allocatable: Amounts = field(default_factory=dict)
    allowed: Amounts = field(default_factory=dict)  # how far estimates may fill it
    declared: Amounts = field(default_factory=dict)  # what its pods asked for
    used: Amounts = field(default_factory=dict)  # measured
    estimate: Amounts = field(default_factory=dict)  # what its pods are believed to use
    room: Amounts = field(default_factory=dict)
    open: bool = True  # takes pods
    stale: bool = False  # its samples are too old to be believed
    pods: int | None = None


SOON = 0.5  # seconds: an app that starts sooner starts at once, for people


@dataclass(frozen=True, slots=True)
class Start:
    """When an app is expected to start, in seconds from now: four in five between low and high; or why not known."""

    low: float | None = None
    middle: float | None = None
    high: float | None = None
    source: str = ""  # releases or pace
    unknown: str = ""

    def after(self, age: float) -> Start:
        """The same forecast for a reader who comes so many seconds later."""
        if self.low is None or self.middle is None or self.high is None:
            return self
        if age >= self.high:
            return Start(unknown=LATE)
        low, middle = max(0.0, self.low - age), max(0.0, self.middle - age)
        return replace(self, low=low, middle=middle, high=self.high - age)

    @property
    def known(self) -> bool:
        """Whether there is an interval."""
        return self.low is not None and self.middle is not None and self.high is not None

    @property
    def sentence(self) -> str:
        """The interval and its middle; or that it is not known yet, and why."""
        if not self.known:
            return f"not known yet: {self.unknown or 'the operator has not said when'}"
        likely = f"in about {_round(self.middle)}" if self.middle and self.middle >= SOON else "at once"
        return f"in {self.span}, most likely {likely} (4 of 5 starts are within such an interval)"

    @property
    def span(self) -> str:
        """From when to when, for a table."""
        return f"{_round(self.low)} to {_round(self.high)}" if self.known else "–"


def _round(span: float | None) -> str:
    """To two digits: an interval that is as wide as what it tells is not known to a tenth of a second."""
    size, unit = unit_of(span or 0.0)
    return f"{float(f'{(span or 0.0) / size:.2g}'):g} {unit}"


@dataclass(frozen=True, slots=True)
class App:
    """Where an app stands and why."""

    namespace: str
    name: str  # id within the namespace
    phase: str = ""
    queue: str = ""
    framework: str = ""
    category: str = ""
    position: int | None = None
    reason: str = ""
    message: str = ""
    wait: float | None = None  # estimated seconds from now
    wait_error: float | None = None
    start: Start | None = None  # while it waits to
    begins: float | None = None  # seconds until it, or the pod that is looked at, really starts: only a play knows
    pods: Mapping[str, int] = field(default_factory=dict)  # by state: held, released, parked, bound, finished
    declared: Amounts = field(default_factory=dict)
    used: Amounts = field(default_factory=dict)
    efficiency: float | None = None
    submitted: float | None = None
    title: str = ""  # what people call it

    @property
    def shown(self) -> str:
        """What people call it, else its id."""
        return self.title or self.name

    def matches(self, text: str) -> bool:
        """Whether a text is part of its name or its id."""
        return text.lower() in f"{self.namespace}/{self.name} {self.namespace}/{self.title}".lower()

    @property
    def waits(self) -> bool:
        """Whether pods of it are held or on their way."""
        return any(self.pods.get(state, 0) for state in ("held", "released", "parked"))

    @property
    def unforecast(self) -> str:
        """Why nothing is told of when its pods start that wait: it has started, and only that is forecast."""
        return NO_MORE if self.waits and self.start is None and self.phase in ("Started", "Running") else ""

    @property
    def refused(self) -> bool:
        """Whether it will never run, as is known only of a play."""
        return self.phase == "Refused"

    @property
    def over(self) -> bool:
        """Whether nothing of it will run any more."""
        return self.phase == "Finished" or self.refused


@dataclass(frozen=True, slots=True)
class Queue:
    """An admission queue and its test in numbers."""

    name: str
    state: str = "open"
    order: str = "fifo"
    namespaces: Sequence[str] = ()
    capacity: Amounts = field(default_factory=dict)
    reservation: Amounts = field(default_factory=dict)
    budget: Amounts = field(default_factory=dict)
    drivers_running: int = 0
    drivers_waiting: int = 0
    held: int = 0
    released: int = 0
    waiting: int = 0  # apps of which nothing was released yet
    next_small: Start | None = None  # when a small app would start that came next …
    next_large: Start | None = None  # … and a large one
    problem: str = ""  # why it does not work, if so

    @property
    def serves(self) -> str:
        """The namespaces whose apps wait here, in words: without names, those that no other queue names."""
        return ", ".join(self.namespaces) or "all other managed"


@dataclass(frozen=True, slots=True)
class Side:
    """One pool, in slots."""

    occupied: float = 0.0
    available: float = 0.0
    demand: float = 0.0
    forecast: float = 0.0


@dataclass(frozen=True, slots=True)
class Pool:
    """The border between small and large jobs of one queue."""

    name: str
    queue: str = ""
    delta: float | None = None
    total: float | None = 0.0  # slots; not known in a play, whose sides are counted in pods
    small: Side = Side()
    large: Side = Side()
    forecast_error: float = 0.0

    @property
    def border(self) -> str:
        """How much of it small jobs have for themselves."""
        return f"{percent(self.delta)} of {'the' if self.total is None else f'{self.total:.1f}'} slots"


def pool_of(queue: str, pools: Sequence[Pool]) -> Pool | None:
    """The pool that counts for a queue, as operator and extender choose it."""
    name = first_pools((pool.name, pool.queue) for pool in pools).get(queue, "")
    return next((pool for pool in pools if pool.name == name), None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything at one moment. `problems` say what could not be read, one sentence each."""

    at: float
    nodes: Sequence[Node] = ()
    apps: Sequence[App] = ()
    queues: Sequence[Queue] = ()
    pools: Sequence[Pool] = ()
    kinds: Sequence[str] = ("cpu", "memory")
    problems: Sequence[str] = ()
    idle: Mapping[str, float] = field(default_factory=dict)  # cores by cause; empty where nobody counts them

    @property
    def charged(self) -> bool:
        """Whether it is known what nodes are asked for: the extender tells it, the API server only their sizes."""
        return any(node.declared or node.used or node.room for node in self.nodes)

    def total(self, field_name: str, kind: str) -> float:
        """The sum of one field over all nodes."""
        return float(sum(getattr(node, field_name).get(kind, 0.0) for node in self.nodes))


@dataclass(frozen=True, slots=True)
class TimeSeries:
    """The cluster over time: one value per moment for each named line, per kind."""

    time: Sequence[float] = ()
    lines: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)  # kind → line → values


@dataclass(frozen=True, slots=True)
class BorderHistory:
    """How a pool's border moved, and how many slots small and large jobs held."""

    pool: str
    time: Sequence[float]
    delta: Sequence[float]
    small: Sequence[float] = ()
    large: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A pod in an app's Gantt chart; moments that have not come are None."""

    pod: str
    role: str
    stage: str
    node: str
    created: float
    start: float | None
    end: float | None
    phase: str = ""

    def waited_until(self, now: float) -> float:
        """When it started; of one that never did, when it ended, else now."""
        return next((at for at in (self.start, self.end) if at is not None), now)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One line of a race: what is compared, both values in words, and who is ahead."""

    what: str
    theirs: str
    ours: str
    note: str = ""
    better: int = 0  # 1 ours, −1 theirs, 0 level


@dataclass(frozen=True, slots=True)
class SchedulerComparison:
    """The same work under another scheduler, up to the same moment; the curves count apps."""

    rival: str
    name: str
    rows: Sequence[ComparisonRow]
    time: Sequence[float]
    submitted: Sequence[float]
    theirs: Sequence[float]
    ours: Sequence[float]
    nodes: Sequence[tuple[Node, Node]] = ()  # every node under the other scheduler and under ours
    stuck: str = ""  # what the other scheduler came to, where nothing moves there any more


@dataclass(frozen=True, slots=True)
class Player:
    """Where a play is: its moment, its ends, how fast it goes, and the scenes there are."""

    now: float
    begin: float
    end: float
    speed: float
    scene: str = ""
    scenes: Mapping[str, str] = field(default_factory=dict)
