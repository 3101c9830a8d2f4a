"""What a round decides on: queues, pools, apps and their groups of equal pods, all at one moment.

A shell builds a Snapshot, `cycle.decide` reads it, and nothing in it changes meanwhile. Pods of one app that are
equal (same stage, same role, same request) stand together as one PodGroup: ten thousand held pods are a few
thousand groups, and a decision costs by the group.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from slackwater.admission.capacity import NodeShares
from slackwater.nodetable import NodeTable
from slackwater.pools.pools import Category
from slackwater.resources import NOTHING, Resources
from slackwater.roles import Role
from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]

__all__ = ["App", "Category", "Order", "PodGroup", "Pool", "Queue", "Snapshot"]

_DRIVER = Role.DRIVER  # asked nine times of every group in a round


@dataclass(frozen=True, slots=True)
class PodGroup:
    """Equal pods of one app: same stage, role and declared request."""

    key: str
    role: Role
    request: Resources  # declared, of one pod
    held: Sequence[str] = ()  # uids behind our gate (or parked), in order of creation
    released: int = 0  # gate lifted, not bound yet: charged
    running: int = 0  # bound and not finished
    finished: int = 0
    expected: int = 0  # how many there will be in all, where the app says so
    stage: str = ""
    level: int = 0  # strict DAG: the level of the stage, roots at 0
    early: bool = False  # strict DAG: a stage before it has no pod yet, and is waited for
    waiting: bool = False  # HaSTE: a stage that waits on another one of this app (reduce), not the earliest one
    unplaceable: bool = False  # placement found no node for it lately
    tried: bool = False  # a release of it came to no node before, and what kept that one out may keep out the next
    pausing: bool = False  # so it was, or a release could not be written: for a while others go first
    blocked: int = 0  # pods that may not be released now, by somebody else's gate or as follows: not counted as held
    elsewhere: int = 0  # of the blocked: pods that name another scheduler
    unknown: int = 0  # of the blocked: pods whose owners, or the size of whose app, are still being looked up
    stranded: int = 0  # of the blocked: pods that were released, are bound to no node and could not be parked
    native: Resources | None = None  # what kube-scheduler counts of one pod; None: as declared
    seats: tuple[str, ...] = ()  # drivers: the nodes of those that run or are on their way
    constraints: str = ""  # what it asks of a node beside room, by a name that `Snapshot.reach` knows
    growing: tuple[str, ...] = ()  # of the released: uids of those that wait for nodes that do not exist yet
    in_vain: bool = False  # some of it waited for such nodes, and none came in time

    @property
    def driver(self) -> bool:
        """Whether its pods are drivers."""
        return self.role is _DRIVER

    @property
    def charged(self) -> int:
        """Pods that hold resources, or will within a moment."""
        return self.released + self.running

    @property
    def in_flight(self) -> int:
        """Pods that wait for the scheduler: released, not bound yet, and no growth pods. Those wait for a machine."""
        return self.released - len(self.growing)

    @property
    def growing_in_vain(self) -> int:
        """Pods that wait for a machine again, after none came in time."""
        return len(self.growing) if self.in_vain else 0

    @property
    def on_nodes(self) -> int:
        """Pods that run, or soon will."""
        return self.charged - self.growing_in_vain

    @property
    def unserved(self) -> int:
        """Pods that wait for room; what pauses was let go in vain, and waits for something else."""
        return (0 if self.pausing else len(self.held)) + self.growing_in_vain

    @property
    def together(self) -> int:
        """Those of the group that may come to run at the same time: present and announced."""
        return max(self.expected, len(self.held) + self.blocked + self.charged)

    @property
    def total(self) -> int:
        """All pods of the group, past, present and announced."""
        known = len(self.held) + self.blocked + self.released + self.running + self.finished
        return known if known > self.expected else self.expected  # noqa: FURB136 - asked often, and max() is a call

    @property
    def alive(self) -> bool:
        """Whether there are pods of the group that have not ended."""
        return bool(self.held or self.blocked or self.charged)

    @property
    def ended(self) -> bool:
        """Whether there were pods of the group, and none is left or announced: what they asked for says nothing now."""
        return 0 < self.finished >= self.total


def taken(groups: Iterable[PodGroup]) -> Resources:
    """What pods of these groups take that run or are on their way."""
    return Resources(taken_sums(groups))


def taken_sums(groups: Iterable[PodGroup]) -> dict[str, float]:
    """The same as plain numbers, added in one pass."""
    sums: dict[str, float] = {}
    for group in groups:
        if group.charged:
            for kind, amount in group.request.items():
                sums[kind] = sums.get(kind, 0.0) + amount * group.charged
    return sums


@dataclass(frozen=True, slots=True)
class App:
    """One application and where it stands."""

    id: str
    namespace: str
    submitted: float
    groups: tuple[PodGroup, ...]
    queue: str = "default"
    priority: int = 0
    started: bool = False  # passed admission and pool before; its pods only have to wait for room and order
    category: Category | None = None  # by the most it has wanted so far; None: by its demand
    demand: float | None = None  # slots it wants at once; None: unknown, so it counts as large
    task_request: Resources | None = None  # declared size of a task, before any task exists
    together: int = 1  # tasks that run all at once or not at all, before any task exists
    has_driver: bool = False  # the framework has a driver, even if its pod does not exist yet
    tasks_to_come: bool = False  # its driver will ask for tasks, and nobody knows yet how large they are
    gang: bool = False  # all pods at once or none
    announced: int = 0  # tasks of a gang, of all its groups together; 0: not said
    strict: bool = False  # strict DAG: 003's levels take precedence over 001's preference
    stage: int = 0  # iterative apps: the current stage …
    stages: int = 0  # … of so many; 0 = not iterative
    paused: bool = False
    held_since: float | None = None  # when the oldest of its held pods came; None: when it was submitted
    served: float | None = None  # when a task of it came to its node last; None: none did, or nobody knows
    driver_bound: float | None = None  # when its driver came to its node; None: it did not, or nobody knows
    behind: str = ""  # its driver was given up to end a stall: an app that it was given up for, and that still waits

    @property
    def begins_anew(self) -> bool:
        """Whether its driver waits, is on its way, or came to its node after all tasks, which an earlier one made."""
        drivers = [group for group in self.groups if group.driver]
        if any(group.running for group in drivers):
            return self.served is not None and self.driver_bound is not None and self.served < self.driver_bound
        return any(group.held or group.released for group in drivers)

    @property
    def afar(self) -> bool:
        """Whether its driver, and all else that was let go, waits for machines that do not exist yet.

        Held tasks without a driver wait for the nodes there are, whatever of their app asked for machines.
        """
        grows = any(group.growing for group in self.groups if group.driver)
        return grows and all(group.charged == len(group.growing) for group in self.groups)

    @property
    def tasks(self) -> list[PodGroup]:
        """Its groups of tasks, without those that ended before a driver of it began anew."""
        anew = self.begins_anew
        return [group for group in self.groups if not (group.driver or (anew and group.ended))]

    @property
    def held_pods(self) -> int:
        """Pods of all its groups that are held."""
        return sum([len(group.held) for group in self.groups])

    @property
    def waits(self) -> bool:
        """Whether something of it is held, or waits in vain for a machine."""
        return any(group.held or group.growing_in_vain for group in self.groups)

    @property
    def waits_since(self) -> float:
        """Since when something of it waits: a stage that comes late has not waited since the app was submitted."""
        return self.submitted if self.held_since is None else self.held_since

    @property
    def unserved_since(self) -> float:
        """Since when something of it waits and nothing of it came to a node; not while something is on its way."""
        if any(group.released for group in self.groups):
            return math.inf
        return self.waits_since if self.served is None else max(self.waits_since, self.served)


class Order(StrEnum):
    """How apps of equal priority take turns."""

    FIFO = "fifo"
    FAIR = "fair"  # weighted dominant-resource fairness between namespaces


@dataclass(frozen=True, slots=True)
class Queue:
    """An admission queue over its nodes (002)."""

    name: str
    capacity: Resources  # C of all nodes that its pods can reach together; see admission.capacity
    maximum: Resources | None = None  # what the nodes may grow to; None: capacity is all there will ever be
    free: Resources = NOTHING  # Σ room over those nodes, for the order and for "is there room at all"
    total: Resources = NOTHING  # Σ allocatable, which fitness is normalised by; defaults to the capacity
    order: Order = Order.FIFO
    weights: Mapping[str, float] = field(default_factory=dict)  # per namespace; 1 where not named
    paused: bool = False  # nothing of it is released
    draining: bool = False  # what started may finish, nothing new starts
    pool: str = ""  # the ReservationPool that guards it; "" = none
    growth: int = 4  # pods released towards nodes that do not exist yet, so that an autoscaler sees the need
    nodes: Mask | None = field(default=None, compare=False)  # rows of `Snapshot.nodes` that it selects; None: all
    # What each of those rows adds to C; None: only the sum is known, or the owner stated it.
    shares: NodeShares | None = field(default=None, compare=False)

    @property
    def grows(self) -> bool:
        """Whether nodes may still be added."""
        return self.maximum is not None and not self.maximum.fits(self.capacity)

    def most(self, capacity: Resources) -> Resources:
        """The most that its nodes, or some of them with this capacity, may ever have: what is there, or is to come."""
        return capacity if self.maximum is None else capacity.at_least(self.maximum)

    # max over kinds of amount ÷ capacity, ÷ the namespace's weight (weighted DRF)
    def fair_share(self, namespace: str, amount: Mapping[str, float]) -> float:
        """What an amount is worth to a namespace; of a kind that the queue has none of now, nothing can be shared."""
        share = 0.0
        for kind, value in amount.items():
            if value > 0 and (most := self.capacity[kind]) > 0:
                share = max(share, value / most)
        return share / max(self.weights.get(namespace, 1.0), TOLERANCE)


class PoolScale(NamedTuple):
    """What apps of a pool are counted in, and how small ones are told from large ones."""

    slot: Resources
    nominal: float
    theta: float


@dataclass(frozen=True, slots=True)
class Pool:
    """A reservation pool pair (004): δ·Tot slots for small apps, the rest for large ones."""

    name: str
    slot: Resources  # one container's worth: the median declared task
    tot: float  # slots in all, elastic: slots that pods hold + slots that fit into what is left
    nominal: float  # slots in all by capacity: classifies, so that measured room changes no category
    delta: float = 0.1
    theta: float = 0.1
    low: float = 0.0  # the owner's own bounds of delta, inside [1/Tot, 1 − 1/Tot]
    high: float = 1.0
    releases: Mapping[Category, float] = field(default_factory=dict)  # forecast F1, F2 within the horizon
    # Releases to come, of both pools: (seconds from now, slots); for the wait estimate.
    outlook: tuple[tuple[float, float], ...] = ()

    @property
    def scale(self) -> PoolScale:
        """What its apps are counted in."""
        return PoolScale(self.slot, self.nominal, self.theta)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything one round may know."""

    now: float
    queues: tuple[Queue, ...]
    apps: tuple[App, ...]
    pools: tuple[Pool, ...] = ()
    # An app that waited longer is no longer overtaken by smaller ones, so that a large gang does not starve.
    patience: float = 300.0
    window: int = 200  # pods that may be released but unbound at once, all queues together
    alpha: float | None = None  # HaSTE-A's factor; None: chosen from the share of iterative apps
    preference: bool = True  # 001; False: pods of started apps go first come, first served
    # Node by node: what is left by measurement, of native requests and of declared ones; None: only sums are known.
    nodes: NodeTable | None = field(default=None, compare=False)
    # By a group's `constraints`: the rows of `nodes` that its selector, affinity and tolerations accept. A name that
    # is not here is accepted by all. Whether a node is open now is said by the table.
    reach: Mapping[str, Mask] = field(default_factory=dict, compare=False)
    # What pods that are not ours hold of each node, node × kind, in the table's order; None: nothing is known of any.
    foreign: Floats | None = field(default=None, compare=False)
    reserve: bool = True  # 002 node by node: drivers leave tasks a node; False: they take whatever they fit

    def pool_of(self, queue: Queue) -> Pool | None:
        """The pool that guards a queue; None: none does."""
        return next((pool for pool in self.pools if pool.name == queue.pool), None)
