"""kube-scheduler, as far as the search needs it: its own filters, nominated pods, an extender where there is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from slackwater.validation import TOLERANCE
from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.nodefit import allows
from support.search.cluster import Cluster

Free = dict[str, dict[str, float]]


class Verbs(Protocol):
    """The extender's two verbs."""

    def filter(self, pod: PodRecord, nodes: Sequence[str]) -> list[str]:
        """The nodes that serve the pod."""
        ...

    def prioritize(self, pod: PodRecord, nodes: Sequence[str]) -> dict[str, int]:
        """How much each is liked."""
        ...


def schedule(cluster: Cluster, extender: Verbs | None = None) -> int:
    """One pass over all pods that wait without a gate, highest priority first; returns how many were bound."""
    waiting = [pod for pod in cluster.waiting.values() if not pod.gates and _whose(pod, extender)]
    if not cluster.managed_pods:  # what their owners do not want to run waits on both sides
        waiting = [pod for pod in waiting if names.PAUSE not in pod.annotations and not cluster.queue_stops(pod)]
    if not waiting:
        return 0
    free = {name: cluster.free(name) for name in cluster.nodes}
    bound = 0
    for pod in sorted(waiting, key=lambda each: (-each.priority, each.created, each.uid)):
        node = _chosen(cluster, pod, free, extender)
        if node:
            cluster.bind(pod, node)
            _take(free[node], pod)
            bound += 1
        elif pod.unscheduled != "Unschedulable":
            cluster.change(pod.uid, unscheduled="Unschedulable")
    return bound


def _whose(pod: PodRecord, extender: Verbs | None) -> bool:
    return (pod.scheduler == names.SCHEDULER) == (extender is not None)


def _chosen(cluster: Cluster, pod: PodRecord, free: Free, extender: Verbs | None) -> str:
    """The nominated node if it serves, else the best of all."""
    if pod.nominated in cluster.nodes:
        alone = _feasible(cluster, pod, free, [pod.nominated], extender)
        if alone:
            return alone[0]
    fitting = _feasible(cluster, pod, free, list(cluster.nodes), extender)
    if len(fitting) <= 1:
        return fitting[0] if fitting else ""
    if extender is not None:
        points = extender.prioritize(pod, fitting)
        return max(fitting, key=lambda name: (points.get(name, 0), name))
    return max(fitting, key=lambda name: (_least_allocated(cluster, free, name), name))


def _feasible(cluster: Cluster, pod: PodRecord, free: Free, nodes: Sequence[str], extender: Verbs | None) -> list[str]:
    found = [
        name
        for name in nodes
        if cluster.nodes[name].open
        and allows(pod.constraints, cluster.nodes[name])
        and fits(pod, _beside_nominated(cluster, pod, name, free[name]))
    ]
    return extender.filter(pod, found) if found and extender is not None else found


def _beside_nominated(cluster: Cluster, pod: PodRecord, node: str, free: dict[str, float]) -> dict[str, float]:
    """Room beside pods that are nominated there and not of lower priority."""
    others = [
        each
        for each in cluster.waiting.values()
        if each.nominated == node and each.uid != pod.uid and each.priority >= pod.priority
    ]
    if not others:
        return free
    left = dict(free)
    for each in others:
        _take(left, each)
    return left


def fits(pod: PodRecord, left: dict[str, float]) -> bool:
    """Whether native requests fit."""
    return all(value <= left.get(kind, 0.0) + TOLERANCE * max(1.0, value) for kind, value in pod.native.items())


def _take(left: dict[str, float], pod: PodRecord) -> None:
    for kind, value in pod.native.items():
        left[kind] = left.get(kind, 0.0) - value


def _least_allocated(cluster: Cluster, free: Free, node: str) -> float:
    offered = cluster.nodes[node].allocatable
    return sum(free[node].get(kind, 0.0) / value for kind, value in offered.items() if value > 0)
