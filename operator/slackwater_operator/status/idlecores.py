"""Which cores of the cluster do nothing, and what keeps work from them: the gauge `slackwater_idle_cores`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.audit.idle import Cause, NodeCharges, split
from slackwater.cycle.audit.waitingpods import left, waiting
from slackwater.nodetable import NodeTable
from slackwater.resources import CPU
from slackwater.roles import Role
from slackwater_cluster.apps.resolver import role_of
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.roundresult import RoundResult
from slackwater_operator.clients.extenderclient import Usage
from slackwater_operator.metrics import Metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def tell_idle(metrics: Metrics, cache: OperatorCache, result: RoundResult, usage: Usage) -> None:
    """Bring the gauge up to date. Where no node is measured nobody knows, and nothing is said."""
    table = left(result.snapshot, result.round)
    if table is None or CPU not in table.kinds or not usage.nodes:
        metrics.set_all(metrics.idle, {})
        return
    parts = split(charges(table, cache, usage), waiting(result.snapshot, result.round))
    metrics.set_all(metrics.idle, {(str(cause),): cores for cause, cores in parts.items() if cause is not Cause.BUSY})


def charges(table: NodeTable, cache: OperatorCache, usage: Usage) -> NodeCharges:
    """What is used and charged of each row. A node without a measurement counts as used as it is requested."""
    requested = table.total - (table.room if table.requested is None else table.requested)
    used, charged = requested.copy(), requested.copy()
    drivers = np.zeros(len(table))
    for name, each in usage.nodes.items():
        row = table.index.get(name)
        if row is not None:
            used[row], charged[row] = each.used.vector(table.kinds), each.charged.vector(table.kinds)
            drivers[row] = each.drivers[CPU]
    return NodeCharges(table, used, charged, drivers, _drivers_use(table, cache, usage))


def _drivers_use(table: NodeTable, cache: OperatorCache, usage: Usage) -> Floats:
    """Cores that drivers use, by row."""
    cores = np.zeros(len(table))
    for uid, used in usage.pods.items():
        member, pod = cache.index.member(uid), cache.index.pod(uid)
        if member is not None and pod is not None and role_of(pod, member) is Role.DRIVER and pod.node in table.index:
            cores[table.index[pod.node]] += used[CPU]
    return cores
