"""What the ledger is told: nodes, the claims of pods on them, readings of their use, and the terms it charges by.

And what it tells of the room on a node, term by term.

Amounts are tuples in the order of the ledger's kinds; `Resources.vector` makes them. D is the declared request, N the
native one that kube-scheduler counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from slackwater.errors import BadNumber, InvalidInput
from slackwater.estimation.margins import Margin, fixed
from slackwater.estimation.mode import ALPHA, Mode
from slackwater.estimation.peaks import MARGIN
from slackwater.estimation.staleness import HEARTBEAT, PATIENCE
from slackwater.resources import CPU, MEMORY, Kinds
from slackwater.roles import Role
from slackwater.validation import TOLERANCE, clip

Amounts = tuple[float, ...]
MANY = 1000.0  # spreads; more are counted only where use does not vary, and its spread is next to nothing


class ClaimState(StrEnum):
    """Where a pod is in its life. It is charged in every one of them."""

    RESERVED = "reserved"  # on its way, not yet seen bound; expires
    BOUND = "bound"
    RUNNING = "running"
    TERMINATING = "terminating"  # still there until the API says it is gone


class PodClaim(NamedTuple):
    """One pod's claim on one node. One is made with every event of a pod, and a dataclass takes four times as long."""

    uid: str
    node: str  # "": reserved, and nobody knows yet where it goes
    declared: Amounts  # D as annotated; charged after clamping to [N, N × c]
    native: Amounts  # N
    role: Role = Role.UNKNOWN
    app: str = ""  # name under which peaks are learned: what the runs of an app share, and its stage
    state: ClaimState = ClaimState.BOUND
    started: float | None = None  # container start, in the clock of sample timestamps
    ceiling: Amounts = ()  # c from the sealed annotation; () means 1: the pod was not shrunk
    managed: bool = True  # False: somebody else's pod; its D is its N and it is not part of the pools
    guaranteed: bool = False  # the kernel kills it last: QoS class Guaranteed, or critical to its node

    def running(self, since: float) -> PodClaim:
        """The same with a container that runs; `_replace` takes three times as long."""
        uid, node, declared, native, role, app, _, _, ceiling, managed, last = self
        return PodClaim(uid, node, declared, native, role, app, ClaimState.RUNNING, since, ceiling, managed, last)

    @property
    def driver(self) -> bool:
        """Whether it is charged in full. Pods of others are counted by what they use, whatever they call themselves."""
        return self.managed and self.role is Role.DRIVER

    @property
    def charged(self) -> Amounts:
        """D clamped to [N, N × c]: nobody can annotate more, or less, than admission allowed."""
        return clamped(self.declared, self.native, self.ceiling) if self.managed else self.native

    def check(self, kinds: Kinds) -> None:
        """Raise a typed error that names the field, if an amount is missing or not a usable number."""
        if not sound(self.declared, self.native, self.ceiling, kinds):
            for name, amounts in (("declared", self.declared), ("native", self.native), ("ceiling", self.ceiling)):
                check_amounts(f"{name} of pod {self.uid}", amounts, kinds, optional=name == "ceiling")


@dataclass(frozen=True, slots=True)
class NodeSpec:
    """One node as the API shows it."""

    name: str
    allocatable: Amounts
    capacity: Amounts = ()  # () is unknown: AR stands in for NC
    eviction: Amounts = ()  # hard eviction thresholds; NC = capacity − eviction
    ready: bool = True
    cordoned: bool = False
    machine: str = ""  # its type; promises are judged by it, too
    created: float = -math.inf  # in the clock of sample timestamps: earlier ones are of another node of its name

    def check(self, kinds: Kinds) -> None:
        """Raise a typed error that names the field, if an amount is missing or not a usable number."""
        check_amounts(f"allocatable of node {self.name}", self.allocatable, kinds)
        check_amounts(f"capacity of node {self.name}", self.capacity, kinds, optional=True)
        check_amounts(f"eviction of node {self.name}", self.eviction, kinds, optional=True)


