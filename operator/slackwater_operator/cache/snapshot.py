"""The one snapshot that a round of gatekeeping reads, made from everything that is remembered. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.resources import NOTHING, Resources, total
from slackwater_cluster.customresources import Mode
from slackwater_cluster.customresources.admissionqueue import CapacitySource, QueueState
from slackwater_cluster.pods.quantities import resources
from slackwater_operator.cache.appview import AppView
from slackwater_operator.cache.pools import demand, pool, restored

if TYPE_CHECKING:
    from slackwater_operator.cache.cache import OperatorCache

Rooms = Mapping[str, Resources]  # Σ room over the nodes of each queue, as the extender measures it


@dataclass(frozen=True, slots=True)
class SnapshotBuilder:
    """Looks at the memory at one moment. `supposed`: as if every managed namespace were in mode enforce."""

    memory: OperatorCache
    now: float
    rooms: Rooms | None  # None: the extender does not answer
    supposed: bool = False

    def snapshot(self) -> Snapshot:
        """Everything one round may know."""
        queues: list[Queue] = []
        pools: list[Pool] = []
        apps: list[App] = []
        members = self._by_queue()
        for name in self.memory.governing.queue_names():
            mine = members.get(name, [])
            capacity, free = self._capacity(name), self._free(name)
            guarded = self._pool(name, mine, capacity, free)
            queues.append(self._queue(name, capacity, free, guarded.name if guarded else ""))
            pools += [guarded] if guarded else []
            apps += [self._app(each, name, guarded) for each in mine]
        apps += [self._app(each, "", None) for each in members.get("", [])]
        return Snapshot(self.now, tuple(queues), tuple(apps), tuple(pools), window=self.memory.window)

    def _by_queue(self) -> dict[str, list[AppView]]:
        found: dict[str, list[AppView]] = {}
        queues: dict[str, str] = {}
        for each in self.memory.portraits.values():
            if each.namespace not in queues:
                queues[each.namespace] = self.memory.governing.queue_of(each.namespace)
            found.setdefault(queues[each.namespace], []).append(each)
        return found

    # -- queues and pools -------------------------------------------------------------------------------------------

    def _capacity(self, queue: str) -> Resources:
        spec = self.memory.governing.queue(queue)
        if spec.capacity.source is CapacitySource.STATED:
            return _amounts(spec.capacity.maximum)
        return self.memory.occupancy.capacity(queue, spec.node_selector)

    def _free(self, queue: str) -> Resources:
        """Σ room over the queue's nodes, less what is on its way there; without the extender, by declared sums."""
        if self.rooms is not None:
            return (
                self.rooms.get(queue, NOTHING) - self._flying(queue, self.memory.flights.unbooked(self.now))
            ).at_least(NOTHING)
        occupancy = self.memory.occupancy
        selector = self.memory.governing.queue(queue).node_selector
        left = total(occupancy.free(node.name) for node in occupancy.selected(selector) if node.open)
        return (left - self._flying(queue, [uid for uid, _ in self.memory.flights.all()])).at_least(NOTHING)

    def _flying(self, queue: str, uids: Iterable[str]) -> Resources:
        """What pods on their way to a queue's nodes declare."""
        memory = self.memory
        pods = [pod for uid in uids if (pod := memory.census.pod(uid)) is not None]
        return total(pod.declared for pod in pods if memory.governing.queue_of(pod.namespace) == queue)

    def _queue(self, name: str, capacity: Resources, free: Resources, guarded: str) -> Queue:
        spec = self.memory.governing.queue(name)
        return Queue(
            name=name,
            capacity=capacity,
            maximum=_amounts(spec.capacity.maximum) if spec.capacity.maximum else None,
            free=free,
            order=Order(spec.order.value),
            weights={namespace: float(weight) for namespace, weight in spec.weights.items()},
            paused=spec.state is QueueState.PAUSED,
            draining=spec.state is QueueState.DRAINING,
            pool=guarded,
            growth=spec.growth_pods,
        )

    def _pool(self, queue: str, apps: Sequence[AppView], capacity: Resources, free: Resources) -> Pool | None:
        memory = self.memory
        name = memory.governing.pool_of(queue)
        if not name:
            return None
        spec = memory.governing.pools[name]
        if name not in memory.pool_states:
            status = memory.governing.status.get(("ReservationPool", name), {})
            memory.pool_states[name] = restored(spec, status)
        return pool(
            name,
            spec,
            memory.pool_states[name],
            apps,
            memory.categories,
            memory.phases,
            capacity=capacity,
            free=free,
            now=self.now,
        )

    # -- apps -------------------------------------------------------------------------------------------------------

    def _app(self, each: AppView, queue: str, guarded: Pool | None) -> App:
        return App(
            id=each.id,
            namespace=each.namespace,
            submitted=each.submitted,
            groups=self._supposed(each) if self.supposed else self._groups(each),
            queue=queue,
            priority=each.priority,
            started=each.started,
            category=self.memory.categories.get(each.id),
            demand=demand(each, guarded.slot) if guarded else None,
            task_request=each.size.request if each.size else None,
            has_driver=each.has_driver,
            gang=each.gang,
            strict=each.strict,
            stage=each.stage,
            stages=each.stages,
            paused=each.pause == "true" or (each.pause == "drain" and not each.started),
        )

    def _groups(self, each: AppView) -> tuple[PodGroup, ...]:
        """Without pods that may not be released now, and with a mark on those that just found no node."""
        if self.memory.governing.mode(each.namespace) is not Mode.ENFORCE:
            # Nothing is held there, and what waits for our scheduler takes nothing of the window.
            return tuple(replace(_without(group, group.held), released=0) for group in each.groups)
        if not each.settled:
            return tuple(_without(group, group.held) for group in each.groups)
        refused = self.memory.refused
        if not refused:
            return each.groups
        return tuple(
            replace(group, unplaceable=True) if any(uid in refused for uid in group.held) else group
            for group in each.groups
        )

    def _supposed(self, each: AppView) -> tuple[PodGroup, ...]:
        """In modes that hold nothing: what waits for a scheduler now would be held."""
        if self.memory.governing.mode(each.namespace) is Mode.ENFORCE:
            return self._groups(each)
        return tuple(
            replace(group, held=each.pending[group.key], released=0, blocked=0) if group.key in each.pending else group
            for group in each.groups
        )


def _without(group: PodGroup, uids: Sequence[str]) -> PodGroup:
    if not uids:
        return group
    taken = set(uids)
    left = tuple(uid for uid in group.held if uid not in taken)
    return replace(group, held=left, blocked=group.blocked + len(taken))


def _amounts(written: Mapping[str, int | str]) -> Resources:
    return resources({kind: str(value) for kind, value in written.items()})
