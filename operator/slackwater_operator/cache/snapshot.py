"""The one snapshot that a round of gatekeeping reads, made from everything that is remembered. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slackwater.admission.awaitedpods import awaited
from slackwater.cycle.appstarts.priorsize import without_impossible
from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.resources import Resources
from slackwater_cluster.apps.size import HISTORY
from slackwater_cluster.customresources import Mode
from slackwater_cluster.customresources.admissionqueue import QueueState
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.pools import demand
from slackwater_operator.cache.queues import Moment, QueueView, amounts
from slackwater_operator.cache.rooms import Rooms

if TYPE_CHECKING:
    from numpy.typing import NDArray


# So many writes of equal pods may fail before it is more than a mishap of each.
FEW_UNWRITTEN = 2


def take_snapshot(
    cache: OperatorCache, now: float, rooms: Rooms | None, *, wall: float | None = None, supposed: bool = False
) -> Snapshot:
    """Let the cache move on to this moment, and write down everything that one round may know.

    Without `rooms` the extender does not answer. `wall` is the time that ages of pods are told by, where that is not
    `now`. `supposed`: as if every managed namespace were in mode enforce.
    """
    found = SnapshotBuilder(cache, cache.advance(now, rooms, now if wall is None else wall), supposed).snapshot()
    if not supposed:
        cache.looked(found)
    return found


@dataclass(frozen=True, slots=True)
class SnapshotBuilder:
    """Puts together what one round may know at a moment to which the cache has moved on; it changes nothing there."""

    cache: OperatorCache
    moment: Moment
    supposed: bool = False

    def snapshot(self) -> Snapshot:
        """Everything one round may know."""
        table, queues = self.moment.nodes.table, self.moment.queues
        apps = [self._app(each, queue.name, queue.pool) for queue in queues for each in queue.apps]
        apps += [self._app(each, "", None) for each in self.moment.unqueued]
        found = Snapshot(
            self.moment.now,
            tuple(map(self._queue, queues)),
            tuple(apps),
            tuple(queue.pool for queue in queues if queue.pool),
            window=self.cache.window,
            nodes=table,
            reach=self._reach(),
            foreign=self.cache.node_requests.foreign(table.names, table.kinds),
        )
        return without_impossible(found, self._guessed())

    def _guessed(self) -> set[str]:
        """Apps whose task size is known from earlier runs of their name alone."""
        return {
            each.id
            for each in self.cache.views.values()
            if each.size is not None
            and each.size.source == HISTORY
            and self.cache.views.histories.blocked(each.id) is None
        }

    def _reach(self) -> dict[str, NDArray[np.bool_]]:
        """The nodes that each kind of constraints accepts."""
        found: dict[str, NDArray[np.bool_]] = {}
        for each in self.cache.views.values():
            for name, constraints in each.constraints.items():
                if name not in found:
                    found[name] = self.cache.reach.accepted(constraints)
        return found

    def _queue(self, queue: QueueView) -> Queue:
        spec = self.cache.governing.queue(queue.name)
        return Queue(
            name=queue.name,
            capacity=queue.capacity,
            maximum=amounts(spec.capacity.maximum) if spec.capacity.maximum else None,
            free=queue.free,
            order=Order(spec.order.value),
            weights={namespace: float(weight) for namespace, weight in spec.weights.items()},
            paused=spec.state is QueueState.PAUSED,
            draining=spec.state is QueueState.DRAINING,
            pool=queue.pool.name if queue.pool else "",
            growth=spec.growth_pods,
            nodes=queue.rows,
            shares=queue.shares,
        )

    # -- apps -------------------------------------------------------------------------------------------------------

    def _app(self, each: AppView, queue: str, guarded: Pool | None) -> App:
        task_request, together = self._tasks(each)
        history = self.cache.views.histories.of(each.id)
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
            has_driver=history.has_driver(each, self.moment.now),
            tasks_to_come=each.leads and each.size is None,
            gang=each.gang,
            announced=0 if history.complete(each, self.moment.now) else each.announced,
            strict=each.strict,
            stage=each.stage,
            stages=each.stages,
            paused=each.pause == "true" or (each.pause == "drain" and not each.started),
            held_since=self._held_since(each) if each.started else None,
            served=each.served,
            driver_bound=each.driver_bound,
            behind=self.cache.views.histories.behind(each.id, self.cache.views),
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
        if (need := self.cache.views.histories.blocked(each.id)) is not None:
            return need.request, need.together
        if each.size is None:
            return None, 1
        return each.size.request, each.size.tasks if each.gang else 1

    def _groups(self, each: AppView) -> tuple[PodGroup, ...]:
        """Without pods that may not be released now, and with a mark on those that just found no node."""
        if self.cache.governing.mode(each.namespace) is not Mode.ENFORCE:
            # Nothing is held there, and what waits for our scheduler takes nothing of the window.
            return tuple(replace(_without_held(group), released=0, growing=()) for group in each.groups)
        if not each.settled or self.cache.views.unsized(each) or each.namespace in self.cache.backed_up:
            return tuple(_without_held(group) for group in each.groups)
        groups = self._arrived(each)
        if not self.cache.refused and not self.cache.grown_in_vain and not len(self.cache.paused):
            return groups
        known = (self._tried(group, each.pending.get(group.key, ())) for group in groups)
        return tuple(map(self._marked, (part for group in known for part in self._parted(group, each.gang))))

    def _tried(self, group: PodGroup, on_their_way: Sequence[str]) -> PodGroup:
        tried = any(self.cache.paused.unbound(uid) for uid in (*group.held, *on_their_way))
        return replace(group, tried=True) if tried else group

    def _parted(self, group: PodGroup, gang: bool) -> tuple[PodGroup, ...]:
        """The group, and apart from it what pauses: pods that were let go in vain.

        What keeps a pod from being bound, or many from being written, may keep out others of its group. So of these
        one is tried, and as many as run already; also when the pauses are over, which may be for all at one moment. A
        gang is tried as a whole then.
        """
        paused = {uid for uid in group.held if uid in self.cache.paused}
        unbound = any(self.cache.paused.unbound(uid) for uid in group.held)
        if not paused and (gang or not unbound):
            return (group,)
        others = [uid for uid in group.held if uid not in paused]
        if len(paused) > FEW_UNWRITTEN or unbound:
            others = others[: max(0, 1 + group.running - group.released)]
        going = set(others)
        rest = tuple(uid for uid in group.held if uid not in going)
        alone = replace(group, released=0, running=0, finished=0, expected=0, blocked=0, seats=(), growing=())
        aside = replace(alone, key=f"{group.key}/paused", held=rest, pausing=True)
        left = replace(group, held=tuple(others), expected=max(0, group.expected - len(rest)))
        return (left, aside) if left.total else (aside,)

    def _marked(self, group: PodGroup) -> PodGroup:
        unplaceable = any(uid in self.cache.refused for uid in group.held)
        in_vain = not self.cache.grown_in_vain.isdisjoint((*group.held, *group.growing))
        return replace(group, unplaceable=unplaceable, in_vain=in_vain) if unplaceable or in_vain else group

    def _arrived(self, each: AppView) -> tuple[PodGroup, ...]:
        """With a mark on stages whose parents may still come, and without the rest of a gang that comes no more."""
        early = {one.stage for one in each.awaited if each.strict and awaited(one.since, self.moment.now)}
        alone = each.announced and self.cache.views.histories.of(each.id).complete(each, self.moment.now)
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
            replace(group, held=each.pending[group.key], released=0, growing=(), blocked=0, elsewhere=0, stranded=0)
            if group.key in each.pending
            else group
            for group in each.groups
        )


def _without_held(group: PodGroup) -> PodGroup:
    held = len(group.held)
    return replace(group, held=(), blocked=group.blocked + held, unknown=held) if held else group
