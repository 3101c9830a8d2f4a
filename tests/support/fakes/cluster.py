"""A cluster in memory with a clock of its own: API server, scheduler, kubelets and app controllers, as far as we need.

The operator's real parts run on it: what they write changes records, and the watch tells the cache of each change.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np

from slackwater.errors import Unavailable
from slackwater.nodes import NodeTable
from slackwater.resources import NOTHING, Resources, total
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer, Session
from slackwater_cluster.pods.nodefit import allows
from slackwater_cluster.watch.records import CustomRecord, NamespaceRecord, NodeRecord, OwnerRef, PodRecord
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.rooms import Rooms
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.deadlock import StallKeeper
from slackwater_operator.release.extenderclient import (
    DegradedMode,
    NodeUse,
    Placement,
    PlaceRequest,
    Reservation,
    Usage,
)
from slackwater_operator.release.nominations import Nominations
from slackwater_operator.release.podwriter import PodWriter
from slackwater_operator.release.release import Releaser
from slackwater_operator.settings import Settings
from slackwater_operator.status.appstatus import AppStatus, account

GIB = 2.0**30
POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)(/\w+)?$")


def node(name: str, cpu: float = 8.0, memory: float = 32.0, **labels: str) -> NodeRecord:
    """A Ready node."""
    amounts = Resources(cpu=cpu, memory=memory * GIB)
    return NodeRecord(name=name, uid=f"node-{name}", labels=labels, capacity=amounts, allocatable=amounts, ready=True)


def owned(kind: str, name: str, uid: str = "", group: str = "", namespace: str = "team") -> OwnerRef:
    """A controlling owner."""
    return OwnerRef(kind, name, uid or f"{kind}-{name}", group, True, namespace)


class PlaceCall(NamedTuple):
    """One request for nodes."""

    wishes: list[PlaceRequest]
    cold: bool
    alpha: float


@dataclass
class World:
    """Nodes, pods and time."""

    now: float = 1000.0
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    pods: dict[str, PodRecord] = field(default_factory=dict)
    cache: OperatorCache = field(default_factory=OperatorCache)
    released: list[str] = field(default_factory=list)  # every gate that was lifted, in order
    freed_room: int = 0  # how often room came free
    woken: list[str] = field(default_factory=list)  # refused pods that have room now
    reserved: dict[str, Reservation] = field(default_factory=dict)  # pods the extender was told of without a node
    writes: list[str] = field(default_factory=list)
    place_calls: list[PlaceCall] = field(default_factory=list)  # what the operator asked the extender to place
    entered: dict[str, str] = field(default_factory=dict)  # the extender's ledger: pods placed and not bound yet
    posted: list[tuple[str, str, Any]] = field(default_factory=list)  # writes to anything but pods
    statuses: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)  # what can be read, by path
    uses: dict[str, Resources] = field(default_factory=dict)  # by uid
    samples: dict[str, NodeUse] = field(default_factory=dict)  # by node
    broken: Callable[[str], bool] = lambda _: False  # paths that are not answered
    instance: str = "first"  # of the extender

    def clock(self) -> float:
        """Unix seconds here."""
        return self.now

    # -- the API server ---------------------------------------------------------------------------------------------

    def namespace(self, name: str, policy: str = "default") -> None:
        """A managed namespace."""
        labels = {names.MANAGED: "true", names.POLICY: policy}
        self.cache.set_namespaces([NamespaceRecord(name=name, labels=labels)], self.now)

    def configure(self, kind: str, name: str, **spec: Any) -> None:
        """Write a custom resource."""
        annotations = spec.pop("annotations", {})
        self.cache.governing.set(kind, [CustomRecord(name=name, spec=spec, annotations=annotations)])
        self.cache.govern()

    def add_nodes(self, *records: NodeRecord) -> None:
        """Nodes join."""
        self.nodes.update({record.name: record for record in records})
        self.cache.set_nodes(records)

    def lose_node(self, name: str) -> list[PodRecord]:
        """A node dies with its pods; returns them."""
        gone = [pod for pod in self.pods.values() if pod.node == name]
        self.delete(*gone)
        self.cache.drop_nodes([self.nodes.pop(name)])
        return gone

    def create(
        self,
        name: str,
        cpu: float = 1.0,
        memory: float = 1.0,
        *,
        role: str = names.TASK,
        namespace: str = "team",
        app: str = "",
        stage: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        owners: Sequence[OwnerRef] = (),
        gates: Sequence[str] = (names.GATE,),
        **more: Any,
    ) -> PodRecord:
        """A pod as the admission policy leaves it: gated, for our scheduler."""
        marked = {**({names.APP: app} if app else {}), **({names.STAGE: stage} if stage else {}), **(labels or {})}
        if role in (names.DRIVER, names.TASK):
            marked.setdefault(names.ROLE, role)
        asked = Resources(cpu=cpu, memory=memory * GIB)
        number = len(self.pods) + len(self.writes)
        pod = PodRecord(
            name=name,
            uid=f"{name}-{self.now:g}-{number}",
            namespace=namespace,
            labels=marked,
            annotations={names.ADMITTED_ROLE: role, **(annotations or {})},
            owners=tuple(owners),
            phase="Pending",
            gates=tuple(gates),
            native=asked,
            declared=asked,
            created=self.now,
            **{"scheduler": names.SCHEDULER, **more},
        )
        self.put(pod)
        return pod

    def put(self, *records: PodRecord) -> None:
        """Pods as they are now."""
        self.pods.update({record.uid: record for record in records})
        self.cache.set_pods(records, self.now)

    def change(self, uid: str, **fields: Any) -> None:
        """Change a pod that still exists."""
        if uid in self.pods:
            self.put(msgspec.structs.replace(self.pods[uid], **fields))

    def named(self, namespace: str, name: str) -> PodRecord | None:
        """The pod of this name."""
        return next((p for p in self.pods.values() if (p.namespace, p.name) == (namespace, name)), None)

    def delete(self, *records: PodRecord) -> None:
        """Pods vanish."""
        for record in records:
            self.pods.pop(record.uid, None)
        self.cache.drop_pods(records, self.now)

    async def write(self, method: str, path: str, body: Any, *, content_type: str = "") -> Answer:
        """The session's write: pods are changed, everything else is noted."""
        del content_type
        await asyncio.sleep(0)
        if self.broken(path):
            raise Unavailable("the API server does not answer")
        found = POD.match(path)
        if found is None:
            return self._note(method, path, body)
        namespace, name, part = found.groups()
        pod = self.named(namespace, name)
        if pod is None or body["metadata"].get("uid", pod.uid) != pod.uid:
            return Answer(404, b"{}")
        self.writes.append(f"{method} {path}")
        if method == "POST":
            self.delete(pod)
        else:
            self._patch(pod, part or "", body)
        return Answer(200, b"{}")

    def _note(self, method: str, path: str, body: Any) -> Answer:
        """A write to anything but a pod: the answer is the object as it is then."""
        self.posted.append((method, path, body))
        status = self.statuses.setdefault(path, {})
        _merge(status, body.get("status") or {})
        name = path.removesuffix("/status").rpartition("/")[2]
        return Answer(200, msgspec.json.encode({"metadata": {"name": name, "generation": 3}, "status": status}))

    async def get(
        self,
        path: str,
        params: Mapping[str, str] | None = None,
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> Answer:
        """The session's read, of what a test put there."""
        del params, seconds, most
        await asyncio.sleep(0)
        if self.broken(path):
            raise Unavailable("the API server does not answer")
        if path not in self.objects:
            return Answer(404, b"{}")
        return Answer(200, msgspec.json.encode(self.objects[path]))

    def _patch(self, pod: PodRecord, part: str, body: Any) -> None:
        if part == "/status":
            if pod.node:
                return
            self.change(pod.uid, nominated=body["status"]["nominatedNodeName"] or "")
            return
        merged = {**pod.annotations, **body.get("metadata", {}).get("annotations", {})}
        gates = pod.gates
        if "spec" in body:
            gone = {gate["name"] for gate in body["spec"]["schedulingGates"]}
            if names.GATE in gates and names.GATE in gone:
                self.released.append(pod.uid)
            gates = tuple(gate for gate in gates if gate not in gone)
        kept = {key: value for key, value in merged.items() if value is not None}
        self.change(pod.uid, annotations=kept, gates=gates)

    # -- the extender -----------------------------------------------------------------------------------------------

    def left(self, name: str) -> Resources:
        """What a node has left by declared sums; placed and nominated pods count."""
        seated = [p for p in self.pods.values() if not p.done and name == (p.node or p.nominated or self._placed(p))]
        return self.nodes[name].allocatable - total(pod.declared for pod in seated)

    def _placed(self, pod: PodRecord) -> str:
        return "" if pod.parked else self.entered.get(pod.uid, "")

    async def place(self, wishes: Sequence[PlaceRequest], *, cold: bool = False, alpha: float = 0.0) -> Placement:
        """Best fit by declared sums."""
        self.place_calls.append(PlaceCall(list(wishes), cold, alpha))
        wishes = sorted(wishes, key=lambda wish: wish.rank)
        for wish in wishes:
            self.entered.pop(wish.uid, None)
        room = {name: self.left(name) for name, each in self.nodes.items() if each.open}
        placed: dict[str, str] = {}
        refused: dict[str, str] = {}
        for wish in wishes:
            pod = self.pods.get(wish.uid)
            allowed = [n for n in room if n not in wish.avoid and (wish.nodes is None or n in wish.nodes)]
            fitting = [
                n for n in allowed if pod and pod.declared.fits(room[n]) and allows(pod.constraints, self.nodes[n])
            ]
            if pod is None or not fitting:
                refused[wish.uid] = "slackwater: measured room too small"
                continue
            best = min(fitting, key=lambda name: (room[name]["cpu"], name))
            room[best] = room[best] - pod.declared
            placed[wish.uid] = self.entered[wish.uid] = best
        return Placement(placed, refused)

    async def reserve(self, pods: Sequence[Reservation]) -> None:
        """Count pods released without a node."""
        self.reserved |= {pod.uid: pod for pod in pods}

    async def unreserve(self, uids: Sequence[str]) -> None:
        """Forget placements and reservations."""
        for uid in uids:
            self.entered.pop(uid, None)
            self.reserved.pop(uid, None)

    async def rooms(self) -> Rooms:
        """The room of every node, by declared sums; kube-scheduler sees nominated pods only."""
        names_ = tuple(self.nodes)
        kinds = ("cpu", "memory")
        left = np.array([self.left(name).vector(kinds) for name in names_]).reshape(len(names_), 2)
        total_ = np.array([self.nodes[name].allocatable.vector(kinds) for name in names_]).reshape(len(names_), 2)
        takes = np.array([self.nodes[name].open for name in names_], np.bool_)
        index = {name: row for row, name in enumerate(names_)}
        table = NodeTable(kinds, names_, index, total_, left, left, takes, left)
        return Rooms(table, (1.0, 1.0), self._unplaced(), self.instance)

    def replace_extender(self) -> None:
        """Another one answers from now on: it knows of placements what pods show, and no more."""
        self.instance = f"after {self.instance}"
        self.entered.clear()
        self.reserved.clear()

    def _unplaced(self) -> dict[str, Resources]:
        """What is reserved without a node, by namespace, until it is bound; the watch shows who is on its way."""
        sums: dict[str, Resources] = {}
        for uid, pod in self.pods.items():
            each = self.reserved.get(uid)
            if pod.node or pod.done or pod.parked or pod.nominated or uid in self.entered or (each and each.growth):
                continue
            if each is not None or (not pod.gates and pod.scheduler == names.SCHEDULER):
                sums[pod.namespace] = sums.get(pod.namespace, NOTHING) + pod.declared
        return sums

    async def wakeups(self, after: int) -> tuple[int, Sequence[str]]:
        """What a test says, once."""
        woken, self.woken = self.woken, []
        return after, woken

    async def freed(self, after: int) -> int:
        """How often room came free, once that is another number."""
        for _ in range(200):
            if self.freed_room != after:
                break
            await asyncio.sleep(0.01)
        return self.freed_room

    async def usage(self, *, nodes: bool = False) -> Usage:
        """What pods and nodes use, as a test says."""
        return Usage(self.uses, self.samples if nodes else {})

    # -- the scheduler ----------------------------------------------------------------------------------------------

    def schedule(self) -> int:
        """Bind every pod that has neither gate nor mark: its nominated node first, then any; returns how many."""
        bound = 0
        for pod in sorted(self.pods.values(), key=lambda each: (-each.priority, each.created, each.name)):
            if pod.node or pod.gates or pod.parked or pod.done or pod.scheduler != names.SCHEDULER:
                continue
            chosen = next((n for n in self._candidates(pod) if pod.native.fits(self._native(n, pod))), None)
            if chosen is None:
                self.change(pod.uid, unscheduled="Unschedulable", unscheduled_since=self.now)
            else:
                self.change(pod.uid, node=chosen, nominated="", phase="Running", started=self.now, scheduled=self.now)
                bound += 1
        return bound

    def _candidates(self, pod: PodRecord) -> list[str]:
        first = pod.nominated or self._placed(pod)  # the scheduler tries it first, or the filter answers with it alone
        others = [name for name in sorted(self.nodes) if name != first]
        known = [self.nodes[name] for name in [first, *others] if name in self.nodes]
        return [each.name for each in known if each.open and allows(pod.constraints, each)]

    def _native(self, name: str, asking: PodRecord) -> Resources:
        """What scheduler and filter leave: bound pods, and pods that wait and are nominated or placed there."""
        seated = [
            pod.native
            for pod in self.pods.values()
            if pod.uid != asking.uid and not pod.done and name == (pod.node or pod.nominated or self._placed(pod))
        ]
        return self.nodes[name].allocatable - total(seated)

    def finish(self, *uids: str, phase: str = "Succeeded") -> None:
        """Pods end."""
        for uid in uids:
            self.change(uid, phase=phase, finished=self.now)

    # -- the operator -----------------------------------------------------------------------------------------------

    def operator(self, **settings: Any) -> Operator:
        """The operator's deciding and writing parts on this world."""
        return Operator(self, Settings(period=0.1, **settings))

    def restart(self, **settings: Any) -> Operator:
        """A new leader: it knows only what the API server shows."""
        fresh = OperatorCache()
        fresh.governing = self.cache.governing
        fresh.__post_init__()
        self.cache = fresh
        fresh.govern()
        fresh.set_nodes(list(self.nodes.values()))
        fresh.set_pods(list(self.pods.values()), self.now)
        return self.operator(**settings)


class Operator:
    """Releaser, upkeep and stall keeper over a world."""

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.metrics = Metrics()
        writer = PodWriter(cast("Session", world))
        self.releaser = Releaser(
            world.cache,
            world,
            writer,
            settings,
            self.metrics,
            DegradedMode(settings.grace, world.clock),
            world.clock,
        )
        self.upkeep = Nominations(world.cache, world, writer, self.metrics, world.clock)
        self.stalls = StallKeeper(world.cache, world.clock)
        self.run: Callable[[Coroutine[Any, Any, int]], int] = asyncio.run  # one loop for all steps is quicker

    def step(self, seconds: float = 1.0) -> int:
        """A round, upkeep, and then time passes; returns how many pods were released."""
        released = self.run(self._step())
        self.world.now += seconds
        return released

    async def _step(self) -> int:
        await self.upkeep.clear()
        released = await self.releaser.round()
        await self.releaser.writes.drain()
        await self.upkeep.run()
        return released

    def take_over(self) -> int:
        """Clear what a dead leader left."""
        return self.run(self.upkeep.clean())

    def said(self, app: str) -> AppStatus:
        """What is said about an app of namespace `team`."""
        self.world.cache.refresh()
        outlook = self.releaser.outlook
        assert outlook is not None
        each = self.world.cache.views[f"team/{app}"]
        verdict = outlook.round.verdicts.get(each.id)
        return account(each, verdict, self.world.cache, outlook, self.releaser.no_node.get(each.id, ""))


def _merge(target: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """RFC 7396, as the API server merges: maps go into each other, null takes away, anything else replaces."""
    for key, value in patch.items():
        if isinstance(value, dict):
            inner = target.get(key)
            target[key] = dict(inner) if isinstance(inner, dict) else {}
            _merge(target[key], value)
        elif value is None:
            target.pop(key, None)
        else:
            target[key] = value


def enforcing(*nodes: NodeRecord) -> World:
    """A world with one managed namespace under a policy in force."""
    world = World()
    world.configure("SlackPolicy", "default", mode="enforce")
    world.namespace("team")
    world.add_nodes(*nodes)
    return world
