"""Which node could take a pod: its room now, and whether it could ever.

    now:   node open, selected by the queue, accepted by the pod, D ≤ room and N ≤ native requests left, kind by kind
    ever:  the same without room: D ≤ allocatable

D is what a pod declares, N what kube-scheduler counts. A snapshot without nodes knows sums only: there every answer
here is None, which means "not known node by node".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.snapshot import PodGroup, Queue, Snapshot
from slackwater.nodes import NodeTable
from slackwater.resources import Resources
from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]
    Floats = NDArray[np.float64]


UNCOUNTED = 10**6  # pods that ask for nothing, on each node


def reachable(snapshot: Snapshot, queue: Queue, group: PodGroup) -> Mask | None:
    """The rows that serve a group of this queue whatever their room; closed ones too, as they may open again."""
    if snapshot.nodes is None:
        return None
    accepted, selected = snapshot.reach.get(group.constraints), queue.nodes
    if accepted is None:
        return np.ones(len(snapshot.nodes), np.bool_) if selected is None else selected
    return accepted if selected is None else accepted & selected


def fitting(snapshot: Snapshot, queue: Queue, group: PodGroup) -> Mask | None:
    """The rows that could take one pod of the group now."""
    table, rows = snapshot.nodes, reachable(snapshot, queue, group)
    if table is None or rows is None:
        return None
    native = group.request if group.native is None else group.native
    return rows & table.open & within(table, group.request, table.room) & within(table, native, table.native)


def possible(snapshot: Snapshot, queue: Queue, group: PodGroup) -> Mask | None:
    """The rows that could take one pod of the group if they were empty."""
    table, rows = snapshot.nodes, reachable(snapshot, queue, group)
    return None if table is None or rows is None else rows & within(table, group.request, table.total)


def places(asked: Floats, total: Floats) -> int:
    """How many pods that ask for so much nodes of these totals (node × kind) could hold at once if they were empty."""
    counts = [np.floor(total[:, kind] / amount + TOLERANCE) for kind, amount in enumerate(asked.tolist()) if amount > 0]
    return int(np.minimum.reduce(counts).sum()) if counts else len(total) * UNCOUNTED


def within(table: NodeTable, asked: Resources, left: Floats) -> Mask:
    """The rows of which this much is left. A kind that the table does not have is nowhere."""
    fits = np.ones(len(table), np.bool_)
    for kind, amount in asked.items():
        if amount <= 0:
            continue
        if kind not in table.kinds:
            return np.zeros(len(table), np.bool_)
        # A column at a time: several times as fast as along the short axis.
        fits &= left[:, table.kinds.index(kind)] >= amount - TOLERANCE * max(1.0, amount)
    return fits
