"""The queues at one moment: their apps, what the nodes they reach have and have left, and their pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.admission.capacity import NodeShares
from slackwater.cycle.cycle import Round
from slackwater.cycle.snapshot import Pool
from slackwater.resources import NOTHING, Resources, total
from slackwater_cluster.customresources.admissionqueue import CapacitySource
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import ANYWHERE
from slackwater_cluster.pods.quantities import resources
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.apps.appviews import AppViews
from slackwater_operator.cache.nodes import NodeRequests
from slackwater_operator.cache.pools import PoolState, pool, restored
from slackwater_operator.cache.rooms import NodeReach, Rooms

if TYPE_CHECKING:
    from numpy.typing import NDArray


class QueueView(NamedTuple):
    """One queue as it is now."""

    name: str
    apps: Sequence[AppView]
    shares: NodeShares | None  # what each node adds to its capacity; None where its owner stated the capacity
    capacity: Resources
    free: Resources
    rows: NDArray[np.bool_] | None  # its nodes; None where all of them serve
    pool: Pool | None


class Moment(NamedTuple):
    """What a snapshot is made of beside the apps themselves."""

    now: float
    nodes: Rooms
    queues: Sequence[QueueView]
    unqueued: Sequence[AppView]  # apps of namespaces that no queue takes


@dataclass
class QueueViews:
    """Puts queues together, and remembers what their pools need between rounds."""

    governing: Governance
    node_requests: NodeRequests
    reach: NodeReach
    views: AppViews
    pool_states: dict[str, PoolState] = field(default_factory=dict)

    def follow(self) -> None:
        """A pool that is made again under the name of one that is gone begins where its own specification says."""
        self.pool_states = {name: each for name, each in self.pool_states.items() if name in self.governing.pools}

    def remember(self, decided: Round) -> None:
        """Keep what a round decided for later rounds: the border moves on."""
        for name, adjustment in decided.adjustments.items():
            if name in self.pool_states:
                self.pool_states[name].delta = adjustment.delta

    def advance(self, now: float, nodes: Rooms) -> Moment:
        """The queues at this moment. Pools learn what is there: how large a task is, who is large, what will end."""
        self.reach.use(nodes.table.names)
        self.reach.age()
        self.views.histories.unclassify()
        members = self._members()
        queues = [self._queue(name, members.get(name, []), nodes, now) for name in self.governing.queue_names()]
        return Moment(now, nodes, queues, members.get("", []))

    def _members(self) -> dict[str, list[AppView]]:
        found: dict[str, list[AppView]] = {}
        for each in self.views.values():
            found.setdefault(self.governing.queue_of(each.namespace), []).append(each)
        return found

    def _queue(self, name: str, apps: Sequence[AppView], nodes: Rooms, now: float) -> QueueView:
        spec = self.governing.queue(name)
        rows = self.reach.selected(spec.node_selector)
        reached = self._reached(apps, rows)
        shares = self.node_requests.shares(name, spec.node_selector, nodes.table.names, nodes.table.kinds)
        capacity, stated = shares.capacity(reached), spec.capacity.source is CapacitySource.STATED
        if stated:  # of kinds that its owner did not name, what the nodes have
            capacity = Resources({**capacity, **amounts(spec.capacity.maximum)})
        free = self._free(name, nodes, reached)
        guarded = self._pool(name, apps, capacity, free, now)
        return QueueView(name, apps, None if stated else shares, capacity, free, rows, guarded)

    def _reached(self, apps: Iterable[AppView], rows: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        """The queue's nodes that any of its apps can use; while it has none, those that an ordinary pod can."""
        wanted = {each for app in apps if not app.over for each in app.constraints.values()} or {ANYWHERE}
        reached: NDArray[np.bool_] = np.any([self.reach.accepted(each) for each in wanted], axis=0)
        return reached if rows is None else reached & rows

    def _free(self, queue: str, nodes: Rooms, reached: NDArray[np.bool_]) -> Resources:
        """Σ room over the nodes that are reached, less what is on its way there and not in the nodes' rooms."""
        mine = [declared for space, declared in nodes.reserved.items() if self.governing.queue_of(space) == queue]
        return (nodes.free(reached) - total(mine)).at_least(NOTHING)

    def _pool(
        self, queue: str, apps: Sequence[AppView], capacity: Resources, free: Resources, now: float
    ) -> Pool | None:
        name = self.governing.pool_of(queue)
        if not name:
            return None
        spec = self.governing.pools[name]
        if name not in self.pool_states:
            self.pool_states[name] = restored(spec, self.governing.status.get(("ReservationPool", name), {}))
        return pool(
            name,
            spec,
            self.pool_states[name],
            apps,
            self.views.histories,
            self.views.phases,
            capacity=capacity,
            free=free,
            now=now,
        )


def amounts(written: Mapping[str, int | str]) -> Resources:
    """Quantities as a resource states them."""
    return resources({kind: str(value) for kind, value in written.items()})
