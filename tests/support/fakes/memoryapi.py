"""The API server of a cluster in memory: writes change records, and the watch tells the cache of each change."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from slackwater.errors import Unavailable
from slackwater.resources import Resources
from slackwater_cluster import names
from slackwater_cluster.api.session import Answer
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, NodeRecord, OwnerRef, PodRecord
from slackwater_operator.cache.cache import OperatorCache

GIB = 2.0**30
POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)(/\w+)?$")


@dataclass
class MemoryApi:
    """Nodes, pods and time, and the cache that watches them."""

    now: float = 1000.0
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    pods: dict[str, PodRecord] = field(default_factory=dict)
    cache: OperatorCache = field(default_factory=OperatorCache)
    released: list[str] = field(default_factory=list)  # every gate that was lifted, in order
    writes: list[str] = field(default_factory=list)
    posted: list[tuple[str, str, Any]] = field(default_factory=list)  # writes to anything but pods
    statuses: dict[str, dict[str, Any]] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)  # what can be read, by path
    broken: Callable[[str], bool] = lambda _: False  # paths that are not answered

    def clock(self) -> float:
        """Unix seconds here."""
        return self.now

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
            created=self.now,
            **{"scheduler": names.SCHEDULER, "native": asked, "declared": asked, **more},
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
            self.evict(pod)
        else:
            self._patch(pod, part or "", body)
        return Answer(200, b"{}")

    def evict(self, pod: PodRecord) -> None:
        """A pod is asked to leave, and does at once."""
        self.delete(pod)

    def _note(self, method: str, path: str, body: Any) -> Answer:
        """A write to anything but a pod: the answer is the object as it is then."""
        self.posted.append((method, path, body))
        status = self.statuses.setdefault(path, {})
        merge(status, body.get("status") or {})
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


def merge(target: dict[str, Any], patch: Mapping[str, Any]) -> None:
    """RFC 7396, as the API server merges: maps go into each other, null takes away, anything else replaces."""
    for key, value in patch.items():
        if isinstance(value, dict):
            inner = target.get(key)
            target[key] = dict(inner) if isinstance(inner, dict) else {}
            merge(target[key], value)
        elif value is None:
            target.pop(key, None)
        else:
            target[key] = value
