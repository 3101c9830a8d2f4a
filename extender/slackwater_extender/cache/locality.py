"""How long a pod's input would take to reach each node (paper 003), from annotations and measured traffic.

A pod names the stages it reads from (`slackwater.io/parents`); pods of those stages of the same app say what they
leave on their node (`slackwater.io/output`). A pair of nodes is as fast as the slower one's `slackwater.io/bandwidth`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.network.transfer import incoming as seconds_to_arrive
from slackwater.network.transfer import measured, pairwise
from slackwater_cluster import names
from slackwater_cluster.pods import stated
from slackwater_cluster.pods.quantities import quantity
from slackwater_cluster.watch.records import NodeRecord, PodRecord

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_extender.cache.cache import ClusterCache

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

    def inputs(self, pod: PodRecord, app: str) -> Mapping[str, float]:
        """Bytes the pod will read, by the node that holds them."""
        found: dict[str, float] = {}
        for stage in _stages(pod):
            for node, size in self._left.get((pod.namespace, app, stage), {}).values():
                found[node] = found.get(node, 0.0) + size
        return found


def incoming(
    books: ClusterCache, inputs: Mapping[str, float], nodes: Sequence[str], load: Mapping[str, float]
) -> NDArray[np.float64] | None:
    """T_in of each node in seconds; None where the pod reads nothing from other nodes that is known."""
    if not inputs:
        return None
    senders = [name for name in inputs if name in books.nodes]
    rows = list(nodes) + [name for name in senders if name not in set(nodes)]
    at = {name: row for row, name in enumerate(rows)}
    places = [at[name] for name in senders]
    speeds = np.array([bandwidth(books.nodes.get(name)) for name in rows])
    flowing = measured(np.array([load.get(name, 0.0) for name in rows]), HORIZON)
    times = seconds_to_arrive(
        places, [inputs[name] for name in senders], np.tile(flowing, (len(senders), 1)), pairwise(speeds, places)
    )
    return times[: len(nodes)]


def bandwidth(node: NodeRecord | None) -> float:
    """Bytes per second of a node's link."""
    return (_amount(node.annotations.get(names.BANDWIDTH, "")) if node else 0.0) or ASSUMED


def _stages(pod: PodRecord) -> list[str]:
    return list(stated.parents(pod.annotations.get(names.PARENTS) or pod.labels.get(names.PARENTS, "")))


def _amount(text: str) -> float:
    try:
        return quantity(text) if text else 0.0
    except InvalidInput:  # a user's typing mistake costs the pod its locality, nothing else
        return 0.0
