"""What is known of all nodes by row beside the ledger: which of them a pod may use, and how many pods each may hold.

What a pod's selectors, affinity and tolerations allow is remembered by constraint.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater_cluster.objects.records import Constraints, NodeRecord
from slackwater_cluster.pods.nodecolumns import NodeColumns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_] | None  # None: all of them

MASKS = 512  # distinct constraints remembered


def masked(node: NodeRecord) -> tuple[object, ...]:
    """All that is read of a node here."""
    return node.labels, node.taints, node.allocatable["pods"]


class NodeMasks:
    """Masks over the nodes there are. `clear` when one comes, goes, or is `masked` otherwise."""

    def __init__(self, nodes: Mapping[str, NodeRecord]) -> None:
        self._nodes = nodes
        self._kept: dict[Constraints, Mask] = {}
        self._columns: NodeColumns | None = None  # of all nodes there are
        self._most: NDArray[np.float64] | None = None

    def clear(self) -> None:
        """Nodes are others than before."""
        self._kept.clear()
        self._columns = self._most = None

    def current(self, constraints: Constraints, names: Sequence[str]) -> Mask:
        """The nodes allowed; `names` are those of all nodes there are, in the order of their rows."""
        if constraints not in self._kept:
            if len(self._kept) >= MASKS:
                self._kept.clear()
            if self._columns is None:
                self._columns = self._of(names)
            self._kept[constraints] = _some(self._columns.accepted(constraints))
        return self._kept[constraints]

    def named(self, constraints: Constraints, names: Sequence[str]) -> Mask:
        """The same of any nodes; one that is gone serves nobody."""
        return _some(self._of(names).accepted(constraints))

    def _of(self, names: Sequence[str]) -> NodeColumns:
        return NodeColumns([self._nodes.get(name) for name in names])

    def most_pods(self, names: Sequence[str]) -> NDArray[np.float64]:
        """How many pods each node may hold; one that says nothing holds any number. `names` as with `current`."""
        if self._most is None:
            most = [self._nodes[name].allocatable["pods"] or math.inf for name in names]
            self._most = np.array(most, np.float64)
        return self._most


def _some(mask: NDArray[np.bool_]) -> Mask:
    return None if mask.all() else mask
