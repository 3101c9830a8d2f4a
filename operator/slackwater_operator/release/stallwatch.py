"""Watches for stalls round by round: what the core finds, with the pods of this cluster to tell and to evict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from slackwater.admission.stall import RunningPod
from slackwater.cycle.snapshot import Snapshot
from slackwater.cycle.stalls.detection import Stall, StallHistory, detect
from slackwater.cycle.stalls.sharednodes import in_turn
from slackwater.cycle.stalls.victim import BoundPod, Eviction, choose
from slackwater_cluster.apps.membership import app_id
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.nodefit import shut
from slackwater_operator.cache.apps.appindex import Pod
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.podstate import PodState
from slackwater_operator.cache.roundresult import RoundResult


@dataclass(frozen=True, slots=True)
class StallAction:
    """What is to be done about a stall: whom to tell, and whom to evict where its queue says so."""

    stall: Stall
    told: tuple[tuple[str, PodRecord], ...]  # apps that wait, each with the pod that stands for it
    victim: PodRecord | None = None
    eviction: Eviction | None = None  # of the victim


@dataclass
class StallKeeper:
    """Remembers between rounds what was seen of stalls."""

    cache: OperatorCache
    clock: Callable[[], float]
    _history: StallHistory = field(default_factory=StallHistory)
    _asked: Counter[str] = field(default_factory=Counter)  # how often each pod was asked to leave

    def look(self, result: RoundResult) -> list[StallAction]:
        """What is stalled now, and what is to be done about it."""
        snapshot, queue = result.snapshot, self.cache.governing.queue
        patience = {each.name: queue(each.name).stall.after_seconds for each in snapshot.queues}
        self._history, found = detect(
            self._history, snapshot, result.round.verdicts, self.clock(), patience, holding=bool(result.holding)
        )
        return self._in_turn(result.snapshot, [self._action(result, stall) for stall in found])

    def _in_turn(self, snapshot: Snapshot, actions: Sequence[StallAction]) -> list[StallAction]:
        """On shared nodes one pod is given up at a time; where it was asked and stayed, it is another's turn."""
        victims = {each.victim.uid: each.stall for each in actions if each.victim is not None}
        if not victims:
            return list(actions)
        chosen = in_turn(snapshot, {uid: victims[uid] for uid in sorted(victims, key=self._asked.__getitem__)})
        there = {uid: times for uid, times in self._asked.items() if self.cache.index.pod(uid) is not None}
        self._asked = Counter(there) + Counter(chosen)
        return [
            each if each.victim is None or each.victim.uid in chosen else replace(each, victim=None, eviction=None)
            for each in actions
        ]

    def reset(self, queue: str) -> None:
        """Something was done about it: count anew."""
        self._history = self._history.reset(queue)

    def _action(self, result: RoundResult, stall: Stall) -> StallAction:
        told = tuple((app, pod) for app in stall.told if (pod := self._lead(app)) is not None)
        if not self.cache.governing.queue(stall.queue).stall.evict_youngest_driver:
            return StallAction(stall, told)
        pods = self._bound(app.id for app in stall.apps)
        eviction = choose(stall, result.snapshot, result.round.verdicts, [_bound_pod(pod) for pod in pods.values()])
        return StallAction(stall, told, pods[eviction.uid].record if eviction else None, eviction)

    def _lead(self, app: str) -> PodRecord | None:
        known = self.cache.views.get(app)
        return self.cache.index.pod(known.lead) if known else None

    def _bound(self, apps: Iterable[str]) -> dict[str, Pod]:
        """Pods of these apps that are on nodes, and whose room others could use."""
        pods = self.cache.pods_of(self.cache.views[app] for app in apps if app in self.cache.views)
        return {
            pod.uid: pod
            for pod in pods
            if self.cache.state_of(pod.record) is PodState.BOUND and self._frees(pod.record)
        }

    def _frees(self, pod: PodRecord) -> bool:
        """Whether others could use the room of a pod: nobody can while its node is shut."""
        node = self.cache.node_requests.nodes.get(pod.node)
        return node is None or not shut(pod.constraints, node)


def _bound_pod(pod: Pod) -> BoundPod:
    record = pod.record
    controlled = any(owner.controller for owner in record.owners)
    return BoundPod(
        RunningPod(pod.uid, record.started or record.created, controlled),
        app_id(record.namespace, pod.member.app),
        pod.role,
        pod.member.stage,
        record.declared,
    )
