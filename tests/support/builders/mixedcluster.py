"""A generated cluster with apps of every framework and all that programs once judged differently, as objects."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import httpx2
import msgspec

from slackwater_cluster import names
from slackwater_cluster.api.paths import api_path, custom_path, group_path
from slackwater_cluster.frameworks import Framework, builtin
from slackwater_cluster.objects import wire
from slackwater_cluster.objects.records import OwnerRef, PodRecord
from slackwater_cluster.watch import trim

Object = dict[str, Any]

NAMESPACES = {
    "team": {names.MANAGED: "true"},
    "other": {names.MANAGED: "true", names.POLICY: "special"},
    "plain": {},
    "kube-system": {names.MANAGED: "true"},
    names.SYSTEM_NAMESPACE: {names.MANAGED: "true"},
}
POLICIES: Mapping[str, Object] = {
    "default": {"mode": "enforce"},
    "special": {"mode": "score", "driverLabels": [{"key": "example.com/lead", "values": ["yes"]}]},
}
QUEUES: Mapping[str, Object] = {"b": {}, "a": {"namespaces": ["other"]}}
POOLS: Mapping[str, Object] = {"z": {"queue": "b"}, "y": {"queue": "b"}}
HOUSE = """
frameworks:
- name: house
  app: [example.com/run]
  drivers: [{key: example.com/kind, values: [lead]}]
  tasks: [{key: example.com/kind, values: [work]}]
  stage: [example.com/part]
