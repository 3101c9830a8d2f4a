"""AdmissionQueue: who waits where, for which nodes, and in which order (paper 002)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from slackwater_cluster.customresources.base import Amounts, Conditions, ObservedGeneration, Part, refined, rule
from slackwater_cluster.customresources.trackedapp import Start


class CapacitySource(StrEnum):
    """Where the capacity C of the admission test comes from."""

    NODES = "nodes"
    STATED = "stated"


class QueueOrder(StrEnum):
    """The order among waiting apps of equal priority."""

    FIFO = "fifo"
    FAIR = "fair"


class QueueState(StrEnum):
    """Whether the queue lets go: everything, nothing, or only what belongs to apps already started."""

    OPEN = "open"
    PAUSED = "paused"
    DRAINING = "draining"


class Capacity(Part):
    """What the admission test counts as capacity."""

    model_config = refined(
        rule(
            "self.source != 'stated' || size(self.maximum) > 0",
            "source stated counts exactly what maximum says, and maximum is empty; "
            "write for example maximum: {cpu: 64, memory: 256Gi}, or use source nodes",
        )
    )

    source: CapacitySource = Field(
        default=CapacitySource.NODES,
        description="nodes: allocatable of Ready, selected nodes less what unmanaged pods request; "
        "stated: maximum, and of kinds that it does not name what the nodes have.",
    )
    maximum: Amounts = Field(
        default_factory=dict,
        description="What the nodes of this queue may grow to (an autoscaled pool at its largest); it takes nothing "
        "from nodes that are there. A job that asks for more than both is refused as infeasible; where none is stated, "
        "one that asks for more than all nodes of the queue together.",
    )


class Release(Part):
    """How many pods may be on their way at once, and for how long."""

    model_config = refined(
        rule(
            "self.unschedulableSeconds < self.timeoutSeconds",
            "unschedulableSeconds must be below timeoutSeconds: a pod is moved to another node before it is parked",
        )
    )

    timeout_seconds: float = Field(
        default=60, ge=5, le=86400, description="A pod not bound by then is parked: its share goes to others."
    )
    unschedulable_seconds: float = Field(
        default=5,
        ge=1,
        le=3600,
        description="An Unschedulable pod gets another node after this time, or is parked where none has room.",
    )
    nominate: bool = Field(
        default=True,
        description="Name a node for each pod before it is let go (two writes). false: the gate only (one write), for "
        "queues where order and node do not matter; the scheduler then searches by itself.",
    )


class Stall(Part):
    """What is done when no task runs, nothing is free and tasks wait."""

    after_seconds: float = Field(default=60, ge=10, le=86400, description="How long it must last to be called so.")
    evict_youngest_driver: bool = Field(
        default=False,
        description="Evict the youngest driver that a controller brings back, or the youngest task that waits for a "
        "held stage of its own app; never a bare pod.",
    )


class Relief(Part):
    """What is done when the measured memory of a node nears its limit. Nothing more is placed there in any case."""

    memory_percent: int = Field(
        default=95,
        ge=50,
        le=100,
        description="From this share of its allocatable memory on, used by everything on it, a node counts as near. "
        "Keep it above the policy's allowance (87.5 %), up to which placements go on.",
    )
    evict_youngest_task: bool = Field(
        default=False,
        description="Evict the youngest task there that uses more memory than it declared and that a controller "
        "brings back, one per node and fresh sample; never a driver, never a bare pod. Mode enforce only.",
    )


Weight = Annotated[int, Field(ge=1, le=1000)]


class AdmissionQueueSpec(Part):
    """Which apps wait here, for which nodes, in which order."""

    model_config = refined(
        rule(
            "self.order == 'fair' || size(self.weights) == 0",
            "weights are used by order fair only; set order to fair or remove weights",
        ),
        rule(
            "size(self.namespaces) == 0 || self.weights.all(n, n in self.namespaces)",
            "weights names a namespace that this queue does not serve; add it to namespaces or remove its weight",
        ),
        rule(
            "self.namespaces.all(n, self.namespaces.exists_one(m, m == n))",
            "a namespace stands twice in namespaces; name each once",
        ),
    )

    namespaces: list[str] = Field(
        default_factory=list,
        max_length=100,
        description="Namespaces whose apps wait here; empty takes every managed namespace no other queue names.",
        json_schema_extra={"items": {"type": "string", "maxLength": 63}},
    )
    node_selector: Mapping[str, str] = Field(
        default_factory=dict, description="Labels of the nodes this queue may use; empty means all nodes."
    )
    capacity: Capacity = Field(default_factory=Capacity, description="What the admission test counts.")
    order: QueueOrder = Field(default=QueueOrder.FIFO, description="Order among apps of equal PriorityClass.")
    weights: Mapping[str, Weight] = Field(
        default_factory=dict,
        description="Share of each namespace under order fair; 1 where none is given.",
        json_schema_extra={"maxProperties": 100},
    )
    state: QueueState = Field(
        default=QueueState.OPEN, description="open, paused (nothing new), draining (started apps only)."
    )
    release: Release = Field(default_factory=Release, description="How pods are let go.")
    growth_pods: int = Field(
        default=8,
        ge=0,
        le=1000,
        description="Pods released although no node has room, so that a cluster autoscaler sees the need; "
        "used only while maximum allows more than the nodes have. 0 switches it off.",
    )
    stall: Stall = Field(default_factory=Stall, description="What a true stall leads to.")
    relief: Relief = Field(default_factory=Relief, description="What memory that runs out on a node leads to.")


class AdmissionQueueStatus(Part):
    """The admission test in numbers."""

    observed_generation: ObservedGeneration = None
    conditions: Conditions = Field(default_factory=list)
    capacity: Amounts = Field(default_factory=dict, description="C: what the test counts now.")
    reservation: Amounts = Field(default_factory=dict, description="R: what is kept free for tasks (equation 2, 3).")
    budget: Amounts = Field(default_factory=dict, description="C − R − drivers: what further drivers may take.")
    drivers_running: int = Field(default=0, ge=0, description="Drivers released or running.")
    drivers_waiting: int = Field(default=0, ge=0, description="Drivers held.")
    pods_held: int = Field(default=0, ge=0, description="All pods held, tasks included.")
    pods_released: int = Field(default=0, ge=0, description="Pods released and not yet bound.")
    apps_waiting: int = Field(default=0, ge=0, description="Apps of which nothing was released yet.")
    next_small: Start | None = Field(default=None, description="When a small app would start that came next.")
    next_large: Start | None = Field(default=None, description="When a large app would start that came next.")


class AdmissionQueue(Part):
    """A queue of apps before a set of nodes."""

    spec: AdmissionQueueSpec = Field(default_factory=AdmissionQueueSpec, description="What is wanted.")
    status: AdmissionQueueStatus | None = Field(default=None, description="What was found.")
