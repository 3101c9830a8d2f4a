"""How long a pod's input would take to reach each node (paper 003), from annotations and measured traffic.

A pod names the stages it reads from (`slackwater.io/parents`); pods of those stages of the same app say what they
leave on their node (`slackwater.io/output`). A pair of nodes is as fast as the slower one's `slackwater.io/bandwidth`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.network.arrivals import Arrivals, Inputs
from slackwater.network.transfer import Transfers, measured
from slackwater.nodetable import NodeTable
from slackwater_cluster import names
from slackwater_cluster.objects.records import NodeRecord, PodRecord
from slackwater_cluster.pods import metadata
from slackwater_cluster.pods.quantities import parse_quantity

# Bytes per second where a node does not say: 1 Gbit/s. Only differences between nodes matter in a score.
ASSUMED = 1.25e8
# Seconds for which the traffic measured now is believed to go on.
HORIZON = 5.0

Place = tuple[str, str, str]  # namespace, app, stage


class Outputs:
    """What the pods of each stage left where."""

    def __init__(self) -> None:
        self._left: dict[Place, dict[str, tuple[str, float]]] = {}
        self._places: dict[str, Place] = {}  # by uid of the pod

    def set(self, pod: PodRecord, app: str, stage: str) -> None:
        """Note a pod that runs or ran somewhere and says what it leaves."""
        self.drop(pod.uid)
        size = _amount(pod.annotations.get(names.OUTPUT, ""))
        if size > 0 and pod.node:
            place = self._places[pod.uid] = (pod.namespace, app, stage)
            self._left.setdefault(place, {})[pod.uid] = (pod.node, size)

    def drop(self, uid: str) -> None:
        """Forget a pod that is gone, or belongs to another app now."""
        place = self._places.pop(uid, None)
        if place is None:
            return
        left = self._left[place]
        left.pop(uid, None)
        if not left:
            del self._left[place]

    def inputs(self, pod: PodRecord, app: str) -> Inputs:
        """Bytes the pod will read, by the node that holds them."""
        found: dict[str, float] = {}
        for stage in _stages(pod):
            for node, size in self._left.get((pod.namespace, app, stage), {}).values():
                found[node] = found.get(node, 0.0) + size
        return tuple(sorted(found.items()))


class AssignedTransfers:
    """What pods on their way are going to read, until they have started: then measured traffic tells of it."""

    def __init__(self) -> None:
        self._by_pod: dict[str, tuple[str, Inputs]] = {}  # uid → its node, and its inputs

    def begin(self, uid: str, node: str, inputs: Inputs) -> None:
        """A pod is to run on a node; one that reads nothing is not noted."""
        if inputs:
            self._by_pod[uid] = node, inputs

    def end(self, uid: str) -> None:
        """It has started, or will not."""
        self._by_pod.pop(uid, None)

    def between(self, index: Mapping[str, int], without: Collection[str] = ()) -> Transfers:
        """Bytes between nodes by row, but for those of some pods."""
        made = Transfers()
        for uid, (node, inputs) in self._by_pod.items():
            if uid not in without and node in index:
                for sender, size in inputs:
                    if sender in index:
                        made.begin(index[sender], index[node], size)
        return made


def arrivals(
    nodes: Mapping[str, NodeRecord], table: NodeTable, load: Mapping[str, float], assigned: Transfers
) -> Arrivals:
    """T_in over the table's nodes; `load` is bytes per second into each node, as last measured."""
    speeds = np.array([bandwidth(nodes.get(name)) for name in table.names])
    flowing = measured(np.array([load.get(name, 0.0) for name in table.names]), HORIZON)
    return Arrivals(table.index, speeds, flowing, assigned)


def bandwidth(node: NodeRecord | None) -> float:
    """Bytes per second of a node's link."""
    return (_amount(node.annotations.get(names.BANDWIDTH, "")) if node else 0.0) or ASSUMED


def _stages(pod: PodRecord) -> list[str]:
    return list(metadata.parents(pod.annotations.get(names.PARENTS) or pod.labels.get(names.PARENTS, "")))


def _amount(text: str) -> float:
    try:
        return parse_quantity(text) if text else 0.0
    except InvalidInput:  # a user's typing mistake costs the pod its locality, nothing else
        return 0.0