"""


class MixedCluster:
    """Objects as an API server holds them: by address, and owners by uid."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.pods: list[Object] = []
        self.above: dict[str, tuple[OwnerRef, ...]] = {}  # uid of an owner → its owners
        self.owners: dict[str, OwnerRef] = {}  # by uid
        self.asked: list[tuple[str, dict[str, str]]] = []  # addresses and parameters, in order
        self.answers: dict[str, Object] = {
            "/api/v1/namespaces": _list(_object(name, labels=labels) for name, labels in NAMESPACES.items()),
            f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/configmaps": _list(
                [{**_object("house", names.SYSTEM_NAMESPACE), "data": {"house": HOUSE}}]
            ),
            custom_path("slackpolicies"): _customs(POLICIES),
            custom_path("admissionqueues"): _customs(QUEUES),
            custom_path("reservationpools"): _customs(POOLS),
            **{custom_path("admissionqueues", name): {**_object(name), "spec": spec} for name, spec in QUEUES.items()},
        }
        for row in (*builtin().frameworks, Framework(name="house", app=("example.com/run",))):
            for number in range(self.rng.randint(4, 8)):
                self.app(row, f"{row.name}-{number}")
        self.oddities()
        self.rng.shuffle(self.pods)
        self.answers["/api/v1/pods"] = _list(self.pods)
        for namespace in NAMESPACES:
            mine = [pod for pod in self.pods if pod["metadata"]["namespace"] == namespace]
            self.answers[f"/api/v1/namespaces/{namespace}/pods"] = _list(mine)
            self.answers |= {api_path("pods", pod["metadata"]["name"], namespace=namespace): pod for pod in mine}

    def app(self, row: Framework, name: str) -> None:
        """An app of a framework with its driver and tasks, as the framework makes them, or nearly so."""
        namespace = self.rng.choice(list(NAMESPACES))
        labels = {key: f"{name}-{key.rpartition('/')[2]}" for key in row.app} | dict.fromkeys(row.app[:1], name)
        labels |= {term.key: term.values[0] for term in row.when if term.values}
        owner = self.owner(row, name)
        for number, terms in enumerate((row.drivers, *[row.tasks] * self.rng.randint(0, 4))):
            chosen = self.rng.choice(terms) if terms else None
            more = {chosen.key: self.rng.choice(chosen.values) if chosen.values else "x"} if chosen else {}
            more = {key: value for key, value in more.items() if key not in labels}
            stage = {row.stage[0]: str(number % 2)} if row.stage and row.stage[0] not in more else {}
            self.pod(f"{name}-{number}", namespace, {**labels, **stage, **more}, self.rng.choice([owner, owner, ()]))

    def owner(self, row: Framework, name: str) -> tuple[OwnerRef, ...]:
        """What stands above the app's pods: an owner that confirms its label, sometimes behind others."""
        if not row.owners:
            return ()
        rule = self.rng.choice(row.owners)
        top = self.kept(rule.kind, name, rule.group or "")
        if rule.kind == "Pod":
            return (top,)
        for kind, group in self.rng.choice([(), (("Deployment", "apps"), ("ReplicaSet", "apps")), (("Job", "batch"),)]):
            top = self.kept(kind, f"{name}-{kind.lower()}", group, (top,))
        return (top,)

    def kept(self, kind: str, name: str, group: str, above: tuple[OwnerRef, ...] = ()) -> OwnerRef:
        """An owner below others."""
        owner = OwnerRef(kind, name, f"{kind}-{name}", group, controller=True)
        self.above[owner.uid] = above
        self.owners[owner.uid] = owner
        return owner

    def oddities(self) -> None:
        """What differed between programs: duplicates, labels of policies and users, forged text, lost owners."""
        spark = {"spark-app-selector": "s", "spark-app-name": "pi"}
        for name, created in (("first", 1), ("second", 2)):
            self.pod(name, "team", {**spark, "spark-role": "driver"}, created=created)
            owned = (OwnerRef("Pod", name, f"uid-team-{name}", "", controller=True),)
            self.pod(f"{name}-exec", "team", {**spark, "spark-role": "executor"}, owned)
        for number in range(3):
            self.pod(f"outside-{number}", "team", {**spark, "spark-app-selector": "client", "spark-role": "executor"})
        for namespace in ("team", "other"):
            self.pod("lead", namespace, {"example.com/lead": "yes"})
            self.pod("own", namespace, {names.APP: "etl", names.STAGE: "map", names.ROLE: "task"})
            self.pod("forged", namespace, annotations={names.APP: "etl\n", names.STAGE: "a/b"})
            self.pod("grouped", namespace, {"yunikorn.apache.org/app-id": "g"})
        gone = OwnerRef("Pod", "gone", "uid-gone", "", controller=True)
        self.above[gone.uid] = ()
        self.pod("orphan", "team", {**spark, "spark-role": "executor"}, (gone,))
        self.pod("admitted", "team", annotations={names.ADMITTED_ROLE: "driver"})
        daemons = (self.kept("DaemonSet", "d", "apps"),)
        self.pod("daemon", "team", owners=daemons)
        self.pod("notebook", "team", owners=daemons)
        self.bind(lambda pod: pod["metadata"]["name"] == "notebook")  # so it is no pod of ours, and owns some
        notebook = (OwnerRef("Pod", "notebook", "uid-team-notebook", "", controller=True),)
        self.pod("notebook-exec", "team", {**spark, "spark-app-selector": "nb", "spark-role": "executor"}, notebook)
        self.pod("notebook-child", "team", owners=notebook)

    def pod(
        self,
        name: str,
        namespace: str,
        labels: Mapping[str, str] | None = None,
        owners: tuple[OwnerRef, ...] = (),
        annotations: Mapping[str, str] | None = None,
        created: int = 0,
    ) -> None:
        """One held pod."""
        meta = {
            **_object(name, namespace, labels)["metadata"],
            "uid": f"uid-{namespace}-{name}",
            "annotations": dict(annotations or {}),
            "ownerReferences": _references(owners),
            "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z",
        }
        spec = {
            "schedulerName": names.SCHEDULER,
            "schedulingGates": [{"name": names.GATE}],
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        }
        self.pods.append({"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})

    def bind(self, chosen: Callable[[Object], bool]) -> None:
        """Give nodes to some pods, as the scheduler does: without gates."""
        for pod in filter(chosen, self.pods):
            pod["spec"] |= {"nodeName": "n0", "schedulingGates": []}
            pod["status"]["phase"] = "Running"

    def records(self, keep: trim.Keep | None = None) -> list[PodRecord]:
        """The pods as a watch delivers them."""
        return [trim.pod(msgspec.convert(pod, wire.Pod, strict=False), keep) for pod in self.pods]

    def customs(self, specs: Mapping[str, Object]) -> list[Any]:
        """Custom resources as a watch delivers them."""
        bodies = [{**_object(name), "spec": spec} for name, spec in specs.items()]
        return [trim.custom(msgspec.convert(body, wire.Custom)) for body in bodies]

    def namespaces(self) -> list[Any]:
        """Namespaces as a watch delivers them."""
        return [
            trim.namespace(msgspec.convert(_object(name, labels=labels), wire.Bare))
            for name, labels in NAMESPACES.items()
        ]

    def frameworks(self) -> list[Any]:
        """ConfigMaps of frameworks as a watch delivers them."""
        body = {**_object("house", names.SYSTEM_NAMESPACE), "data": {"house": HOUSE}}
        return [trim.custom(msgspec.convert(body, wire.Custom))]

    def learn(self, index: Any, learn: Any) -> None:
        """Answer every look-up until nothing is asked any more."""
        while unknown := index.unknown():
            for owner, _ in unknown:
                learn(
                    owner, [msgspec.structs.replace(each, namespace=owner.namespace) for each in self.above[owner.uid]]
                )

    def serve(self, request: httpx2.Request) -> httpx2.Response:
        """What the API server says to commands and pages: lists, discovery and owners."""
        path = request.url.path
        self.asked.append((path, dict(request.url.params)))
        found = self.answers.get(path) or self.discovery(path) or self.owner_at(path)
        if found is None:
            return httpx2.Response(404, json={"message": f"{path} does not exist"})
        selector = request.url.params.get("fieldSelector", "")
        if selector.startswith("metadata.name="):
            found = _list(each for each in found["items"] if each["metadata"]["name"] == selector.partition("=")[2])
        elif selector:
            bound = {"spec.nodeName=": False, "spec.nodeName!=": True}[selector]
            found = _list(pod for pod in found["items"] if bool(pod["spec"].get("nodeName")) is bound)
        return httpx2.Response(200, json=found)

    def discovery(self, path: str) -> Object | None:
        """Which groups there are, and which kinds are in the version of one."""
        groups = {owner.group for owner in self.owners.values() if owner.group}
        if path == "/apis":
            return {"groups": [{"name": group, "preferredVersion": {"version": "v1"}} for group in sorted(groups)]}
        asked = {group for group in groups if path == group_path(group, "v1")}
        kinds = {owner.kind for owner in self.owners.values() if owner.group in asked}
        listed = [{"kind": kind, "name": _plural(kind), "namespaced": True} for kind in sorted(kinds)]
        return {"resources": listed} if listed else None

    def owner_at(self, path: str) -> Object | None:
        """An owner, in whichever namespace it is asked for."""
        for owner in self.owners.values():
            if path.endswith(f"/{_plural(owner.kind)}/{owner.name}") and path.startswith(f"/apis/{owner.group}/"):
                references = _references(self.above[owner.uid])
                return {"metadata": {"name": owner.name, "uid": owner.uid, "ownerReferences": references}}
        return None


def _plural(kind: str) -> str:
    return f"{kind.lower()}s"


def _references(owners: tuple[OwnerRef, ...]) -> list[Object]:
    return [
        {
            "apiVersion": f"{owner.group}/v1" if owner.group else "v1",
            "kind": owner.kind,
            "name": owner.name,
            "uid": owner.uid,
            "controller": owner.controller,
        }
        for owner in owners
    ]


def _object(name: str, namespace: str = "", labels: Mapping[str, str] | None = None) -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "uid": name, "labels": dict(labels or {})}}


def _customs(specs: Mapping[str, Object]) -> Object:
    return _list({**_object(name), "spec": spec} for name, spec in specs.items())


def _list(items: Any) -> Object:
    return {"metadata": {}, "items": list(items)}
