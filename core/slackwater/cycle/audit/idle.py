"""Where the cores of a cluster are at one moment: at work, or idle for which reason.

For each open node, with what is used of it by measurement and what the scheduler charges its pods:

    busy           min(used, total)
    idle           total − busy = offered + not offered
    offered        min(idle, room): what a pod could be given now
    not offered    drivers: what they are charged beyond their use
                   tasks: what they are charged beyond their use
                   kept back: the rest (allowance, or margin for a stated risk)

While no pod waits, idle cores are idle because nothing waits. Otherwise the offered cores of a node are idle because

    gate       a waiting pod fits it and was not started; cores beyond what all such pods ask for: nothing waits
    ceiling    one fits its room, but overcommit is at its ceiling (or, without overcommit, requests are given away)
    kept back  one would fit if nothing were kept back of what is not charged
    memory     one would fit if memory were charged by use
    fragment   none fits: what is left is too small or of the wrong shape

Each cause is counted node by node and the parts add up to the cores of the open nodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from slackwater.nodetable import NodeTable
from slackwater.resources import CPU, MEMORY, holding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class Cause(StrEnum):
    """What a core does, or why it does nothing."""

    BUSY = "busy"
    NOTHING_WAITS = "nothing-waits"
    GATE = "gate"
    KEPT_BACK = "kept-back"
    TASKS = "tasks-unused"
    DRIVERS = "drivers-unused"
    MEMORY = "memory-unused"
    CEILING = "ceiling"
    FRAGMENT = "fragment"


ABOUT: Mapping[Cause, str] = {
    Cause.BUSY: "busy",
    Cause.NOTHING_WAITS: "nothing waits",
    Cause.GATE: "room for a waiting pod",
    Cause.KEPT_BACK: "kept back (allowance)",
    Cause.TASKS: "tasks: charged, not used",
    Cause.DRIVERS: "drivers: charged, not used",
    Cause.MEMORY: "memory: charged, not used",
    Cause.CEILING: "ceiling of overcommit",
    Cause.FRAGMENT: "no waiting pod fits",
}


@dataclass(frozen=True, slots=True)
class NodeCharges:
    """What every node has left, what is used of it and what its pods are charged."""

    table: NodeTable
    used: Floats  # measured, of everything on the node; node × kind
    charged: Floats  # of everything on it: estimates, or requests where nothing is measured; node × kind
    drivers: Floats  # cores that drivers are charged, by node
    drivers_used: Floats  # cores that they use


@dataclass(frozen=True, slots=True)
class WaitingPods:
    """Equal pods that could start now if a node were given to them."""

    count: int
    declared: Sequence[float]  # of one of them, in the table's order of kinds
    native: Sequence[float]  # what kube-scheduler counts
    reach: Mask | None = None  # the rows they may use; None: all


def split(nodes: NodeCharges, waiting: Sequence[WaitingPods]) -> dict[Cause, float]:
    """The cores of all open nodes by cause."""
    parts = dict.fromkeys(Cause, 0.0)
    if CPU not in nodes.table.kinds:
        return parts
    cpu, takes = nodes.table.kinds.index(CPU), nodes.table.open
    total = np.where(takes, nodes.table.total[:, cpu], 0.0)
    busy = np.clip(nodes.used[:, cpu], 0.0, total)
    idle = total - busy
    parts[Cause.BUSY] = float(busy.sum())
    waiting = [pods for pods in waiting if pods.count > 0]
    if not waiting:
        parts[Cause.NOTHING_WAITS] = float(idle.sum())
        return parts
    offered = np.clip(nodes.table.room[:, cpu], 0.0, idle)
    _not_offered(parts, nodes, idle - offered, cpu)
    _offered(parts, nodes, offered, waiting, cpu)
    return parts


def _not_offered(parts: dict[Cause, float], nodes: NodeCharges, rest: Floats, cpu: int) -> None:
    """Idle cores that the scheduler does not offer: charged, or kept back."""
    own = np.maximum(nodes.used[:, cpu] - nodes.drivers_used, 0.0)  # used by everything but drivers
    for cause, unused in (
        (Cause.DRIVERS, nodes.drivers - nodes.drivers_used),
        (Cause.TASKS, nodes.charged[:, cpu] - nodes.drivers - own),
    ):
        part = np.minimum(rest, np.maximum(unused, 0.0))
        parts[cause] = float(part.sum())
        rest = rest - part
    parts[Cause.KEPT_BACK] = float(rest.sum())


def _offered(
    parts: dict[Cause, float], nodes: NodeCharges, offered: Floats, waiting: Sequence[WaitingPods], cpu: int
) -> None:
    """Idle cores that a pod could be given: why none of those that wait has them."""
    table = nodes.table
    rooms = _rooms(nodes)
    fits = np.zeros(len(table), np.bool_)
    roomy = {cause: fits.copy() for cause in rooms}
    wanted = 0.0
    for pods in waiting:
        for cause, room in rooms.items():
            roomy[cause] |= _within(pods, pods.declared, room)
        here = _within(pods, pods.declared, table.room) & _within(pods, pods.native, table.native) & table.open
        wanted += pods.count * pods.declared[cpu] if bool(here.any()) else 0.0
        fits |= here
    gate = float(offered[fits].sum())
    parts[Cause.GATE] = min(gate, wanted)
    parts[Cause.NOTHING_WAITS] = gate - parts[Cause.GATE]
    left = ~fits
    for cause, mask in roomy.items():
        parts[cause] += float(offered[left & mask].sum())
        left &= ~mask
    parts[Cause.FRAGMENT] = float(offered[left].sum())


def _rooms(nodes: NodeCharges) -> dict[Cause, Floats]:
    """Rooms that grow: as it is (a pod that fits is kept off by its ceiling), without what is kept back, by use."""
    table = nodes.table
    unkept = np.maximum(table.room, table.total - nodes.charged)
    by_use = unkept.copy()
    if MEMORY in table.kinds:
        memory = table.kinds.index(MEMORY)
        by_use[:, memory] = np.maximum(unkept[:, memory], table.total[:, memory] - nodes.used[:, memory])
    return {Cause.CEILING: table.room, Cause.KEPT_BACK: unkept, Cause.MEMORY: by_use}


def _within(pods: WaitingPods, asked: Sequence[float], left: Floats) -> Mask:
    """The rows that the pods reach and of which this much is left."""
    fits = holding(left, asked)
    return fits if pods.reach is None else fits & pods.reach
