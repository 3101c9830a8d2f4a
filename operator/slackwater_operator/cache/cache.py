"""The operator's whole memory: what watches told, what writers did, and the apps put together from both. No I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import structlog

from slackwater.cycle.appsize import TaskNeed
from slackwater.cycle.cycle import Round
from slackwater.cycle.snapshot import Snapshot
from slackwater.pools.appphases import AppPhases
from slackwater.pools.phases import Window
from slackwater.resources import Resources, total
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps.frameworks import FrameworkTable, builtin
from slackwater_cluster.apps.resolver import role_of
from slackwater_cluster.apps.size import AppSize, StatedSize
from slackwater_cluster.customresources import Mode
from slackwater_cluster.governance import Governance
from slackwater_cluster.watch.records import NamespaceRecord, NodeRecord, OwnerRef, PodRecord
from slackwater_operator.cache import phases as watching
from slackwater_operator.cache.apps import sizeobject
from slackwater_operator.cache.apps.apphistory import AppHistories, AppName
from slackwater_operator.cache.apps.appindex import AppIndex, Key, Pod, app_id
from slackwater_operator.cache.apps.appview import AppView, app_view
from slackwater_operator.cache.nodes import NodeRequests
from slackwater_operator.cache.podstate import UNSCHEDULABLE, InFlightPods, PodState, state
from slackwater_operator.cache.pools import PoolState
from slackwater_operator.cache.quarantine import Part, Quarantine, sentence
from slackwater_operator.cache.refusals import Pauses, Refusals, Vain
from slackwater_operator.cache.rooms import NodeReach, Rooms
from slackwater_operator.cache.snapshot import SnapshotBuilder
from slackwater_operator.cache.strays import Strays
from slackwater_operator.learning.runhistory import RunHistory
from slackwater_operator.learning.usage import Likeness, UsageHistory

log = structlog.get_logger(__name__)


@dataclass
class OperatorCache:
    """The operator's whole memory. Watches and writers change it, `snapshot` reads it."""

    governing: Governance = field(default_factory=Governance)
    table: FrameworkTable = field(default_factory=builtin)
    window: int = 200
    ask_sizes: bool = False  # whether somebody looks up the sizes that frameworks' objects state

    def __post_init__(self) -> None:
        self.in_flight = InFlightPods()
        self.index = AppIndex(self.governing, self.table)
        self.node_requests = NodeRequests(self._seat_queue)
        self.reach = NodeReach(self.node_requests)
        self.phases = AppPhases()
        self.views: dict[str, AppView] = {}  # by cluster-wide app id
        self.histories = AppHistories()
        self.runs = RunHistory()
        self.pool_states: dict[str, PoolState] = {}
        self.refused = Refusals(self.reach)
        self.paused = Pauses()
        self.learning = UsageHistory()
        self.quarantine = Quarantine()
        self.nominated_in_vain: dict[str, float] = {}  # pods whose release failed after their nomination, and when
        self.grown_in_vain: set[str] = set()  # pods released towards nodes that did not come in time
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
            self.quarantine.add(Part.POD, pod, problem)

    def drop_pods(self, records: Sequence[PodRecord], now: float) -> None:
        """Pods are gone."""
        for record in records:
            self._everyone.pop(record.uid, None)
            self.node_requests.drop(record)
            if (member := self.index.member(record.uid)) is not None:
                self.histories.of(app_id((record.namespace, member.app))).left = now
            self.index.drop(record)
            self.in_flight.end(record.uid)
            self.refused.forget(record.uid)
            self.paused.forget(record.uid)
            watching.gone(self.phases, record, now)
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
        for name in self.governing.set_namespaces(records):
            self._review(name, now)
        self.press()

    def drop_namespaces(self, records: Iterable[NamespaceRecord], now: float) -> None:
        """Namespaces are gone."""
        for name in self.governing.drop_namespaces(records):
            self._review(name, now)

    def govern(self) -> None:
        """Policies, queues or pools changed: roles may differ, and pods may belong to other queues."""
        self.index.follow(self.table)
        # A pool that is made again under the name of one that is gone begins where its own specification says.
        self.pool_states = {name: each for name, each in self.pool_states.items() if name in self.governing.pools}
        self.node_requests.keep_queues(set(self.governing.queue_names()))
        for pod in list(self._everyone.values()):
            self.node_requests.set(pod)
        self.press()

    def learn(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> None:
        """An owner was looked up."""
        self.index.learn(owner, parents)
        self.press()

    def unsized(self, each: AppView) -> bool:
        """Whether the app waits for its size to be asked for: driver admission or a pool will need it.

        The round that lets its first pods go must not come first: a job whose pods are still being made looks small.
        """
        if not self.ask_sizes or each.size is not None or each.started or self.histories.of(each.id).size_asked:
            return False
        needed = each.has_driver or bool(self.governing.pool_of(self.governing.queue_of(each.namespace)))
        return needed and bool(sizeobject.name(each, sizeobject.row(self.table, each)))

    def sized(self, each: AppView, stated: StatedSize) -> None:
        """The app's framework was asked."""
        history = self.histories.of(each.id)
        history.size_asked, history.driverless = True, stated.driver is False
        self.press()
        if stated.size is not None:
            self.resize(each, stated.size)

    def resize(self, each: AppView, size: AppSize) -> None:
        """The app's size became known."""
        self.histories.of(each.id).size = size
        if each.id in self.views:
            self.views[each.id] = self._sized(self.views[each.id])
        self.press()

    def measured(self, uses: Mapping[str, Resources]) -> None:
        """What pods use now, as the extender measured it."""
        known = {uid: (like, use) for uid, use in uses.items() if (like := self._likeness(uid)) is not None}
        self.learning.observe(known)

    def wanted(self, pod: PodRecord) -> Resources | None:
        """Requests a task should be given at its release, where its policy lets requests be learned."""
        terms = self.governing.policy(pod.namespace).reclaim
        if not terms.enabled or pod.annotations.get(names.ADMITTED_ROLE) != names.TASK or not pod.gated:
            return None
        like = self._likeness(pod.uid)
        return self.learning.wanted(like, pod, terms) if like is not None else None

    def _likeness(self, uid: str) -> Likeness | None:
        pod, member = self.index.pod(uid), self.index.member(uid)
        if pod is None or member is None:
            return None
        each = self.views.get(f"{pod.namespace}/{member.app}")
        return (pod.namespace, each.series if each else member.app, member.role, member.stage)

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
        spec = self.governing.queue(self.governing.queue_of(pod.namespace))
        return bool(spec.capacity.maximum) and spec.growth_pods > 0

    def moved(self, uid: str, now: float, node: str) -> None:
        """A pod on its way got another node, or none."""
        self.in_flight.moved(uid, now, node)
        self._touch(uid)

    def end(self, uid: str) -> None:
        """A release was taken back: it could not be written, or the pod was parked."""
        self.in_flight.end(uid)
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
            self.histories.block(*blocked, now)
        if ahead is not None:
            self.histories.give_way(*ahead, now)

    def remember(self, decided: Round) -> None:
        """Keep what a round decided for later rounds: the border moves on."""
        for name, adjustment in decided.adjustments.items():
            if name in self.pool_states:
                self.pool_states[name].delta = adjustment.delta

    # -- what a round reads ---------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Put apps together anew whose pods changed."""
        dirty, self.index.dirty = self.index.dirty, set()
        try:
            self._rebuild(dirty)
        except BaseException:
            self.index.dirty |= dirty  # or those not yet put together would drop out of the memory
            raise

    def _rebuild(self, dirty: set[Key]) -> None:
        before = {key: self.views.pop(app_id(key), None) for key in dirty}
        found = {key: self._portrait(key) for key in dirty}
        for key, each in found.items():
            if each is None or self.histories.follow(each):
                self._over(before[key], app_id(key))
        # What ended first: the next run of its series may be among those that are new.
        seen = [self.histories.of(each.id).see(each) for each in found.values() if each is not None]
        for each in seen:
            self.runs.observe(each)
        for each in seen:
            self.views[each.id] = self._sized(each)
            for stage, size in watching.sizes(self.views[each.id]).items():
                self.phases.expect(each.id, stage, size)

    def _over(self, old: AppView | None, app: str) -> None:
        """A run of an app is over: its last pod is gone, or the next run has begun."""
        if old is not None and self.governing.managed(old.namespace):
            self.runs.gone(old)
        elif old is not None:
            self.runs.opted_out(old)
        self.histories.forget(app)
        self.phases.forget(app)

    def _portrait(self, key: Key) -> AppView | None:
        """The app. One that cannot be put together is left out; the others go on."""
        try:
            pods = self.index.app(key)
            if not pods:
                return None
            left = self.histories.of(app_id(key)).left
            return app_view(*key, pods, self.in_flight, self.table, left)
        except Exception as problem:
            log.exception("app set aside", namespace=key[0], app=key[1][:253])
            for pod in [pod for uid in self.index.members(key) if (pod := self.index.pod(uid)) is not None][:1]:
                self.quarantine.add(Part.APP, pod, f"its app cannot be put together: {sentence(problem)}")
            return None

    def restore_name(self, app: str, name: str, series: str) -> None:
        """What a leader before us called an app of which only tasks are left."""
        each, known = self.views.get(app), self.histories.of(app)
        if each is not None and name and series and not (known.name and known.name.by_driver):
            known.name = AppName(name, series, by_driver=True)
            self.views[app] = known.called(each)

    def resize_by_history(self) -> None:
        """What a leader before us learned of earlier runs counts for apps that are here already, too."""
        self.views = {app: self._sized(each) for app, each in self.views.items()}

    def snapshot(self, now: float, rooms: Rooms | None, *, supposed: bool = False) -> Snapshot:
        """Everything one round may know; `supposed` as if every managed namespace were in mode enforce."""
        self.refresh()
        self.news = self.news and supposed
        self.refused.expire(now, rooms)
        self.paused.look(now)
        self.histories.expire(self.views, now)
        found = SnapshotBuilder(self, now, rooms, supposed).snapshot()
        if not supposed:
            self.pressing = False
            self.holding = any(group.held for app in found.apps for group in app.groups)
        return found

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
            self._strays.forget(pod.uid)
            for problem in pod.problems:
                self.quarantine.add(Part.STATEMENT, pod, problem)
        elif not self._strays.note(pod, now):
            self.in_flight.end(pod.uid)
        self.index.set(pod)
        member = self.index.member(pod.uid)
        # A driver ends with its app, not with a phase.
        if member is not None and (pod.started or pod.done) and role_of(pod, member) is not Role.DRIVER:
            app = f"{pod.namespace}/{member.app}"
            watching.observe(self.phases, app, pod, member.stage, self._window(pod.namespace), now)

    def _window(self, namespace: str) -> Window:
        pool = self.governing.pools.get(self.governing.pool_of(self.governing.queue_of(namespace)))
        return watching.window(pool) if pool is not None else Window()

    def _review(self, namespace: str, now: float) -> None:
        pods = [each for each in self._everyone.values() if each.namespace == namespace]
        for pod in pods:
            self._guarded(pod, now)
        self.index.review(pods)

    def _touch(self, uid: str) -> None:
        pod, member = self.index.pod(uid), self.index.member(uid)
        if pod is not None and member is not None:
            self.index.dirty.add((pod.namespace, member.app))
            self.news = True

    def _sized(self, each: AppView) -> AppView:
        """The size its user states, else what its framework's object or an earlier run says."""
        known = self.histories.of(each.id).size or self.runs.expected(each)
        return replace(each, size=known) if each.size is None and known is not None else each

    def _seat_queue(self, pod: PodRecord) -> str:
        return self.governing.queue_of(pod.namespace) if self.governing.manages(pod) else ""

    def queue_nodes(self, queue: str) -> tuple[str, ...] | None:
        """The nodes of a queue that has a selector; None where all of them serve."""
        selector = self.governing.queue(queue).node_selector
        return tuple(node.name for node in self.node_requests.selected(selector)) if selector else None

    def allowed_nodes(self, pod: PodRecord) -> tuple[str, ...] | None:
        """The nodes of the pod's queue."""
        return self.queue_nodes(self.governing.queue_of(pod.namespace))

    def pods_of(self, apps: Iterable[AppView]) -> list[Pod]:
        """The pods of some apps."""
        wanted = {(each.namespace, each.app) for each in apps}
        found = ((record, self.index.member(record.uid)) for record in self.index.pods())
        return [
            Pod(record, member)
            for record, member in found
            if member is not None and (record.namespace, member.app) in wanted
        ]

    def looks_on(self) -> bool:
        """Whether some managed namespace is in a mode that holds nothing."""
        return any(self.governing.mode(name) is not Mode.ENFORCE for name in self.governing.managed_namespaces())

    def used(self, each: AppView) -> Resources:
        """What the app's pods were last measured to use, together."""
        key = (each.namespace, each.app)
        return total(self.learning.uses[uid] for uid in self.index.members(key) if uid in self.learning.uses)

    def busy(self) -> bool:
        """Whether anything of ours is bound or on its way: else this is a cold start."""
        return bool(self.in_flight) or any(each.counts.bound for each in self.views.values())

    def state_of(self, pod: PodRecord) -> PodState:
        """Where a pod stands."""
        return state(pod, self.in_flight)
