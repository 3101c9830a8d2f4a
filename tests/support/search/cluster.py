"""A cluster for the search: pods, nodes and kubelets under one clock, shown to any number of programs with their lag.

The stock scheduler's side and ours are the same class: what differs is the admission of pods and who watches.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from slackwater.admission.standing import backed
from slackwater.resources import CPU, MEMORY, Resources
from slackwater_cluster import names
from slackwater_cluster.apps.runs import series
from slackwater_cluster.objects.records import ANYWHERE, Constraints, NodeRecord, OwnerRef, PodRecord, Tolerated
from support.fakes.cluster import World
from support.search.plan import GIB, AppPlan, NodePlan, WorldPlan

TAINT = "dedicated"
PRESSURE = ("node.kubernetes.io/memory-pressure", "", "NoSchedule")
STOCK = "default-scheduler"
DAEMON = (OwnerRef("DaemonSet", "daemon", "daemon", "apps", True),)
Uses = Callable[[PodRecord], tuple[float, float]]


@dataclass
class Inbox:
    """What one program's watch delivers, some seconds late."""

    lag: float
    clock: Callable[[], float]
    _letters: deque[tuple[float, Callable[[], None]]] = field(default_factory=deque)

    def send(self, deliver: Callable[[], None]) -> None:
        """Deliver now, or when the lag is over."""
        if self.lag <= 0:
            deliver()
        else:
            self._letters.append((self.clock() + self.lag, deliver))

    def open(self) -> None:
        """Deliver what is due."""
        while self._letters and self._letters[0][0] <= self.clock() + 1e-9:
            self._letters.popleft()[1]()

    def clear(self) -> None:
        """A program that starts anew lists everything: older letters say nothing new."""
        self._letters.clear()


class Watcher(Protocol):
    """Somebody who watches pods and nodes."""

    inbox: Inbox

    def set_pods(self, records: Sequence[PodRecord]) -> None:
        """Pods are new or changed."""

    def drop_pods(self, records: Sequence[PodRecord]) -> None:
        """Pods are gone."""

    def set_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are new or changed."""

    def drop_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are gone."""


POLICY_STATUS = "/apis/slackwater.io/v1alpha1/slackpolicies/default/status"


