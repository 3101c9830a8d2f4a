"""What is kept of each Kubernetes object: trimmed, immutable, with shared strings (about half a kilobyte per pod)."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from slackwater.resources import NOTHING, Resources
from slackwater_cluster import names


class Record(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Base of all records. Invisible to the garbage collector: records hold no cycles, and there are many of them."""

    name: str
    uid: str = ""
    version: str = ""  # resourceVersion


OwnerKey = tuple[str, str]  # namespace and uid


class OwnerRef(msgspec.Struct, frozen=True, gc=False):
    """Who owns an object."""

    kind: str
    name: str
    uid: str
    group: str  # API group, "" for the core
    controller: bool
    namespace: str = ""  # of the object that names it: an owner is in the same namespace, or in none
    version: str = ""  # of the API group, as the object that names it does

    @property
    def key(self) -> OwnerKey:
        """What is known of it is kept under this: a uid is anybody's to write, and counts in one namespace only."""
        return (self.namespace, self.uid)


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One expression over a node's labels, or over its name where `field` is set."""

    key: str
    operator: str
    values: tuple[str, ...]
    field: bool = False


class Tolerated(msgspec.Struct, frozen=True, gc=False):
    """One toleration; an empty key or effect tolerates every key or effect."""

    key: str
    operator: str
    value: str
    effect: str


class Constraints(msgspec.Struct, frozen=True, gc=False):
    """Where a pod may run: labels its node must have, affinity terms of which one must hold, taints it tolerates."""

    selector: tuple[tuple[str, str], ...] = ()
    # None: no affinity given. An empty tuple matches no node, as in Kubernetes.
    terms: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Tolerated, ...] = ()


ANYWHERE = Constraints()


class PodRecord(Record, frozen=True, gc=False, kw_only=True):
    """A pod: all that a decision, a ledger entry or a gate needs. Times are Unix seconds; 0 means not yet."""

    namespace: str = ""
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}  # only those of Slackwater and of the frameworks it recognises
    owners: tuple[OwnerRef, ...] = ()
    group: str = ""  # spec.schedulingGroup
    hostname: str = ""
    phase: str = ""
    lacking: str = ""  # of what its node was low when its kubelet evicted it: memory, ephemeral-storage, ...
    node: str = ""
    nominated: str = ""
    gates: tuple[str, ...] = ()
    scheduler: str = ""
    priority: int = 0
    native: Resources = NOTHING  # N: what kube-scheduler counts
    declared: Resources = NOTHING  # D: what the owner asked for, clamped to [N, N × c]
    constraints: Constraints = ANYWHERE
    mirror: bool = False  # a static pod's mirror
    guaranteed: bool = False  # the kernel kills it last: QoS class Guaranteed, or critical to its node
    created: float = 0.0
    scheduled: float = 0.0  # when PodScheduled became true
    unscheduled: str = ""  # reason of PodScheduled=False: SchedulingGated, Unschedulable, ...
    started: float = 0.0  # latest start of a main container that runs or ran
    finished: float = 0.0  # latest end of a container, once the phase is terminal
    deleted: float = 0.0  # deletionTimestamp: it is terminating, and charged until it is gone
    problems: tuple[str, ...] = ()  # what its owner states and could not be read, one sentence each

    @property
    def key(self) -> str:
        """namespace/name, as people write it."""
        return f"{self.namespace}/{self.name}"

    @property
    def done(self) -> bool:
        """Whether it has ended and holds nothing on its node any more."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def gated(self) -> bool:
        """Whether our gate still holds it."""
        return names.GATE in self.gates

    @property
    def parked(self) -> bool:
        """Whether the operator took its release back."""
        return names.PARKED in self.annotations

    @property
    def cleared_node(self) -> str:
        """The node that a scheduler clears for it, by preemption, or has chosen before it binds it; "" for none."""
        return "" if self.node or self.gates or self.deleted or self.done else self.nominated

    @property
    def admitted(self) -> bool:
        """Whether it passed our admission policy, which writes to no pod of the DaemonSet controller."""
        return self.gated or any(key in self.annotations for key in names.SEALED)

    @property
    def daemon(self) -> bool:
        """Whether its owner references say that a DaemonSet controls it; anybody who may patch it can write those."""
        for owner in self.owners:  # noqa: SIM110 - asked of every pod several times; a generator takes three times as long
            if owner.controller and owner.kind == "DaemonSet":
                return True
        return False


class NodeRecord(Record, frozen=True, gc=False, kw_only=True):
    """A node: what it offers, and whether it takes pods."""

    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    capacity: Resources = NOTHING
    allocatable: Resources = NOTHING
    ready: bool = False
    cordoned: bool = False
    taints: tuple[tuple[str, str, str], ...] = ()  # (key, value, effect)
    addresses: tuple[str, ...] = ()
    created: float = 0.0

    @property
    def open(self) -> bool:
        """Whether it takes pods at all; taints are a question between it and each pod."""
        return self.ready and not self.cordoned


class NamespaceRecord(Record, frozen=True, gc=False, kw_only=True):
    """A namespace: whether it is managed and which policy it names."""

    labels: Mapping[str, str] = {}

    @property
    def managed(self) -> bool:
        """Whether its pods are Slackwater's business."""
        return self.labels.get(names.MANAGED) == "true"

    @property
    def policy(self) -> str:
        """The SlackPolicy it names."""
        return self.labels.get(names.POLICY, "default")


class CustomRecord(Record, frozen=True, kw_only=True):
    """A custom resource or ConfigMap: its parts as they were written; the body is validated by its own model."""

    namespace: str = ""
    generation: int = 0
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    spec: Mapping[str, object] = {}
    status: Mapping[str, object] = {}
    created: float = 0.0
    data: Mapping[str, str] = {}
