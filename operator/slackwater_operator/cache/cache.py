"""The operator's whole memory: what watches told, what writers did, and the apps put together from both. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import InitVar, dataclass, field

import structlog

from slackwater.cycle.appsize import TaskNeed
from slackwater.cycle.snapshot import Snapshot
from slackwater.resources import NOTHING, Resources
from slackwater.roles import Role
from slackwater_cluster.apps.resolver import role_of
from slackwater_cluster.customresources import Mode
from slackwater_cluster.frameworks import FrameworkTable, builtin
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import NamespaceRecord, NodeRecord, OwnerRef, PodRecord
from slackwater_operator.cache.apps.appindex import AppIndex, Pod
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.apps.appviews import AppViews
from slackwater_operator.cache.nodes import NodeRequests
from slackwater_operator.cache.podstate import UNSCHEDULABLE, InFlightPods, PodState, ours, state
from slackwater_operator.cache.quarantine import Part, Quarantine, sentence
from slackwater_operator.cache.queues import Moment, QueueViews
from slackwater_operator.cache.refusals import Pauses, Refusals, Vain
from slackwater_operator.cache.rooms import NodeReach, Rooms
from slackwater_operator.cache.strays import Strays
from slackwater_operator.learning.taskrequests import TaskRequests

log = structlog.get_logger(__name__)


@dataclass
class OperatorCache:
    """The operator's whole memory. Watches and writers change it; `advance` moves it on to the moment of a round."""

    governing: Governance = field(default_factory=Governance)
    table: FrameworkTable = field(default_factory=builtin)
    window: int = 200
    ask_sizes: InitVar[bool] = False  # whether somebody looks up the sizes that frameworks' objects state

    def __post_init__(self, ask_sizes: bool) -> None:
        self.in_flight = InFlightPods()
        self.index = AppIndex(self.governing, self.table)
        self.node_requests = NodeRequests(self._seat_queue, self.governing.manages)
        self.reach = NodeReach(self.node_requests)
        self.quarantine = Quarantine()
        self.views = AppViews(self.index, self.in_flight, self.governing, self.quarantine, ask_sizes=ask_sizes)
        self.queues = QueueViews(self.governing, self.node_requests, self.reach, self.views)
        self.learning = TaskRequests(self.index, self.views, self.governing)
        self.refused = Refusals(self.reach)
        self.paused = Pauses()
        self.nominated_in_vain: dict[str, float] = {}  # pods whose release failed after their nomination, and when
        self.grown_in_vain: set[str] = set()  # pods released towards nodes that did not come in time
        self.backed_up = frozenset[str]()  # namespaces whose releases wait for slow writes: no more are released there
        self.news = True  # something changed since the last snapshot
        self.pressing = True  # … that could let a held pod go; of running pods, what ends is told by the extender
        self.holding = True  # whether some pod waits for its release, as far as is known
        self._everyone: dict[str, PodRecord] = {}  # every pod of namespaces that might become managed
        self._strays = Strays()

    # -- what the watches tell ------------------------------------------------------------------------------------

    def set_pods(self, records: Sequence[PodRecord], now: float) -> None:
        """Pods are new or changed."""
        for record in records:
            self._everyone[record.uid] = record
            self._guarded(record, now)
        pressing = any(map(self._presses, records))
        self.holding, self.pressing = self.holding or pressing, self.pressing or pressing
        self.news = True

    def set_aside(self, pod: PodRecord, problem: str) -> None:
        """A pod on the wire could not be read at all; its owner is told, if the namespace is ours."""
        if self.governing.managed(pod.namespace):
            self.quarantine.add_unread(pod, problem)

    def drop_pods(self, records: Sequence[PodRecord], now: float) -> None:
        """Pods are gone."""
        for record in records:
            self._everyone.pop(record.uid, None)
            self.node_requests.drop(record)
            self.views.lose(record, now)
            self.index.drop(record)
            self.in_flight.end(record.uid)
            self.refused.forget(record.uid)
            self.paused.forget(record.uid)
            self._strays.forget(record.uid)
            self.quarantine.forget(record.uid)
            self.nominated_in_vain.pop(record.uid, None)
            self.grown_in_vain.discard(record.uid)
        self.news = True

    def set_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are new or changed; room there may be new room. Most only tell that they live, thousands a minute."""
        if self.node_requests.set_nodes(records):
            self.refused.clear()
            self.press()

    def drop_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are gone."""
        self.node_requests.drop_nodes(records)
        self.press()

    def set_namespaces(self, records: Iterable[NamespaceRecord], now: float) -> None:
        """Namespaces may have become managed, or follow another policy."""
        self._review(self.governing.set_namespaces(records), now)
        self.press()

    def drop_namespaces(self, records: Iterable[NamespaceRecord], now: float) -> None:
        """Namespaces are gone."""
        self._review(self.governing.drop_namespaces(records), now)

    def govern(self) -> None:
        """Policies, queues or pools changed: roles may differ, and pods may belong to other queues."""
        self.index.follow(self.table)
        self.queues.follow()
        self.node_requests.keep_queues(set(self.governing.queue_names()))
        for pod in list(self._everyone.values()):
            self.node_requests.set(pod)
        self.press()

    def learn(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> None:
        """An owner was looked up."""
        self.index.learn(owner, parents)
        self.press()

    # -- what the writers did -------------------------------------------------------------------------------------

    def begin(self, uid: str, now: float, node: str, *, growth: bool = False) -> None:
        """A pod is about to be released."""
        self.in_flight.begin(uid, now, node, growth=growth)
        self._touch(uid)

    def adopt_growth(self) -> None:
        """At take-over: pods that were released and fit nowhere, in a queue that may grow, have asked for machines.

        One of them may be on its way for another reason; it then gets the room that comes before any held pod.
        """
        for uid, _ in self.in_flight.all():
            pod = self.index.pod(uid)
            if pod is not None and pod.unscheduled == UNSCHEDULABLE and not pod.nominated and self._may_grow(pod):
                self.in_flight.towards_growth(uid)
                self._touch(uid)

    def _may_grow(self, pod: PodRecord) -> bool:
        spec = self.governing.queue_for(pod.namespace)
        return bool(spec.capacity.maximum) and spec.growth_pods > 0

    def moved(self, uid: str, now: float, node: str) -> None:
        """A pod on its way got another node, or none."""
        self.in_flight.moved(uid, now, node)
        self._touch(uid)

    def end(self, uid: str) -> None:
        """A release was taken back: it could not be written, or the pod was parked."""
        self.in_flight.end(uid)
        self._touch(uid)

    def take_back(self, uid: str) -> bool:
        """A release was not confirmed: it is taken back, unless the watch has shown that it was written all the same.

        Else a pod without gate and mark would take a place in the window, and nobody would look after it.
        """
        on_its_way = self.in_flight.get(uid)
        if on_its_way is not None and on_its_way.seen:
            return False
        self.end(uid)
        return True

    def strand(self, uid: str, now: float) -> None:
        """A pod could not be parked: it pauses as if it were, and the window is for others."""
        self.in_flight.strand(uid, now)
        self.pause(uid, now, Vain.UNBOUND)
        self._touch(uid)

    def pause(self, uid: str, now: float, cause: Vain) -> None:
        """A release came to nothing: others go first for a while. A pod that went meanwhile pauses no more."""
        if uid in self._everyone:
            self.paused.begin(uid, now, cause)

    def gave_up(
        self, blocked: tuple[str, TaskNeed] | None, ahead: tuple[str, Sequence[str]] | None, now: float
    ) -> None:
        """A driver was evicted to end a stall: its next one is placed by what its tasks ask for, after these others."""
        if blocked is not None:
            self.views.histories.block(*blocked, now)
        if ahead is not None:
            self.views.histories.give_way(*ahead, now)

    # -- what a round reads ---------------------------------------------------------------------------------------

    def advance(self, now: float, rooms: Rooms | None, wall: float) -> Moment:
        """Move on to this moment: apps are put together, what has expired is forgotten, queues and pools look anew.

        Without `rooms` the extender does not answer, and nodes have what declared requests leave. What we began
        ourselves lasts until `now`, and how old pods are is told by `wall`.
        """
        self.views.refresh()
        self.refused.expire(now, rooms)
        self.paused.look(now)
        self.views.histories.expire(self.views, now)
        return self.queues.advance(wall, rooms or Rooms.declared(self.node_requests, *self._on_their_way()))

    def looked(self, found: Snapshot) -> None:
        """A round knows everything: until something changes there is no news, and whether some pod is held is known."""
        self.news = self.pressing = False
        self.holding = any(group.held for app in found.apps for group in app.groups)

    def _on_their_way(self) -> tuple[dict[str, Resources], dict[str, Resources]]:
        """Without the extender: what released pods declare, by their node, and by namespace where they have none."""
        nodes: dict[str, Resources] = {}
        namespaces: dict[str, Resources] = {}
        for uid, on_its_way in self.in_flight.all():
            pod = self.index.pod(uid)
            if pod is not None and on_its_way.node:
                nodes[on_its_way.node] = nodes.get(on_its_way.node, NOTHING) + pod.declared
            elif pod is not None and not (on_its_way.growth or on_its_way.stranded):
                namespaces[pod.namespace] = namespaces.get(pod.namespace, NOTHING) + pod.declared
        return nodes, namespaces

    def freed(self, now: float) -> list[PodRecord]:
        """Held and parked pods of namespaces whose mode holds nothing, or that opted out: they are let go.

        Those whose release failed before come last, so that they do not keep the others.
        """
        self.paused.look(now)
        found = [self._everyone[uid] for uid in self._strays.due(now, self.in_flight)] + [
            pod
            for each in self.views.values()
            if (each.counts.held or each.counts.parked) and self.governing.mode(each.namespace) is not Mode.ENFORCE
            for group in each.groups
            for uid in group.held
            if (pod := self.index.pod(uid)) is not None
        ]
        return sorted((pod for pod in found if pod.uid not in self.paused), key=lambda pod: self.paused.times(pod.uid))

    # -- parts ----------------------------------------------------------------------------------------------------

    def _presses(self, pod: PodRecord) -> bool:
        """Whether news of a pod may let a held one go at once: it is held itself, or a driver that others wait for."""
        if not pod.node:
            return pod.gated or pod.parked
        member = self.index.member(pod.uid)
        return member is not None and role_of(pod, member) is Role.DRIVER

    def press(self) -> None:
        """Something changed that could let a held pod go."""
        self.news = self.pressing = True

    def _guarded(self, pod: PodRecord, now: float) -> None:
        """Take in one pod; one that cannot be taken in is set aside, and the others of this turn are not lost."""
        try:
            self.node_requests.set(pod)
            self._take(pod, now)
        except Exception as problem:
            log.exception("pod set aside", pod=pod.key)
            self.index.drop(pod)
            self.quarantine.add(Part.POD, pod, f"it cannot be taken in: {sentence(problem)}")

    def _take(self, pod: PodRecord, now: float) -> None:
        if pod.node:
            self.paused.forget(pod.uid)
        if self.governing.manages(pod):
            self.in_flight.observe(pod, now)
            self._strays.forget(pod.uid) if ours(pod) else self._strays.note(pod, now)
            for problem in pod.problems:
                self.quarantine.add(Part.STATEMENT, pod, problem)
        elif not self._strays.note(pod, now):
            self.in_flight.end(pod.uid)
        self.index.set(pod)
        self.views.observe(pod, now)

    def _review(self, namespaces: Iterable[str], now: float) -> None:
        """Look again at the pods of namespaces that became managed, are so no longer, or follow another policy."""
        found: dict[str, list[PodRecord]] = {name: [] for name in namespaces}
        for pod in self._everyone.values() if found else ():
            if pod.namespace in found:
                found[pod.namespace].append(pod)
        for pods in found.values():
            for pod in pods:
                self._guarded(pod, now)
            self.index.review(pods)

    def _touch(self, uid: str) -> None:
        pod, member = self.index.pod(uid), self.index.member(uid)
        if pod is not None and member is not None:
            self.index.dirty.add((pod.namespace, member.app))
            self.news = True

    def _seat_queue(self, pod: PodRecord) -> str:
        return self.governing.queue_of(pod.namespace) if self.governing.manages(pod) else ""

    def queue_nodes(self, queue: str) -> tuple[str, ...] | None:
        """The nodes of a queue that has a selector; None where all of them serve."""
        selector = self.governing.queue(queue).node_selector
        return tuple(node.name for node in self.node_requests.selected(selector)) if selector else None

    def pods_of(self, apps: Iterable[AppView]) -> list[Pod]:
        """The pods of some apps."""
        return [pod for each in apps for pod in self.index.app((each.namespace, each.app))]

    def looks_on(self) -> bool:
        """Whether some managed namespace is in a mode that holds nothing."""
        return any(self.governing.mode(name) is not Mode.ENFORCE for name in self.governing.managed_namespaces())

    def busy(self) -> bool:
        """Whether anything of ours is bound or on its way: else this is a cold start."""
        return bool(self.in_flight) or any(each.counts.bound for each in self.views.values())

    def state_of(self, pod: PodRecord) -> PodState:
        """Where a pod stands."""
        return state(pod, self.in_flight)