class Cluster(World):
    """Nodes and pods of one plan. `managed`: the admission policy gates pods and lowers the requests of tasks."""

    def __init__(self, plan: WorldPlan, *, managed: bool) -> None:
        super().__init__(now=1000.0)
        self.plan, self.managed_pods = plan, managed
        self.watchers: list[Watcher] = []
        self.on: dict[str, dict[str, PodRecord]] = {}  # node → pods that hold something there
        self.waiting: dict[str, PodRecord] = {}  # pods without a node that have not ended
        self.moves = 0  # whatever changed
        self.progress = 0  # creations, binds, starts and ends: releases that lead to nothing are none
        self.uses_of: Uses = lambda _: (0.0, 0.0)
        self.assigned: Callable[[str], str] = lambda _: ""  # the node that the extender has placed a pod on, by uid
        self.evictions = 0
        self.outgrown: set[tuple[object, ...]] = set()  # the kinds of pods of which a kubelet ended one
        self.pressed: dict[str, float] = {}  # nodes that are tainted because their kubelet evicted, and until when
        self.terminating: dict[str, float] = {}  # pods that their user deleted, and when they are gone
        self.changed_at: dict[str, float] = {}  # when a node was last changed …
        self.visited_at: dict[str, float] = {}  # … and when a pod that is not ours was last bound there
        self.stopped: dict[str, str] = {}  # queues that are paused ("true") or closed to new apps ("drain")
        self.terms = {queue.name: queue for queue in plan.queues}  # as their owners wrote them last
        self.stopped_at = -math.inf  # when an owner last paused something or let it go on
        self.unmanaged: set[str] = set()  # namespaces that are not managed for now
        self.passed: dict[tuple[str, str], list[PodRecord]] = {}  # pods that came to a node, by app
        self._names: dict[tuple[str, str], str] = {}
        self.unstarted: dict[str, PodRecord] = {}
        self._version = 0
        for node in plan.nodes:
            if not node.late:
                self.join(node)

    def destination(self, pod: PodRecord) -> str:
        """The node that a pod without one is on its way to: nominated, or known to the filter alone."""
        return pod.nominated or self.assigned(pod.uid)

    def queue_stops(self, pod: PodRecord) -> bool:
        """Whether the queue of a pod lets it wait."""
        if not self.stopped or pod.namespace not in self.plan.namespaces:
            return False
        state = self.stopped.get(self.plan.queue(pod.namespace).name)
        return state == "true" or (state == "drain" and not self._begun(_app(pod)))

    def forget(self, app: tuple[str, str]) -> None:
        """A run of an app begins: what an earlier one of its name ran does not speak for it."""
        self.passed.pop(app, None)

    def _begun(self, app: tuple[str, str]) -> bool:
        """Whether an app has started: a driver of it came to a node, or tasks that speak for those that wait."""
        passed = self.passed.get(app, [])
        led = any(pod.annotations.get(names.ADMITTED_ROLE) == names.DRIVER for pod in passed)
        waiting = (pod.declared for pod in self.waiting.values() if _app(pod) == app)
        return led or (bool(passed) and backed(waiting, ((pod.declared, 1) for pod in passed)))

    # -- the API server -----------------------------------------------------------------------------------------------

    def put(self, *records: PodRecord) -> None:
        """Pods as they are now: remembered, indexed and shown to everybody who watches."""
        for record in records:
            self._version += 1
            stamped = msgspec.structs.replace(record, version=str(self._version))
            self._index(stamped)
            for watcher in self.watchers:
                watcher.inbox.send(lambda w=watcher, r=stamped: w.set_pods([r]))  # type: ignore[misc]

    def delete(self, *records: PodRecord) -> None:
        """Pods vanish."""
        for record in records:
            known = self.pods.pop(record.uid, None)
            if known is None:
                continue
            self._leave(known)
            self._names.pop((known.namespace, known.name), None)
            self.moves += 1
            self.progress += 1
            for watcher in self.watchers:
                watcher.inbox.send(lambda w=watcher, r=known: w.drop_pods([r]))  # type: ignore[misc]

    def named(self, namespace: str, name: str) -> PodRecord | None:
        """The pod of this name."""
        return self.pods.get(self._names.get((namespace, name), ""))

    def add_nodes(self, *records: NodeRecord) -> None:
        """Nodes join."""
        for record in records:
            self.nodes[record.name] = record
            self.changed_at[record.name] = self.now
            self.on.setdefault(record.name, {})
            for watcher in self.watchers:
                watcher.inbox.send(lambda w=watcher, r=record: w.set_nodes([r]))  # type: ignore[misc]
        self.moves += 1
        self.progress += 1

    def join(self, plan: NodePlan) -> None:
        """A node of the plan joins, with its daemon."""
        taints = ((TAINT, plan.group, "NoSchedule"),) if plan.tainted else ()
        self.add_nodes(
            NodeRecord(
                name=plan.name,
                uid=f"node-{plan.name}",
                labels=plan.labels,
                capacity=plan.size,
                allocatable=plan.size,
                ready=True,
                taints=taints,
            )
        )
        if plan.daemon:
            self._daemon(plan)

    def alter_node(self, name: str, **fields: object) -> None:
        """Somebody changes a node, if it is there."""
        if name in self.nodes:
            self.add_nodes(msgspec.structs.replace(self.nodes[name], **fields))

    def clear_node(self, name: str) -> None:
        """Whoever drains a node deletes its pods, but for daemons."""
        for pod in [pod for pod in self.on.get(name, {}).values() if not pod.daemon and not pod.deleted]:
            self.terminate(pod)

    def lose_node(self, name: str) -> list[PodRecord]:
        """A node dies with its pods; returns them."""
        node = self.nodes.pop(name)
        gone = list(self.on.get(name, {}).values())
        self.delete(*gone)
        for watcher in self.watchers:
            watcher.inbox.send(lambda w=watcher, r=node: w.drop_nodes([r]))  # type: ignore[misc]
        self.moves += 1
        return gone

    # -- admission ----------------------------------------------------------------------------------------------------

    def admit(
        self,
        app: AppPlan,
        name: str,
        declared: Resources,
        role: str,
        stage: str = "",
        annotations: Mapping[str, str] | None = None,
        owners: Sequence[OwnerRef] = (),
    ) -> PodRecord:
        """A pod of an app, as the admission policy leaves it; without the policy, as it was written."""
        task = role == names.TASK
        managed = self.managed_pods and app.namespace not in self.unmanaged
        native = self._lowered(declared) if task and managed else declared
        shrunk = f"{self.plan.ceiling_cpu}/{self.plan.ceiling_memory}" if task else "100/100"
        sealed = {names.ADMITTED_ROLE: role, names.SHRUNK: shrunk} if app.namespace not in self.unmanaged else {}
        pod = PodRecord(
            name=name,
            uid=f"{app.namespace}.{name}",
            namespace=app.namespace,
            labels={names.APP: app.name, names.ROLE: role, **({names.STAGE: stage} if stage else {})},
            annotations={**sealed, **(annotations or {})},
            owners=tuple(owners),
            phase="Pending",
            gates=(names.GATE,) if managed and not self._passes(task, annotations or {}) else (),
            scheduler=names.SCHEDULER if managed else STOCK,
            priority=app.priority,
            native=native,
            declared=declared,
            constraints=constraints(app, "" if self.managed_pods else self.plan.queue(app.namespace).group),
            created=self.now,
        )
        self.put(pod)
        return pod

    def _passes(self, task: bool, annotations: Mapping[str, str]) -> bool:
        """Whether a pod comes without a gate, because the policy's status says that it is open."""
        return task and self.gate_open and not any(key in annotations for key in names.ALWAYS_HELD)

    @property
    def gate_open(self) -> bool:
        """As the operator wrote it last."""
        return self.statuses.get(POLICY_STATUS, {}).get("openGate") is True

    def _lowered(self, declared: Resources) -> Resources:
        """N = D ÷ c, a thousandth of a core or a byte rounded up."""
        cpu = -(-declared[CPU] * 1000 * 100 // self.plan.ceiling_cpu) / 1000
        memory = -(-declared[MEMORY] * 100 // self.plan.ceiling_memory)
        lower = {CPU: min(cpu, declared[CPU]), MEMORY: min(memory, declared[MEMORY])}
        return Resources({**declared, **lower})

    def _daemon(self, plan: NodePlan) -> None:
        size = Resources(cpu=plan.daemon, memory=plan.memory * GIB / 16)
        self.put(
            PodRecord(
                name=f"daemon-{plan.name}-{self.now:g}",
                uid=f"daemon-{plan.name}-{self.now:g}",
                namespace="system",
                owners=DAEMON,
                phase="Running",
                node=plan.name,
                native=size,
                declared=size,
                created=self.now,
                started=self.now,
                scheduler="default",
            )
        )

    # -- kubelets -----------------------------------------------------------------------------------------------------

    def bind(self, pod: PodRecord, node: str) -> None:
        """A scheduler binds a pod."""
        if pod.scheduler == STOCK or pod.namespace in self.unmanaged:
            self.visited_at[node] = self.now
        self.passed.setdefault(_app(pod), []).append(pod)
        self.change(pod.uid, node=node, nominated="", scheduled=self.now, unscheduled="")

    def kubelets(self) -> None:
        """Start what was bound, end what was deleted, and evict where memory runs out."""
        self._relieve()
        for uid in [uid for uid, at in self.terminating.items() if at <= self.now + 1e-9]:
            del self.terminating[uid]
            if uid in self.pods:
                self.delete(self.pods[uid])
        for pod in list(self.unstarted.values()):
            if self.now >= pod.scheduled + self.plan.start_lag - 1e-9:
                self.change(pod.uid, phase="Running", started=self.now)
        for name, node in list(self.nodes.items()):
            if self.memory_used(name) > node.allocatable[MEMORY]:
                self._evict(name)

    def terminate(self, pod: PodRecord) -> None:
        """A user deletes a pod: on a node it stays for its grace period."""
        if pod.node and not pod.done and self.plan.grace > 0:
            self.terminating[pod.uid] = self.now + self.plan.grace
            self.change(pod.uid, deleted=self.now)
        else:
            self.delete(pod)

    def memory_used(self, node: str) -> float:
        """Bytes in use on a node."""
        return sum(self.uses_of(pod)[1] for pod in self.on[node].values() if pod.started)

    def _evict(self, node: str) -> None:
        """As kubelets choose: the pod that is furthest above its request."""
        above = [(self.uses_of(pod)[1] - pod.native[MEMORY], pod.uid) for pod in self.on[node].values() if pod.started]
        most, uid = max(above, default=(0.0, ""))
        if most > 0:
            self.evictions += 1
            self.outgrown.add(likes(self.pods[uid]))
            self.change(uid, phase="Failed", lacking=MEMORY, finished=self.now)
            self._press(node)

    def _press(self, node: str) -> None:
        """As kubelets and node controller do: pods stay away until memory has been enough for a while."""
        if self.plan.pressure > 0:
            known = self.nodes[node]
            self.pressed[node] = self.now + self.plan.pressure
            if PRESSURE not in known.taints:
                self.add_nodes(msgspec.structs.replace(known, taints=(*known.taints, PRESSURE)))

    def _relieve(self) -> None:
        for name in [name for name, until in self.pressed.items() if until <= self.now + 1e-9]:
            del self.pressed[name]
            if (known := self.nodes.get(name)) is not None:
                taints = tuple(taint for taint in known.taints if taint != PRESSURE)
                self.add_nodes(msgspec.structs.replace(known, taints=taints))

    def free(self, node: str) -> dict[str, float]:
        """What a node has left by native requests, as kube-scheduler counts."""
        left = dict(self.nodes[node].allocatable.items())
        for pod in self.on[node].values():
            for kind, value in pod.native.items():
                left[kind] = left.get(kind, 0.0) - value
        return left

    # -- parts --------------------------------------------------------------------------------------------------------

    def _index(self, pod: PodRecord) -> None:
        before = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        self._names[pod.namespace, pod.name] = pod.uid
        if before is None or _state(before) != _state(pod):
            self.moves += 1
        if before is None or _stage(before) != _stage(pod):
            self.progress += 1
        if before is not None:
            self._leave(before)
        if pod.done:
            return
        if not pod.node:
            self.waiting[pod.uid] = pod
            return
        self.on.setdefault(pod.node, {})[pod.uid] = pod
        if not pod.started:
            self.unstarted[pod.uid] = pod

    def _leave(self, pod: PodRecord) -> None:
        self.waiting.pop(pod.uid, None)
        self.unstarted.pop(pod.uid, None)
        if pod.node:
            self.on.get(pod.node, {}).pop(pod.uid, None)


def likes(pod: PodRecord) -> tuple[object, ...]:
    """What pods that are learned about together share: the name of their runs, stage, role and size."""
    app, role = series(pod.labels.get(names.APP, "")), pod.labels.get(names.ROLE, "")
    return pod.namespace, app, pod.labels.get(names.STAGE, ""), role, pod.declared


def constraints(app: AppPlan, queue: str = "") -> Constraints:
    """Where an app's pods may run; `queue`: the group its queue may use, which the stock scheduler has to be told."""
    groups = tuple(dict.fromkeys(group for group in (app.group, queue) if group))
    if not groups and not app.tolerates:
        return ANYWHERE
    return Constraints(
        selector=tuple(("group", group) for group in groups),
        tolerations=(Tolerated(TAINT, "Exists", "", ""),) if app.tolerates else (),
    )


def _app(pod: PodRecord) -> tuple[str, str]:
    return pod.namespace, pod.labels.get(names.APP, "")


def _state(pod: PodRecord) -> tuple[object, ...]:
    return (*_stage(pod), pod.gates, pod.parked)


def _stage(pod: PodRecord) -> tuple[object, ...]:
    return (pod.node, pod.phase, bool(pod.started))
