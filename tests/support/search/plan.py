"""What one random world is made of: nodes, queues, apps, troubles. Plain values, so that it can be shrunk and kept."""

from __future__ import annotations

from dataclasses import dataclass, field

from slackwater.resources import Resources

GIB = 2.0**30


@dataclass(frozen=True, slots=True)
class NodePlan:
    """One node: cores, GiB, the label and taint of its group, and what a daemon takes of it."""

    name: str
    cpu: float
    memory: float
    group: str = ""  # label `group`, and the taint's value where it is tainted
    tainted: bool = False
    daemon: float = 0.0  # cores of a pod that is not ours

    @property
    def size(self) -> Resources:
        """All it offers."""
        return Resources(cpu=self.cpu, memory=self.memory * GIB)


@dataclass(frozen=True, slots=True)
class StagePlan:
    """Equal tasks: how many, how large, how long."""

    tasks: int
    cpu: float
    memory: float
    seconds: float


@dataclass(frozen=True, slots=True)
class AppPlan:
    """One application. Stages follow each other; `upfront`: all their pods exist from the beginning."""

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


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong, when, and for how long."""

    at: float
    what: str  # "node", "operator", "extender", "silence" (the extender does not answer), "writes" (they fail)
    node: str = ""
    seconds: float = 0.0


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
