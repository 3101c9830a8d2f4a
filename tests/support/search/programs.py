"""The real operator and the real extender in one process: their own parts over one clock, without a network."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any, cast

import orjson

from slackwater.errors import Unavailable
from slackwater.resources import CPU, MEMORY
from slackwater_cluster import names
from slackwater_cluster.api.session import Session
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, NodeRecord, PodRecord
from slackwater_extender.components import Components, assemble
from slackwater_extender.sampler.measurement import SampleRound
from slackwater_extender.scheduling import wire
from slackwater_extender.scheduling.verbs import NEEDED
from slackwater_extender.settings import Settings as ExtenderSettings
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.clients.extenderclient import DegradedMode, Extender
from slackwater_operator.clients.podwriter import PodWriter
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.nominations import Nominations
from slackwater_operator.release.release import Releaser
from slackwater_operator.release.stallwatch import StallKeeper
from slackwater_operator.settings import Settings as OperatorSettings
from slackwater_operator.status.policygate import GateKeeper
from support.search.cluster import Cluster, Inbox, Watcher
from support.search.plan import QueuePlan, WorldPlan
from support.search.transport import send

METRICS = Metrics()  # one for all worlds: nobody reads them here
EXTENDER = ExtenderSettings()
OPERATOR = OperatorSettings(period=0.1)


def policy(plan: WorldPlan) -> CustomRecord:
    """The policy in force."""
    ceiling = {"cpuPercent": plan.ceiling_cpu, "memoryPercent": plan.ceiling_memory}
    return CustomRecord(name="default", spec={"mode": "enforce", "ceiling": ceiling})


def namespaces(cluster: Cluster) -> list[NamespaceRecord]:
    """Every namespace opts in, and some are taken out for a while."""
    labels = {names.MANAGED: "true", names.POLICY: "default"}
    return [NamespaceRecord(name=n, labels={} if n in cluster.unmanaged else labels) for n in cluster.plan.namespaces]


def queues(cluster: Cluster) -> list[CustomRecord]:
    """The queues as their owners wrote them, and stopped for a while."""
    return [
        CustomRecord(
            name=queue.name,
            spec={
                "namespaces": list(queue.namespaces),
                "nodeSelector": {"group": queue.group} if queue.group else {},
                "order": "fair" if queue.fair else "fifo",
                "weights": dict(queue.weights),
                "capacity": {"maximum": {CPU: f"{queue.most:g}"}} if queue.most else {},
                "stall": {"evictYoungestDriver": True},
            },
            annotations={names.PAUSE: cluster.stopped[queue.name]} if queue.name in cluster.stopped else {},
        )
        for queue in cluster.terms.values()
    ]


def pools(cluster: Cluster) -> list[CustomRecord]:
    """The pools of those queues that have one."""
    return [
        CustomRecord(name=queue.name, spec={"queue": queue.name, "delta": _delta(queue), **_theta(queue)})
        for queue in cluster.terms.values()
        if queue.pooled
    ]


def unguarded(cluster: Cluster) -> list[CustomRecord]:
    """The pools that queues have no more."""
    return [CustomRecord(name=queue.name) for queue in cluster.terms.values() if not queue.pooled]


def _delta(queue: QueuePlan) -> dict[str, float]:
    said = {"minimum": queue.minimum, "maximum": queue.maximum}
    return {bound: value for bound, value in said.items() if value}


def _theta(queue: QueuePlan) -> dict[str, float]:
    return {"theta": queue.theta} if queue.theta else {}


def manifest(pod: PodRecord) -> dict[str, Any]:
    """A pod as the API server shows it, as far as a record keeps it."""
    sealed = {names.DECLARED_CPU: f"{pod.declared[CPU]:.3f}", names.DECLARED_MEMORY: f"{pod.declared[MEMORY]:.0f}"}
    requests = {kind: f"{value:.3f}" if kind == CPU else f"{value:.0f}" for kind, value in pod.native.items()}
    return {
        "metadata": {
            "name": pod.name,
            "namespace": pod.namespace,
            "uid": pod.uid,
            "resourceVersion": pod.version,
            "labels": dict(pod.labels),
            "annotations": {**sealed, **pod.annotations},
            "ownerReferences": [
                {"apiVersion": "v1", "kind": each.kind, "name": each.name, "uid": each.uid, "controller": True}
                for each in pod.owners
            ],
        },
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": requests}}],
            "schedulerName": pod.scheduler,
            "priority": pod.priority,
            "nodeSelector": dict(pod.constraints.selector),
            "tolerations": [
                {"key": each.key, "operator": each.operator, "effect": each.effect}
                for each in pod.constraints.tolerations
            ],
        },
        "status": {"phase": pod.phase, "nominatedNodeName": pod.nominated},
    }


class ExtenderProgram(Watcher):
    """The extender's cache, verbs and batch placement. `silent`: it does not answer."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.inbox = Inbox(cluster.plan.extender_lag, cluster.clock)
        self.silent = False
        self.last_sample = cluster.now
        self.parts = self._started()
        cluster.assigned = self.assigned

    def assigned(self, uid: str) -> str:
        """The node that this process has placed a pod on."""
        return self.parts.cache.assigned_node(uid)

    def restart(self) -> None:
        """A new process, which knows what its lists show."""
        self.inbox.clear()
        self.parts = self._started()

    def _started(self) -> Components:
        cluster, plan = self.cluster, self.cluster.plan
        parts = assemble(EXTENDER, clock=cluster.clock, wall=cluster.clock)
        cache = parts.cache
        cache.governance.set_namespaces(namespaces(cluster))
        cache.governance.set("SlackPolicy", [policy(plan)])
        cache.set_terms()
        for kind, records in (("AdmissionQueue", queues(cluster)), ("ReservationPool", pools(cluster))):
            cache.guard.set(kind, records)
        cache.set_nodes(list(cluster.nodes.values()))
        cache.set_pods(list(cluster.pods.values()))
        cache.synced.update(NEEDED)
        return parts

    # -- what it watches ----------------------------------------------------------------------------------------------

    def set_pods(self, records: Sequence[PodRecord]) -> None:
        """Pods are new or changed."""
        self.parts.cache.set_pods(records)

    def drop_pods(self, records: Sequence[PodRecord]) -> None:
        """Pods are gone."""
        self.parts.cache.drop_pods(records)
        for record in records:
            self.parts.waiting.drop(record.uid)

    def set_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are new or changed."""
        self.parts.cache.set_nodes(records)

    def drop_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are gone."""
        self.parts.cache.drop_nodes(records)

    def govern(self) -> None:
        """A queue or a namespace is changed."""
        stated, guarded, gone = queues(self.cluster), pools(self.cluster), unguarded(self.cluster)
        opted = namespaces(self.cluster)
        cache = self.parts.cache

        def learn() -> None:
            cache.guard.set("AdmissionQueue", stated)
            cache.guard.set("ReservationPool", guarded)
            cache.guard.drop("ReservationPool", gone)
            cache.reconsider(cache.governance.set_namespaces(opted))

        self.inbox.send(learn)

    # -- what it does by itself ---------------------------------------------------------------------------------------

    def step(self) -> None:
        """Its threads' work up to now."""
        self.inbox.open()
        heartbeat = self.parts.cache.ledger.terms.heartbeat
        if self.cluster.plan.measured and self.cluster.now - self.last_sample >= heartbeat - 1e-9:
            self.last_sample = self.cluster.now
            self.parts.sampling.apply(self._measured(), self.parts.cache.ledger)
        self.parts.tick()

    def _measured(self) -> SampleRound:
        """What Prometheus would tell: use of every node and of every pod that runs."""
        found = SampleRound(nodes={CPU: {}, MEMORY: {}})
        uids: list[str] = []
        cpu: list[float] = []
        memory: list[float] = []
        for name, pods in self.cluster.on.items():
            if name not in self.cluster.nodes:
                continue
            uses = {uid: self.cluster.uses_of(pod) for uid, pod in pods.items() if pod.started}
            found.stamps[name] = self.cluster.now
            found.nodes[CPU][name] = sum(use[0] for use in uses.values())
            found.nodes[MEMORY][name] = sum(use[1] for use in uses.values())
            uids += uses
            cpu += [use[0] for use in uses.values()]
            memory += [use[1] for use in uses.values()]
        found.pods.note(CPU, uids, cpu)
        found.pods.note(MEMORY, uids, memory)
        return found

    # -- what it is asked ---------------------------------------------------------------------------------------------

    def filter(self, pod: PodRecord, nodes: Sequence[str]) -> list[str]:
        """The scheduler's question which nodes serve. An extender that does not answer fails the pod."""
        if self.silent:
            return []
        reply, _ = self.parts.verbs.filter(self._question(pod, nodes))
        answer = orjson.loads(reply)
        if answer["Error"]:
            return []
        return cast("list[str]", answer["NodeNames"] or [])

    def prioritize(self, pod: PodRecord, nodes: Sequence[str]) -> dict[str, int]:
        """The scheduler's question how much each is liked."""
        if self.silent:
            return {}
        reply, _ = self.parts.verbs.prioritize(self._question(pod, nodes))
        return {each["Host"]: each["Score"] for each in orjson.loads(reply)}

    def _question(self, pod: PodRecord, nodes: Sequence[str]) -> wire.Question:
        """The question as the scheduler writes it. Of a pod seen in this version its name is enough."""
        known = self.parts.cache.index.pods.get(pod.uid)
        whole = known is None or known.version != pod.version
        meta = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid, "resourceVersion": pod.version}
        sent = manifest(pod) if whole else {"metadata": meta}
        return wire.read(orjson.dumps({"Pod": sent, "Nodes": None, "NodeNames": list(nodes)}))


