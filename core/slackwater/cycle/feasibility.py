"""Which node could take a pod now; whether one could ever is in `noderooms`.

    node open, selected by the queue, accepted by the pod, D ≤ room and N ≤ native requests left, kind by kind

D is what a pod declares, N what kube-scheduler counts. A snapshot without nodes knows sums only: there every answer
here is None, which means "not known node by node".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.snapshot import PodGroup, Queue, Snapshot
from slackwater.resources import holding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


def reachable(snapshot: Snapshot, queue: Queue, constraints: str) -> Mask | None:
    """The rows that serve pods of this queue whatever their room; closed ones too, as they may open again.

    `constraints`: what the pods ask of a node beside room, by the name that the snapshot knows.
    """
    if snapshot.nodes is None:
        return None
    accepted, selected = snapshot.reach.get(constraints), queue.nodes
    if accepted is None:
        return np.ones(len(snapshot.nodes), np.bool_) if selected is None else selected
    return accepted if selected is None else accepted & selected


def fitting(snapshot: Snapshot, queue: Queue, group: PodGroup) -> Mask | None:
    """The rows that could take one pod of the group now."""
    table, rows = snapshot.nodes, reachable(snapshot, queue, group.constraints)
    if table is None or rows is None:
        return None
    asked = group.request.demand(table.kinds)
    native = asked if group.native is None else group.native.demand(table.kinds)
    return rows & table.open & holding(table.room, asked) & holding(table.native, native)
