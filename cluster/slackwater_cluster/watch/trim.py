"""From the shapes on the wire to the records that are kept. Equal parts are shared between records."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Set
from datetime import datetime
from functools import lru_cache
from typing import TypeVar, cast

from slackwater.resources import CPU, MEMORY
from slackwater_cluster import names
from slackwater_cluster.api.paths import segment
from slackwater_cluster.objects import wire as shapes
from slackwater_cluster.objects.interning import SharedValues
from slackwater_cluster.objects.records import (
    ANYWHERE,
    CustomRecord,
    NamespaceRecord,
    NodeRecord,
    OwnerRef,
    PodRecord,
)
from slackwater_cluster.pods import metadata, nodeterms
from slackwater_cluster.pods.declared import declared
from slackwater_cluster.pods.quantities import resources
from slackwater_cluster.pods.requests import NO_KINDS, native, uncounted

T = TypeVar("T", bound=Hashable)
Keep = Callable[[Mapping[str, str] | None], Mapping[str, str]]

_MIRROR = "kubernetes.io/config.mirror"
_LOW = "The node was low on resource: "  # how a kubelet begins to say why it evicts a pod
_LONGEST_NAME = 63  # of a resource that such words name
_NODE_CRITICAL = "system-node-critical"  # kubelets set such pods' oom_score_adj as that of Guaranteed ones
_NONE: Mapping[str, str] = {}
# Kinds of resources that one node counts with, beside those that every node has; of more the first by name. Each kind
# is a column of all nodes, and whoever has a kubelet's token writes what its node offers.
MOST_OFFERED = 64
_EVERYWHERE = frozenset({CPU, MEMORY, "ephemeral-storage", "pods"})


def pod(wire: shapes.Pod, labels: Keep | None = None, offered: Set[str] = NO_KINDS) -> PodRecord:
    """Keep of a pod what decisions need. `labels` says which labels to keep; all by default.

    `offered` are the kinds of resources that nodes offer.
    """
    meta, spec, status = wire.metadata, wire.spec or shapes.PodSpec(), wire.status or shapes.PodStatus()
    segment(meta.name)  # its address is built from both
    segment(meta.namespace or names.SYSTEM_NAMESPACE)
    segment(meta.uid)  # and everything about it is kept under this
    items, unread = metadata.notes(meta.annotations)
    annotations = _mapping(items) if items else _NONE
    above, unowned = metadata.owners(meta.owner_references, sys.intern(meta.namespace or ""))
    asked = native(wire, offered)
    places, unheeded = nodeterms.constraints(spec)
    problems = (*unread, *unowned, *unheeded, *uncounted(wire, asked, offered))
    placed = _condition(status.conditions, "PodScheduled")
    waiting = placed is not None and placed.status != "True"
    phase = sys.intern(status.phase or "")
    return PodRecord(
        name=meta.name,
        uid=meta.uid,
        namespace=sys.intern(meta.namespace or ""),
        version=meta.resource_version,
        labels=interned(meta.labels) if labels is None else labels(meta.labels),
        annotations=annotations,
        owners=_share(above),
        group=sys.intern((spec.scheduling_group.pod_group_name or "") if spec.scheduling_group else ""),
        hostname=spec.hostname or "",
        phase=phase,
        lacking=sys.intern(_lacking(status)),
        node=sys.intern(spec.node_name or ""),
        nominated=sys.intern(status.nominated_node_name or ""),
        gates=_share(tuple(sys.intern(gate.name) for gate in spec.scheduling_gates or ())),
        scheduler=sys.intern(spec.scheduler_name or ""),
        priority=spec.priority or 0,
        native=asked,
        declared=declared(asked, annotations),
        constraints=places if places is ANYWHERE else _share(places),
        mirror=_MIRROR in (meta.annotations or _NONE),
        guaranteed=status.qos_class == "Guaranteed" or spec.priority_class_name == _NODE_CRITICAL,
        created=_unix(meta.creation_timestamp),
        scheduled=_unix(placed.last_transition_time) if placed and not waiting else 0.0,
        unscheduled=sys.intern((placed.reason or "") if placed and waiting else ""),
        started=_started(status),
        finished=_finished(status) if phase in ("Succeeded", "Failed") else 0.0,
        deleted=_unix(meta.deletion_timestamp),
        problems=_share(problems) if problems else (),
    )


def node(wire: shapes.Node) -> NodeRecord:
    """Keep of a node what decisions need."""
    meta, spec, status = wire.metadata, wire.spec or shapes.NodeSpec(), wire.status or shapes.NodeStatus()
    ready = _condition(status.conditions, "Ready")
    return NodeRecord(
        name=sys.intern(meta.name),
        uid=meta.uid,
        version=meta.resource_version,
        labels=interned(meta.labels),
        annotations=kept(meta.annotations),
        capacity=resources(_offered(status.capacity or {})),
        allocatable=resources(_offered(status.allocatable or {})),
        ready=ready is not None and ready.status == "True",
        cordoned=bool(spec.unschedulable),
        taints=_share(tuple((taint.key, taint.value or "", taint.effect) for taint in spec.taints or ())),
        addresses=tuple(each.address for each in status.addresses or ()),
        created=_unix(meta.creation_timestamp),
    )


def _offered(quantities: Mapping[str, str | int | float]) -> Mapping[str, str]:
    """What of a node's resources counts."""
    kinds: Iterable[str] = quantities
    if len(quantities) > MOST_OFFERED:
        kinds = [*(_EVERYWHERE & quantities.keys()), *sorted(quantities.keys() - _EVERYWHERE)[:MOST_OFFERED]]
    return {kind: str(quantities[kind]) for kind in kinds}