@dataclass(frozen=True, slots=True)
class Sample:
    """Measured use of one node. NaN: that kind was not measured."""

    stamp: float  # the sample's own timestamp, seconds
    used: Amounts


@dataclass(frozen=True, slots=True)
class LedgerConfig:
    """How a ledger charges."""

    kinds: Kinds = (CPU, MEMORY)
    alpha: float = ALPHA
    # Seconds. Memory learns slowly: a task takes longer to fill its memory than to burn its CPU.
    tau0: Mapping[str, float] = field(default_factory=lambda: {CPU: 1.0, MEMORY: 30.0})
    # AR = allocatable × this (28 of 32 GB in the paper); of CPU, which is compressible, nothing is kept back.
    allowance: float = 0.875
    mode: Mode = Mode.CAPPED
    # A pod of a well-known app is charged at most its app's peak and this share of it, less what the allowance covers
    # (`margins.left_of`); None: requests are believed.
    margin: float | None = MARGIN
    margins: Mapping[str, Margin] = field(default_factory=dict)  # by kind, in place of both of them
    heartbeat: float = HEARTBEAT
    steady: bool = False  # samples come by our own clock: how often is not learned from the gaps between them
    patience: float = PATIENCE
    # The probability that what is promised beyond reservations is exceeded within the horizon (seconds); None: the
    # constants above decide.
    risk: float | None = None
    horizon: float = 600.0
    # Only these are overcommitted. Any other kind (GPUs) counts at what is declared, of all that is allocatable.
    measured: frozenset[str] = frozenset({CPU, MEMORY})
    # Reservations are a floor: what fits by declared requests alone has room. False: the paper's room, often less.
    floor: bool = True

    def kept(self) -> tuple[Margin, ...]:
        """The margin of each kind."""
        believed = self.margin if self.alpha > 0 else None
        return fixed(self.kinds, self.measured if self.alpha > 0 else (), self.allowance, believed, self.margins)


class Basis(StrEnum):
    """Which term decided how much room there is."""

    MEASURED = "measured"  # min(AR, NC) − E − drivers − margin
    STALE = "stale"  # the same, and E is what was reserved, as samples are too old
    FLOOR = "floor"  # allocatable − Σ D: requests leave more than measurement
    KNOWN = "known"  # that, but for pods that are known to use more than they declare
    BOUND = "bound"  # with more room the kernel could kill a pod of somebody else before a task


@dataclass(frozen=True, slots=True)
class NodePromise:
    """The arithmetic of one kind on one node, for people."""

    asked: float  # the risk that was asked for
    realised: float  # the share of promises exceeded of late, on nodes of its type
    compared: float  # promises compared of late
    centre: float  # m
    spread: float  # s
    factor: float  # z; infinite while too little is known
    peak: float  # promised
    least: float = 0.0  # what no promise is below: what is used now, of memory that was read pod by pod nine tenths

    @property
    def beyond(self) -> float:
        """z·s: what is promised beyond what is expected; below 0 where pods come to use less than that."""
        return self.factor * self.spread

    @property
    def steady(self) -> bool:
        """Whether use varies so little that z, as a number of spreads, tells people nothing."""
        return MANY <= abs(self.factor) < math.inf

    @property
    def present(self) -> bool:
        """Whether the least is promised, as more than that is not expected."""
        return self.least > self.centre + self.beyond and not self.cut

    @property
    def cut(self) -> bool:
        """Whether less is promised than expected: what the pods ask for, or use now, is the most."""
        highest = max(self.least, self.centre + self.beyond)
        return self.peak < highest - TOLERANCE * max(1.0, abs(highest))


