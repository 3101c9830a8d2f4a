"""The parts of Kubernetes objects that are read, as msgspec decodes them from the wire.

Everything not named here is skipped by the decoder without being built (managedFields alone is half of a pod). Every
field may be absent or null: a BOOKMARK event carries `"spec": {"containers": null}`, and an old server knows less.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

Quantities = dict[str, str | int | float]


class WireStruct(msgspec.Struct, rename="camel", gc=False):
    """Base of all shapes: camelCase on the wire, invisible to the garbage collector (no cycles), soon thrown away."""


class Owner(WireStruct):
    """One entry of metadata.ownerReferences."""

    kind: str = ""
    name: str = ""
    uid: str = ""
    api_version: str = ""
    controller: bool | None = False


class Meta(WireStruct):
    """metadata of any object."""

    name: str = ""
    namespace: str | None = ""
    uid: str = ""
    resource_version: str = ""
    generation: int | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[Owner] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None


class Needs(WireStruct):
    """resources of a container or of a pod."""

    requests: Quantities | None = None


class Container(WireStruct):
    """One container of a pod's spec."""

    name: str = ""
    resources: Needs | None = None
    restart_policy: str | None = None


class Gate(WireStruct):
    """One scheduling gate."""

    name: str = ""


class Toleration(WireStruct):
    """One toleration."""

    key: str | None = ""
    operator: str | None = ""
    value: str | None = ""
    effect: str | None = ""


class Expression(WireStruct):
    """One requirement of a node selector term."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class Term(WireStruct):
    """One node selector term: all of its requirements must hold."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class Terms(WireStruct):
    """A required node affinity: one of its terms must hold."""

    node_selector_terms: list[Term] | None = None


class NodeAffinity(WireStruct):
    """The required half of a node affinity."""

    required_during_scheduling_ignored_during_execution: Terms | None = None


class Affinity(WireStruct):
    """spec.affinity, node part only: pod affinity is the scheduler's business."""

    node_affinity: NodeAffinity | None = None


class SchedulingGroup(WireStruct):
    """spec.schedulingGroup of the workload API."""

    pod_group_name: str | None = ""


class PodSpec(WireStruct):
    """spec of a pod."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Quantities | None = None
    resources: Needs | None = None
    node_name: str | None = ""
    hostname: str | None = ""
    scheduler_name: str | None = ""
    scheduling_gates: list[Gate] | None = None
    scheduling_group: SchedulingGroup | None = None
    priority: int | None = 0
    priority_class_name: str | None = ""
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None


class Running(WireStruct):
    """state.running of a container."""

    started_at: datetime | None = None


class Terminated(WireStruct):
    """state.terminated of a container."""

    finished_at: datetime | None = None
    started_at: datetime | None = None
    reason: str | None = ""


class ContainerState(WireStruct):
    """state of a container."""

    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(WireStruct):
    """One entry of status.containerStatuses."""

    name: str = ""
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    resources: Needs | None = None
    allocated_resources: Quantities | None = None


class PodCondition(WireStruct):
    """One condition of a pod or node."""

    type: str = ""
    status: str = ""
    reason: str | None = ""
    message: str | None = ""
    last_transition_time: datetime | None = None


class PodStatus(WireStruct):
    """status of a pod."""

    phase: str | None = ""
    message: str | None = ""
    nominated_node_name: str | None = ""
    qos_class: str | None = ""
    conditions: list[PodCondition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: Needs | None = None  # what the kubelet set for the pod as a whole, where that was asked for
    allocated_resources: Quantities | None = None
    start_time: datetime | None = None


class Pod(WireStruct):
    """A pod, as far as we read it."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: PodSpec | None = None
    status: PodStatus | None = None


class Taint(WireStruct):
    """One taint of a node."""

    key: str = ""
    value: str | None = ""
    effect: str = ""


class NodeSpec(WireStruct):
    """spec of a node."""

    unschedulable: bool | None = False
    taints: list[Taint] | None = None


class Address(WireStruct):
    """One address of a node."""

    type: str = ""
    address: str = ""


class NodeStatus(WireStruct):
    """status of a node."""

    capacity: Quantities | None = None
    allocatable: Quantities | None = None
    conditions: list[PodCondition] | None = None
    addresses: list[Address] | None = None


class Node(WireStruct):
    """A node, as far as we read it."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: NodeSpec | None = None
    status: NodeStatus | None = None


class LimitRangeItem(WireStruct):
    """One entry of spec.limits of a LimitRange."""

    min: Quantities | None = None
    max_limit_request_ratio: Quantities | None = None


class LimitRangeSpec(WireStruct):
    """spec of a LimitRange; one that limits nothing says `"limits": null`."""

    limits: list[LimitRangeItem] | None = None


class LimitRange(WireStruct):
    """What bounds requests in a namespace."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: LimitRangeSpec | None = None


class QuotaSpec(WireStruct):
    """spec of a ResourceQuota."""

    hard: Quantities | None = None


class ResourceQuota(WireStruct):
    """What a namespace may request in all."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: QuotaSpec | None = None


class Bare(WireStruct):
    """Any object of which only the metadata matters (namespaces)."""

    metadata: Meta = msgspec.field(default_factory=Meta)


class Custom(WireStruct):
    """A custom resource or ConfigMap: its body is validated by its own model, not here."""

    metadata: Meta = msgspec.field(default_factory=Meta)
    spec: dict[str, Any] | None = None
    status: dict[str, Any] | None = None
    data: dict[str, str] | None = None