class Client(Extender):
    """The operator's own client; what it would send by HTTP goes straight to the extender's code."""

    def __init__(self, program: ExtenderProgram) -> None:
        self._program = program

    @property
    def silent(self) -> bool:
        """Whether nobody answers."""
        return self._program.silent

    async def _send(self, method: str, path: str, body: bytes, params: Mapping[str, str]) -> bytes:
        await asyncio.sleep(0)
        if self._program.silent:
            raise Unavailable("extender: it does not answer")
        return send(self._program.parts, method, path, body, params)


class OperatorProgram(Watcher):
    """The operator's cache, rounds and nominations."""

    def __init__(self, cluster: Cluster, client: Client, loop: asyncio.AbstractEventLoop) -> None:
        self.cluster, self.client, self.loop = cluster, client, loop
        self.inbox = Inbox(cluster.plan.operator_lag, cluster.clock)
        self._start()

    def restart(self) -> None:
        """A new leader: it knows only what the API server shows."""
        self.inbox.clear()
        self._start()
        self.loop.run_until_complete(self.upkeep.clean())

    def _start(self) -> None:
        cluster, plan = self.cluster, self.cluster.plan
        governing = Governance()
        self.cache = OperatorCache(governing, window=OPERATOR.window)
        governing.set("SlackPolicy", [policy(plan)])
        governing.set("AdmissionQueue", queues(cluster))
        governing.set("ReservationPool", pools(cluster))
        self.cache.set_namespaces(namespaces(cluster), cluster.now)
        self.cache.govern()
        self.cache.set_nodes(list(cluster.nodes.values()))
        self.cache.set_pods(list(cluster.pods.values()), cluster.now)
        writer = PodWriter(cast("Session", cluster))
        grace = DegradedMode(OPERATOR.grace, cluster.clock)
        self.releaser = Releaser(self.cache, self.client, writer, OPERATOR, METRICS, grace, cluster.clock)
        self.upkeep = Nominations(self.releaser.writes)
        self.stalls = StallKeeper(self.cache, cluster.clock)
        least = 0 if plan.open_gate else sys.maxsize  # nodes
        self.gates = GateKeeper(cast("Session", cluster), self.cache, METRICS, cluster.clock, least)

    def step(self) -> int:
        """A round and upkeep; returns how many pods were released."""
        self.inbox.open()
        return self.loop.run_until_complete(self._step())

    async def _step(self) -> int:
        await self.upkeep.clear()
        released = await self.releaser.round()
        self.cache.governing.status["SlackPolicy", "default"] = {"openGate": self.cluster.gate_open}
        await self.gates.look(self.releaser.result, answered=self.releaser.rooms is not None)
        await self.releaser.writes.drain()
        await self.upkeep.run()
        await self._end_stalls()
        return released

    async def _end_stalls(self) -> None:
        """What the operator's loop does about stalls, without telling anybody."""
        if self.releaser.result is None:
            return
        for action in self.stalls.look(self.releaser.result):
            if action.victim is not None and action.eviction is not None:
                try:
                    written = await self.upkeep.writer.evict(action.victim)
                except Unavailable:
                    continue
                if written.done:
                    self.cache.gave_up(action.eviction.blocked, action.eviction.ahead, self.cluster.clock())
            self.stalls.reset(action.stall.queue)

    # -- what it watches ----------------------------------------------------------------------------------------------

    def set_pods(self, records: Sequence[PodRecord]) -> None:
        """Pods are new or changed."""
        self.cache.set_pods(records, self.cluster.now)

    def drop_pods(self, records: Sequence[PodRecord]) -> None:
        """Pods are gone."""
        self.cache.drop_pods(records, self.cluster.now)

    def set_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are new or changed."""
        self.cache.set_nodes(records)

    def drop_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Nodes are gone."""
        self.cache.drop_nodes(records)

    def govern(self) -> None:
        """A queue or a namespace is changed."""
        stated, guarded, gone = queues(self.cluster), pools(self.cluster), unguarded(self.cluster)
        opted = namespaces(self.cluster)
        cache = self.cache

        def learn() -> None:
            cache.governing.set("AdmissionQueue", stated)
            cache.governing.set("ReservationPool", guarded)
            cache.governing.drop("ReservationPool", gone)
            cache.govern()
            cache.set_namespaces(opted, self.cluster.now)

        self.inbox.send(learn)