@dataclass(frozen=True, slots=True)
class RoomLine:
    """The arithmetic of one kind on one node: room = max(min(AR, NC) − E − drivers − margin, floor)."""

    capacity: float  # as the API shows it; 0 is unknown
    allocatable: float
    allowed: float  # AR
    real: float  # NC
    used: float  # U of the last sample, less the measured use of drivers
    learned: float  # B
    residual: float  # Σ ρ: what is still believed of requests
    reserved: float  # Σ of what pods other than drivers are charged when nothing is measured
    known: float  # Σ of the most that pods other than drivers are charged, by what their apps are known to use
    estimate: float  # E; where samples are stale, at least `reserved`
    declared: float  # Σ D of managed pods
    drivers: float  # Σ over drivers of max(use, D)
    native: float  # Σ N of all pods
    room: float  # may be negative
    stale: bool
    margin: float = 0.0  # kept back beside E for a stated risk; negative where the promise is below E
    promise: NodePromise | None = None  # how that came about; None without a stated risk
    requested: float = 0.0  # allocatable − Σ D of every pod: the floor, unless memory is used above the limit
    bound: float = math.inf  # room ends here, so that the kernel kills tasks before other pods (memory only)
    largest: float = 0.0  # the largest request among those other pods
    crowded: bool = False  # more memory is in use than allowed: neither floor nor promise gives room
    uncovered: float | None = None  # use of the last sample that no request covers; None: E is not made of these
    extra: float = 0.0  # Σ of what the parts of young pods in E lack to what their apps come to use

    @property
    def free(self) -> float:
        """What can still be placed: the room, or 0."""
        return max(self.room, 0.0)

    @property
    def requests(self) -> float:
        """Σ D of every pod."""
        return self.allocatable - self.requested

    @property
    def left(self) -> float:
        """What measurement leaves: the room, where no floor and no bound decides."""
        return min(self.allowed, self.real) - self.estimate - self.drivers - self.margin

    @property
    def withheld(self) -> bool:
        """Whether a promise that would give room gives none, as more is in use than allowed."""
        return self.crowded and not self.stale and self.margin == 0.0

    @property
    def basis(self) -> Basis:
        """Which term decided."""
        hair = TOLERANCE * max(1.0, self.allocatable)
        if self.room > self.bound - hair:
            return Basis.BOUND
        if self.room > self.left + hair:
            return Basis.FLOOR if self.room > self.requested - hair else Basis.KNOWN
        return Basis.STALE if self.stale else Basis.MEASURED

    def told(self) -> dict[str, Any]:
        """Every term and what decided, for whoever puts it into words; None for what is infinite, as JSON has it."""
        terms = {**asdict(self), "basis": self.basis.value, "bound": _finite(self.bound), "withheld": self.withheld}
        if self.promise is not None:
            promise = self.promise
            terms["promise"] |= {
                "present": promise.present,
                "cut": promise.cut,
                "steady": promise.steady,
                "beyond": _finite(promise.beyond),
                "factor": _finite(promise.factor),
            }
        return terms


# A cluster has a few hundred distinct requests: what is computed from them is computed once.
@lru_cache(maxsize=8192)
def clamped(declared: Amounts, native: Amounts, ceiling: Amounts) -> Amounts:
    """D clamped to [N, N × c]."""
    factors = ceiling or (1.0,) * len(native)
    return tuple(clip(d, n, n * max(c, 1.0)) for d, n, c in zip(declared, native, factors, strict=True))


@lru_cache(maxsize=8192)
def sound(declared: Amounts, native: Amounts, ceiling: Amounts, kinds: Kinds) -> bool:
    """Whether all amounts are there and usable; `check_amounts` says which is not."""
    if not len(declared) == len(native) == len(kinds) or len(ceiling) not in (0, len(kinds)):
        return False
    return all(0 <= value < math.inf for value in (*declared, *native, *ceiling))


def check_amounts(name: str, amounts: Amounts, kinds: Kinds, *, optional: bool = False) -> None:
    """Raise unless there is one finite amount of at least 0 for every kind (or none at all, if optional)."""
    if optional and not amounts:
        return
    if len(amounts) != len(kinds):
        raise InvalidInput(name, f"{len(amounts)} amounts, {len(kinds)} kinds", f"give one each of {', '.join(kinds)}")
    for kind, value in zip(kinds, amounts, strict=True):
        if not 0 <= value < math.inf:
            raise BadNumber(f"{name}: {kind}", value, "give a finite number of at least 0")


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
