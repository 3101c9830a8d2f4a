"""Operator and extender whole, but for the network, over one cluster whose custom resources anybody may change."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from slackwater_cluster import names
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.customresources import KINDS, Mode
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, PodRecord
from slackwater_extender.cache.gatebypass import GUARDED
from slackwater_extender.cache.watch import GuardSink, NamespaceSink, PolicySink
from slackwater_extender.components import Components, assemble
from slackwater_extender.scheduling.verbs import NEEDED
from slackwater_operator.cache.watch import Feed
from slackwater_operator.clients.extenderclient import Extender
from slackwater_operator.program import CONFIGURING, Program
from slackwater_operator.settings import Settings
from slackwater_operator.steadyclock import SteadyClock
from support.fakes.loop import look_up
from support.fakes.memoryapi import merge
from support.search.cluster import Cluster, Inbox, Watcher
from support.search.plan import AppPlan, NodePlan, StagePlan, WorldPlan
from support.search.programs import EXTENDER, Client, ExtenderProgram
from support.search.schedulers import schedule

Key = tuple[str, str]  # kind and name; namespace/name where it has one
CUSTOM = re.compile(r"/apis/slackwater\.io/[^/]+/(?:namespaces/([^/]+)/)?([a-z]+)(?:/([^/]+))?(/status)?$")
PLURALS = {kind.plural: kind.name for kind in KINDS}
TEAMS = ("team-a", "team-b")
SETTINGS = Settings(track_seconds=1, track_rate=1000, event_rate=1000)
PLAN = WorldPlan(
    seed=0,
    nodes=(NodePlan("one", 4, 16, group="team-a"), NodePlan("two", 4, 16, group="other")),
    apps=tuple(AppPlan(f"app-{name}", (StagePlan(4, 1, 2, 1e9),), namespace=name) for name in TEAMS),
    measured=False,
)


class Store(Cluster):
    """The API server: pods and nodes, and our custom resources and namespaces, shown to everybody who watches."""

    def __init__(self, plan: WorldPlan = PLAN) -> None:
        super().__init__(plan, managed=True)
        self.customs: dict[Key, CustomRecord] = {}
        self.labels: dict[str, dict[str, str]] = {}
        self.pairs: list[Pair] = []
        self.generation = 0
        for name in TEAMS:
            self.label(name, {names.MANAGED: "true", names.POLICY: "default"})

    def wall(self) -> float:
        """Unix seconds as the machines of our programs have them."""
        return self.now

    def label(self, name: str, labels: Mapping[str, str]) -> None:
        """A namespace with these labels."""
        self.labels[name] = dict(labels)
        for pair in self.pairs:
            pair.namespaces([NamespaceRecord(name=name, labels=labels)])

    def apply(self, kind: str, name: str, **parts: Any) -> None:
        """Write a custom resource: its spec, status or annotations, as long as nobody validates them."""
        namespace, _, bare = name.rpartition("/")
        self.generation += 1
        before = self.customs.get((kind, name))
        known = before or CustomRecord(name=bare, namespace=namespace, uid=f"{kind}.{name}.{self.generation}")
        generation = self.generation if "spec" in parts else known.generation
        record = msgspec.structs.replace(known, generation=generation, version=str(self.generation), **parts)
        self.customs[kind, name] = record
        for pair in self.pairs:
            pair.changed(kind, [record])

    def remove(self, kind: str, name: str) -> None:
        """Delete a custom resource."""
        record = self.customs.pop((kind, name))
        for pair in self.pairs:
            pair.vanished(kind, [record])

    def _note(self, method: str, path: str, body: Any) -> Answer:
        """A write of the operator to anything but a pod."""
        found = CUSTOM.match(path)
        if found is None:
            return Answer(200, b"{}")
        namespace, plural, name, part = found.groups()
        kind = PLURALS[plural]
        name = "/".join(filter(None, (namespace, name or body["metadata"]["name"])))
        if method == "POST":
            self.apply(kind, name, spec=body["spec"])
        elif (kind, name) not in self.customs:
            return Answer(404, b"{}")
        elif method == "DELETE":
            self.remove(kind, name)
        else:
            assert part == "/status", path
            status: dict[str, Any] = dict(self.customs[kind, name].status)
            merge(status, body["status"])
            self.apply(kind, name, status=status)
        return Answer(200, self._shown(kind, name))

    def _shown(self, kind: str, name: str) -> bytes:
        record = self.customs.get((kind, name))
        if record is None:
            return b"{}"
        meta = {"name": record.name, "namespace": record.namespace, "uid": record.uid, "generation": record.generation}
        return msgspec.json.encode({"metadata": meta, "spec": record.spec, "status": record.status})


class ListingExtender(ExtenderProgram):
    """The extender, told of everything through its own sinks."""

    cluster: Store

    def _started(self) -> Components:
        store = self.cluster
        parts = assemble(EXTENDER, clock=store.clock, wall=store.wall)
        self.parts = parts
        self.namespaces([NamespaceRecord(name=name, labels=labels) for name, labels in store.labels.items()])
        for kind in ("SlackPolicy", *GUARDED):
            self.changed(kind, [record for (of, _), record in store.customs.items() if of == kind])
        parts.cache.set_nodes(list(store.nodes.values()))
        parts.cache.set_pods(list(store.pods.values()))
        parts.cache.synced.update(NEEDED)
        return parts

    def namespaces(self, records: list[NamespaceRecord]) -> None:
        """Namespaces are new or changed."""
        NamespaceSink(self.parts.cache, "namespaces").changed(records)

    def changed(self, kind: str, records: list[CustomRecord]) -> None:
        """Custom resources are new or changed."""
        self._sink(kind).changed(records)

    def vanished(self, kind: str, records: list[CustomRecord]) -> None:
        """Custom resources are gone."""
        self._sink(kind).vanished(records)

    def _sink(self, kind: str) -> PolicySink | GuardSink:
        if kind == "SlackPolicy":
            return PolicySink(self.parts.cache, kind, lambda: None)
        return GuardSink(self.parts.cache, kind)


class Pair(Watcher):
    """One operator that started just now and listed everything, and one extender that did so now or earlier."""

    def __init__(
        self,
        store: Store,
        loop: asyncio.AbstractEventLoop,
        extender: ListingExtender | None = None,
        settings: Settings = SETTINGS,
        clock: SteadyClock | None = None,
    ) -> None:
        self.store, self.loop = store, loop
        self.inbox = Inbox(0.0, store.clock)
        self.extender = extender or ListingExtender(store)
        self.client = Client(self.extender)
        self.program = Program(settings)
        self.program.clock = clock or store.clock  # type: ignore[assignment]  # the cluster's time, not the machine's
        self.program.cycle = self.program._cycle(cast("Session", store), cast("Extender", self.client))
        self.cycle = self.program.cycle
        self.program._set_namespaces([NamespaceRecord(name=n, labels=each) for n, each in store.labels.items()])
        self.cache = self.program.cache
        self.cache.set_nodes(list(store.nodes.values()))
        self.program._set_pods(list(store.pods.values()))
        for kind in (*CONFIGURING, "TrackedApp"):
            self._feed(kind).changed([record for (of, _), record in store.customs.items() if of == kind])
        self.cache.govern()
        self.cache.views.refresh()
        self.cycle.tracker.restore(self.cache)
        loop.run_until_complete(look_up(self.cycle))

    def join(self) -> None:
        """Watch from now on."""
        self.store.pairs.append(self)
        self.store.watchers += [self, self.extender]

    def step(self, seconds: float = 1.0) -> None:
        """A round of everybody; then time passes."""
        self.extender.step()
        self.loop.run_until_complete(self._step())
        schedule(self.store, self.extender)
        schedule(self.store)
        self.store.kubelets()
        self.store.now += seconds

    async def _step(self) -> None:
        await look_up(self.cycle)
        await self.cycle.turn()
        await self.cycle.releaser.writes.drain()
        await self.cycle.maintain()

    def holds(self, namespace: str) -> bool:
        """Whether the admission policy would hold pods there."""
        return self.cache.governing.mode(namespace) is Mode.ENFORCE

    # -- what both watch ----------------------------------------------------------------------------------------------

    def namespaces(self, records: list[NamespaceRecord]) -> None:
        """Namespaces are new or changed."""
        self.program._set_namespaces(records)
        self.extender.namespaces(records)

    def changed(self, kind: str, records: list[CustomRecord]) -> None:
        """Custom resources are new or changed."""
        self._feed(kind).changed(records)
        self.extender.changed(kind, records)

    def vanished(self, kind: str, records: list[CustomRecord]) -> None:
        """Custom resources are gone."""
        self._feed(kind).vanished(records)
        self.extender.vanished(kind, records)

    def _feed(self, kind: str) -> Feed[CustomRecord]:
        if kind in CONFIGURING:
            return self.program._configuring(kind)
        tracker = self.cycle.tracker
        return Feed(lambda records: tracker.set(list(records)), lambda records: tracker.drop(list(records)))

    # -- what the operator watches beside (the extender is a watcher of its own) --------------------------------------

    def set_pods(self, records: Any) -> None:
        """Pods are new or changed."""
        self.program._set_pods(records)

    def drop_pods(self, records: Any) -> None:
        """Pods are gone."""
        self.program._drop_pods(records)

    def set_nodes(self, records: Any) -> None:
        """Nodes are new or changed."""
        self.cache.set_nodes(records)

    def drop_nodes(self, records: Any) -> None:
        """Nodes are gone."""
        self.cache.drop_nodes(records)


def arrive(pair: Pair, name: str, app: AppPlan, role: str = names.TASK) -> PodRecord:
    """A pod as the admission policy leaves it now; a driver says how many tasks come."""
    pair.store.managed_pods = pair.holds(app.namespace)
    each = app.stages[0]
    said = {names.TASKS: str(each.tasks), names.TASK_CPU: f"{each.cpu:g}"} if role == names.DRIVER else {}
    return pair.store.admit(app, name, each.size, role, annotations=said)