def namespace(wire: shapes.Bare) -> NamespaceRecord:
    """Keep of a namespace its labels."""
    return NamespaceRecord(
        name=sys.intern(wire.metadata.name),
        uid=wire.metadata.uid,
        version=wire.metadata.resource_version,
        labels=interned(wire.metadata.labels),
    )


def custom(wire: shapes.Custom) -> CustomRecord:
    """Keep the body of a custom resource or ConfigMap as it is."""
    meta = wire.metadata
    return CustomRecord(
        name=meta.name,
        uid=meta.uid,
        namespace=meta.namespace or "",
        version=meta.resource_version,
        generation=meta.generation or 0,
        labels=meta.labels or {},
        annotations=meta.annotations or {},
        spec=wire.spec or {},
        status=wire.status or {},
        created=meta.creation_timestamp.timestamp() if meta.creation_timestamp else 0.0,
        data=wire.data or {},
    )


def owners(references: Iterable[shapes.Owner] | None, namespace: str) -> tuple[OwnerRef, ...]:
    """Owner references of an object that can be meant, shared between siblings."""
    return _share(metadata.owners(references, namespace)[0])


def interned(strings: Mapping[str, str] | None) -> Mapping[str, str]:
    """The same mapping made of shared strings."""
    return {sys.intern(key): sys.intern(value) for key, value in strings.items()} if strings else _NONE


def kept(annotations: Mapping[str, str] | None) -> Mapping[str, str]:
    """Those annotations that anyone here reads, one mapping for all pods that say the same."""
    items, _ = metadata.notes(annotations)
    return _mapping(items) if items else _NONE


def only(keys: frozenset[str]) -> Keep:
    """Keep some labels, one mapping for all pods that say the same."""

    def keep(strings: Mapping[str, str] | None) -> Mapping[str, str]:
        return _mapping(tuple([item for item in strings.items() if item[0] in keys])) if strings else _NONE

    return keep


def _mapping(items: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    return _MAPPINGS.one(items)


def _condition(conditions: Iterable[shapes.PodCondition] | None, kind: str) -> shapes.PodCondition | None:
    return next((each for each in conditions or () if each.type == kind), None)


def _started(status: shapes.PodStatus) -> float:
    """The latest start of a main container: a pod that restarted one is young again, which charges more, not less."""
    return max((_container_start(each) for each in status.container_statuses or ()), default=0.0)


def _container_start(status: shapes.ContainerStatus) -> float:
    for state in (status.state, status.last_state):
        if state and state.running:
            return _unix(state.running.started_at)
        if state and state.terminated:
            return _unix(state.terminated.started_at)
    return 0.0


def _lacking(status: shapes.PodStatus) -> str:
    """Of what the node was low when its kubelet evicted the pod; "" of one that it did not evict for such a lack.

    Of a pod that left with exit code 0 only the condition tells it.
    """
    target = _condition(status.conditions, "DisruptionTarget")
    for words in (status.message, target.message if target else ""):
        if words and words.startswith(_LOW):
            return words.removeprefix(_LOW).partition(".")[0][:_LONGEST_NAME]
    return ""


def _finished(status: shapes.PodStatus) -> float:
    ended = [each.state.terminated for each in status.container_statuses or () if each.state and each.state.terminated]
    return max((_unix(each.finished_at) for each in ended), default=0.0)


@lru_cache(maxsize=65_536)
def _unix(moment: datetime | None) -> float:
    """Unix seconds; pods made together share the number, since the API keeps whole seconds."""
    return moment.timestamp() if moment else 0.0


def _share(value: T) -> T:
    """The first equal value seen, so that equal parts of many records are one object."""
    return cast("T", _VALUES.one(value))


_MAPPINGS: SharedValues[Mapping[str, str]] = SharedValues(lambda items: interned(dict(items)))
_VALUES: SharedValues[Hashable] = SharedValues(lambda value: value)
