"""What one random world is made of: nodes, queues, apps, visitors, troubles. Plain values, to be shrunk and kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater.resources import Resources

GIB = 2.0**30
GPU = "nvidia.com/gpu"  # the third kind: only some nodes have it, and only some pods ask for it


def amounts(cpu: float, memory: float, gpus: int = 0) -> Resources:
    """What a pod asks for, from cores, GiB and devices."""
    return Resources({"cpu": cpu, "memory": float(int(memory * GIB)), GPU: gpus})


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node: cores, GiB, the label and taint of its group, and what a daemon takes of it."""

    name: str
    cpu: float
    memory: float
    group: str = ""  # label `group`, and the taint's value where it is tainted
    tainted: bool = False
    daemon: float = 0.0  # cores of a pod that is not ours
    gpus: int = 0
    late: float = 0.0  # seconds after which it joins for the first time

    @property
    def labels(self) -> dict[str, str]:
        """By which pods and queues select it."""
        return {"group": self.group} if self.group else {}

    @property
    def size(self) -> Resources:
        """All it offers."""
        return Resources({"cpu": self.cpu, "memory": self.memory * GIB, GPU: self.gpus})


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Equal tasks: how many, how large, how long."""

    tasks: int
    cpu: float
    memory: float
    seconds: float
    gpus: int = 0

    @property
    def size(self) -> Resources:
        """What each of them asks for."""
        return amounts(self.cpu, self.memory, self.gpus)


@dataclass(frozen=True, slots=True)
class AppPlan:
    """One application. Stages follow each other; `upfront`: all their pods exist from the beginning.

    Those of a gang do not follow each other: they are sizes of pods that start together.
    """

    name: str
    stages: tuple[StagePlan, ...]
    namespace: str = "team-0"
    at: float = 0.0
    priority: int = 0
    driver: tuple[float, float] | None = None  # cores and GiB; None: it has no driver
    gang: bool = False
    announces: bool = False
    strict: bool = False
    upfront: bool = False
    group: str = ""  # node selector
    tolerates: bool = False
    cpu_use: float = 0.5  # of what is declared
    memory_use: float = 0.5
    ramp: bool = False  # use grows from nothing to the above over the task's life
    cancelled: float = 0.0  # seconds after which its user deletes the whole of it; 0: never
    withheld: int = 0  # tasks of a gang that are announced and do not come …
    withheld_for: float = 0.0  # … for so many seconds; 0: ever
    run: int = 0  # an app of this name was there before: this one comes …
    after: float = 0.0  # … so many seconds after its end
    tidy: bool = False  # and what is left of its pods is deleted
    uneven: float = 0.0  # the smallest tasks of a stage ask for so much less than its largest, as a share
    ranks: tuple[int, ...] = ()  # priorities that its tasks take in turn; (): all have the app's

    @property
    def tasks(self) -> int:
        """Tasks in all."""
        return sum(stage.tasks for stage in self.stages)


@dataclass(frozen=True, slots=True)
class QueuePlan:
    """A queue, who waits in it, its nodes and whether a pool guards it."""

    name: str
    namespaces: tuple[str, ...] = ()
    group: str = ""  # node selector
    fair: bool = False
    pooled: bool = False
    minimum: float = 0.0  # of delta, as the pool's owner wrote them; 0: not at all
    maximum: float = 0.0
    theta: float = 0.0
    weights: tuple[tuple[str, float], ...] = ()  # of namespaces, under `fair`
    most: float = 0.0  # cores that its nodes may grow to; 0: not stated


@dataclass(frozen=True, slots=True)
class VisitorPlan:
    """A pod of a namespace that is not managed: the stock scheduler binds it, it runs for a while and is gone."""

    name: str
    cpu: float
    memory: float
    at: float
    seconds: float
    gpus: int = 0
    priority: int = 0
    use: float = 0.5  # of what it asks for


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong, when, and for how long.

    node                 it is lost with its pods, and comes back
    operator, extender   the program starts anew
    silence              the extender does not answer
    writes               some writes fail
    cordon, drain        the node takes no new pods; a drained one is emptied, too
    unplug               the node shows no devices, as before its driver for them runs
    unlabel              the node loses the label of its group, on which pods and queues select
    delete, withdraw     the user deletes a pod of the app, before or right after a round: one that waits, else a task
    driver               the user deletes the app's driver
    pause                all pods of the app, and those that it makes, say `slackwater.io/pause`
    halt, close          the queue is paused, or lets only apps go on that have started
    leave                the namespace is not managed
    rewrite              the queue has other terms: whether a pool guards it, bounds of delta, theta, its order
    """

    at: float
    what: str
    node: str = ""
    seconds: float = 0.0
    app: str = ""  # namespace/name
    scope: str = ""  # a queue or a namespace
    terms: QueuePlan | None = None  # of the queue, as they are written for a while


@dataclass(frozen=True, slots=True)
class WorldPlan:
    """A whole world."""

    seed: int
    nodes: tuple[NodePlan, ...]
    apps: tuple[AppPlan, ...]
    queues: tuple[QueuePlan, ...] = (QueuePlan("default"),)
    troubles: tuple[Trouble, ...] = ()
    ceiling_cpu: int = 200  # percent
    ceiling_memory: int = 150
    operator_lag: float = 0.0  # seconds by which each program's watch is behind
    extender_lag: float = 0.0
    start_lag: float = 0.0  # seconds between a bind and the container's start
    measured: bool = True  # whether samples arrive at all
    open_gate: bool = False  # whether tasks may come without a gate while nobody waits, however small the cluster
    pressure: float = 0.0  # seconds for which a node whose kubelet evicted a pod is tainted
    visitors: tuple[VisitorPlan, ...] = ()
    grace: float = 0.0  # seconds that a pod which its user deletes stays on its node

    def queue(self, namespace: str) -> QueuePlan:
        """The queue a namespace waits in: the one that names it, else the one for all others."""
        named = [queue for queue in self.queues if namespace in queue.namespaces]
        return named[0] if named else next(queue for queue in self.queues if not queue.namespaces)

    @property
    def namespaces(self) -> tuple[str, ...]:
        """Every namespace somebody uses."""
        return tuple(sorted({app.namespace for app in self.apps}))


@dataclass(slots=True)
class Failure:
    """What a world showed to be wrong."""

    kind: str
    at: float
    text: str
    numbers: dict[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.kind} at {self.at:g} s: {self.text}"
