"""The one snapshot that a round of gatekeeping reads, made from everything that is remembered. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slackwater.admission.capacity import NodeShares
from slackwater.admission.graceperiod import awaited
from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.cycle.starts.priorsize import without_impossible
from slackwater.resources import NOTHING, Resources, total
from slackwater_cluster.apps.size import HISTORY
from slackwater_cluster.customresources import Mode
from slackwater_cluster.customresources.admissionqueue import CapacitySource, QueueState
from slackwater_cluster.pods.quantities import resources
from slackwater_cluster.watch.records import ANYWHERE
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.pools import demand, pool, restored
from slackwater_operator.cache.rooms import Rooms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_operator.cache.cache import OperatorCache


# So many writes of equal pods may fail before it is more than a mishap of each.
FEW_UNWRITTEN = 2


@dataclass(frozen=True, slots=True)
class SnapshotBuilder:
    """Puts together what one round may know. `supposed`: as if every managed namespace were in mode enforce."""

    cache: OperatorCache
    now: float
    rooms: Rooms | None  # None: the extender does not answer
    supposed: bool = False

    def snapshot(self) -> Snapshot:
        """Everything one round may know."""
        nodes = self.rooms or Rooms.declared(self.cache.node_requests, *self._on_their_way())
        self.cache.reach.use(nodes.table.names)
        queues: list[Queue] = []
        pools: list[Pool] = []
        apps: list[App] = []
        members = self._by_queue()
        self.cache.histories.unclassify()
        for name in self.cache.governing.queue_names():
            mine = members.get(name, [])
            shares, reached = self._shares(name, nodes), self._reached(name, mine)
            capacity = shares.capacity(reached) if shares else self._stated(name, nodes, reached)
            free = self._free(name, nodes, reached)
            guarded = self._pool(name, mine, capacity, free)
            queues.append(self._queue(name, capacity, free, shares, guarded.name if guarded else ""))
            pools += [guarded] if guarded else []
            apps += [self._app(each, name, guarded) for each in mine]
        apps += [self._app(each, "", None) for each in members.get("", [])]
        found = Snapshot(
            self.now,
            tuple(queues),
            tuple(apps),
            tuple(pools),
            window=self.cache.window,
            nodes=nodes.table,
            reach=self._reach(),
            foreign=self.cache.node_requests.foreign(nodes.table.names, nodes.table.kinds),
        )
        return without_impossible(found, self._guessed())

    def _guessed(self) -> set[str]:
        """Apps whose task size is known from earlier runs of their name alone."""
        return {
            each.id
            for each in self.cache.views.values()
            if each.size is not None and each.size.source == HISTORY and self.cache.histories.blocked(each.id) is None
        }

    def _reach(self) -> dict[str, NDArray[np.bool_]]:
        """The nodes that each kind of constraints accepts."""
        found: dict[str, NDArray[np.bool_]] = {}
        for each in self.cache.views.values():
            for name, constraints in each.constraints.items():
                if name not in found:
                    found[name] = self.cache.reach.accepted(constraints)
        return found

    def _by_queue(self) -> dict[str, list[AppView]]:
        found: dict[str, list[AppView]] = {}
        queues: dict[str, str] = {}
        for each in self.cache.views.values():
            if each.namespace not in queues:
                queues[each.namespace] = self.cache.governing.queue_of(each.namespace)
            found.setdefault(queues[each.namespace], []).append(each)
        return found

    # -- queues and pools -------------------------------------------------------------------------------------------

    def _shares(self, queue: str, nodes: Rooms) -> NodeShares | None:
        """What each node adds to the queue's capacity; None where its owner stated the capacity."""
        stated = self.cache.governing.queue(queue).capacity.source is CapacitySource.STATED
        return None if stated else self._of_nodes(queue, nodes)

    def _of_nodes(self, queue: str, nodes: Rooms) -> NodeShares:
        selector = self.cache.governing.queue(queue).node_selector
        return self.cache.node_requests.shares(queue, selector, nodes.table.names, nodes.table.kinds)

    def _stated(self, queue: str, nodes: Rooms, reached: NDArray[np.bool_]) -> Resources:
        """What the queue's owner stated, and of kinds that were not named what the nodes have."""
        named = _amounts(self.cache.governing.queue(queue).capacity.maximum)
        return Resources({**self._of_nodes(queue, nodes).capacity(reached), **named})

    def _reached(self, queue: str, apps: Iterable[AppView]) -> NDArray[np.bool_]:
        """The queue's nodes that any of its apps can use; while it has none, those that an ordinary pod can."""
        wanted = {each for app in apps if not app.over for each in app.constraints.values()} or {ANYWHERE}
        reached: NDArray[np.bool_] = np.any([self.cache.reach.accepted(each) for each in wanted], axis=0)
        selected = self._rows(queue)
        return reached if selected is None else reached & selected

    def _free(self, queue: str, nodes: Rooms, reached: NDArray[np.bool_]) -> Resources:
        """Σ room over the nodes that are reached, less what is on its way there and not in the nodes' rooms."""
        mine = [
            amounts
            for namespace, amounts in nodes.reserved.items()
            if self.cache.governing.queue_of(namespace) == queue
        ]
        return (nodes.free(reached) - total(mine)).at_least(NOTHING)

    def _rows(self, queue: str) -> NDArray[np.bool_] | None:
        return self.cache.reach.selected(self.cache.governing.queue(queue).node_selector)

    def _on_their_way(self) -> tuple[dict[str, Resources], dict[str, Resources]]:
        """Without the extender: what released pods declare, by their node, and by namespace where they have none."""
        nodes: dict[str, Resources] = {}
        namespaces: dict[str, Resources] = {}
        for uid, on_its_way in self.cache.in_flight.all():
            pod = self.cache.index.pod(uid)
            if pod is not None and on_its_way.node:
                nodes[on_its_way.node] = nodes.get(on_its_way.node, NOTHING) + pod.declared
            elif pod is not None and not on_its_way.growth:
                namespaces[pod.namespace] = namespaces.get(pod.namespace, NOTHING) + pod.declared
        return nodes, namespaces

    def _queue(self, name: str, capacity: Resources, free: Resources, shares: NodeShares | None, guarded: str) -> Queue:
        spec = self.cache.governing.queue(name)
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
            nodes=self._rows(name),
            shares=shares,
        )

    def _pool(self, queue: str, apps: Sequence[AppView], capacity: Resources, free: Resources) -> Pool | None:
        cache = self.cache
        name = cache.governing.pool_of(queue)
        if not name:
            return None
        spec = cache.governing.pools[name]
        if name not in cache.pool_states:
            status = cache.governing.status.get(("ReservationPool", name), {})
            cache.pool_states[name] = restored(spec, status)
        return pool(
            name,
            spec,
            cache.pool_states[name],
            apps,
            cache.histories,
            cache.phases,
            capacity=capacity,
            free=free,
            now=self.now,
        )

    # -- apps -------------------------------------------------------------------------------------------------------

    def _app(self, each: AppView, queue: str, guarded: Pool | None) -> App:
        task_request, together = self._tasks(each)
        history = self.cache.histories.of(each.id)
        return App(
            id=each.id,
            namespace=each.namespace,
            submitted=self._submitted(each),
            groups=self._supposed(each) if self.supposed else self._groups(each),
            queue=queue,
            priority=each.priority,
            started=each.started,
            category=history.category,
            demand=demand(each, guarded.slot) if guarded else None,
            task_request=task_request,
            together=together,
            has_driver=history.has_driver(each, self.now),
            tasks_to_come=each.leads and each.size is None,
            gang=each.gang,
            announced=0 if history.complete(each, self.now) else each.announced,
            strict=each.strict,
            stage=each.stage,
            stages=each.stages,
            paused=each.pause == "true" or (each.pause == "drain" and not each.started),
            held_since=self._held_since(each) if each.started else None,
            behind=self.cache.histories.behind(each.id, self.cache.views),
        )

    def _submitted(self, each: AppView) -> float:
        """Its place in line; an app of which the scheduler bound no pod stands behind those that came meanwhile."""
        if each.started or not len(self.cache.paused):
            return each.submitted
        pauses = [self.cache.paused.unbound(uid) for group in each.groups for uid in group.held]
        ends = [pause.until for pause in pauses if pause is not None]
        return max(each.submitted, min(ends)) if ends and len(ends) == len(pauses) else each.submitted

    def _held_since(self, each: AppView) -> float | None:
        """When the oldest of its held pods came; they stand in order of creation."""
        first = (self.cache.index.pod(group.held[0]) for group in each.groups if group.held)
        return min((pod.created for pod in first if pod is not None), default=None)

    def _tasks(self, each: AppView) -> tuple[Resources | None, int]:
        """What a task asks for and how many run at once: of tasks that an earlier driver kept out, else as told."""
        if (need := self.cache.histories.blocked(each.id)) is not None:
            return need.request, need.together
        if each.size is None:
            return None, 1
        return each.size.request, each.size.tasks if each.gang else 1

    def _groups(self, each: AppView) -> tuple[PodGroup, ...]:
        """Without pods that may not be released now, and with a mark on those that just found no node."""
        if self.cache.governing.mode(each.namespace) is not Mode.ENFORCE:
            # Nothing is held there, and what waits for our scheduler takes nothing of the window.
            return tuple(replace(_without(group, group.held), released=0, growing=()) for group in each.groups)
        if not each.settled or self.cache.unsized(each):
            return tuple(_without(group, group.held) for group in each.groups)
        groups = self._arrived(each)
        if not self.cache.refused and not self.cache.grown_in_vain and not self.cache.paused.active:
            return groups
        return tuple(map(self._marked, (part for group in groups for part in self._parted(group))))

    def _parted(self, group: PodGroup) -> tuple[PodGroup, ...]:
        """The group, and apart from it what pauses: pods that were let go in vain.

        What keeps a pod from being bound, or many from being written, may keep out their likes. So of these one is
        tried, and as many as run already.
        """
        paused = {uid for uid in group.held if uid in self.cache.paused}
        if not paused:
            return (group,)
        others = [uid for uid in group.held if uid not in paused]
        if len(paused) > FEW_UNWRITTEN or any(self.cache.paused.unbound(uid) for uid in paused):
            others = others[: max(0, 1 + group.running - group.released)]
        going = set(others)
        rest = tuple(uid for uid in group.held if uid not in going)
        alone = replace(group, released=0, running=0, finished=0, expected=0, blocked=0, seats=(), growing=())
        aside = replace(alone, key=f"{group.key}/paused", held=rest, pausing=True)
        left = replace(group, held=tuple(others), expected=max(0, group.expected - len(rest)))
        return (left, aside) if left.total else (aside,)

    def _marked(self, group: PodGroup) -> PodGroup:
        unplaceable = any(uid in self.cache.refused for uid in group.held)
        in_vain = not self.cache.grown_in_vain.isdisjoint(group.held)
        return replace(group, unplaceable=unplaceable, in_vain=in_vain) if unplaceable or in_vain else group

    def _arrived(self, each: AppView) -> tuple[PodGroup, ...]:
        """With a mark on stages whose parents may still come, and without the rest of a gang that comes no more."""
        early = {one.stage for one in each.awaited if each.strict and awaited(one.since, self.now)}
        alone = each.announced and self.cache.histories.of(each.id).complete(each, self.now)
        if not early and not alone:
            return each.groups
        return tuple(
            replace(group, early=group.stage in early, expected=0 if alone else group.expected) for group in each.groups
        )

    def _supposed(self, each: AppView) -> tuple[PodGroup, ...]:
        """In modes that hold nothing: what waits for a scheduler now would be held."""
        if self.cache.governing.mode(each.namespace) is Mode.ENFORCE:
            return self._groups(each)
        return tuple(
            replace(group, held=each.pending[group.key], released=0, growing=(), blocked=0)
            if group.key in each.pending
            else group
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
