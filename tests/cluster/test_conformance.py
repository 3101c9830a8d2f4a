"""One answer per question: the same objects in every program, the same app, role, stage, queue, pool and mode out.

Hundreds of generated pods over all built-in frameworks, a framework from a ConfigMap, role labels of policies,
duplicate ids, owners that must be looked up, forged labels, two pools on a queue and kube-system go through the real
entries: the operator's cache, the extender's cache, the monitor's source and the command's `release`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import msgspec
import pytest

from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.apps.frameworks import Framework, builtin
from slackwater_cluster.apps.resolver import role_of
from slackwater_cluster.watch import trim, wire
from slackwater_cluster.watch.records import OwnerRef, PodRecord
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.watch import FrameworkSink, GuardSink, NamespaceSink, PolicySink
from slackwater_extender.settings import Decisions
from slackwater_monitor.release import held
from slackwater_monitor.sources.live import Live
from slackwater_operator.program import Program
from slackwater_operator.settings import Settings as OperatorSettings

Object = dict[str, Any]
Answer = tuple[str, str, str]  # app, role, stage

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


class Cluster:
    """Objects as an API server holds them: by address, and owners by uid."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.pods: list[Object] = []
        self.above: dict[str, tuple[OwnerRef, ...]] = {}  # uid of an owner → its owners
        self.answers: dict[str, Object] = {
            "/api/v1/namespaces": _list(_object(name, labels=labels) for name, labels in NAMESPACES.items()),
            f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/configmaps": _list(
                [{**_object("house", names.SYSTEM_NAMESPACE), "data": {"house": HOUSE}}]
            ),
            f"/apis/{names.API_VERSION}/slackpolicies": _list(
                {**_object(name), "spec": spec} for name, spec in POLICIES.items()
            ),
            "/apis": {"groups": []},
        }
        for row in (*builtin().frameworks, Framework(name="house", app=("example.com/run",))):
            for number in range(self.rng.randint(1, 3)):
                self.app(row, f"{row.name}-{number}")
        self.oddities()
        self.rng.shuffle(self.pods)
        self.answers["/api/v1/pods"] = _list(self.pods)
        for namespace in NAMESPACES:
            mine = [pod for pod in self.pods if pod["metadata"]["namespace"] == namespace]
            self.answers[f"/api/v1/namespaces/{namespace}/pods"] = _list(mine)

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
        self.pod("daemon", "team", owners=(OwnerRef("DaemonSet", "d", "ds", "apps", controller=True),))

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
        references = [
            {
                "apiVersion": f"{owner.group}/v1" if owner.group else "v1",
                "kind": owner.kind,
                "name": owner.name,
                "uid": owner.uid,
                "controller": owner.controller,
            }
            for owner in owners
        ]
        meta = {
            **_object(name, namespace, labels)["metadata"],
            "uid": f"uid-{namespace}-{name}",
            "annotations": dict(annotations or {}),
            "ownerReferences": references,
            "creationTimestamp": f"2026-01-01T00:00:{created:02d}Z",
        }
        spec = {
            "schedulerName": names.SCHEDULER,
            "schedulingGates": [{"name": names.GATE}],
            "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
        }
        self.pods.append({"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})

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
                learn(owner, self.above[owner.uid])

    def serve(self, request: httpx2.Request) -> httpx2.Response:
        """What the API server says to commands and pages: lists, discovery and owners."""
        path = request.url.path
        if path in self.answers:
            return httpx2.Response(200, json=self.answers[path])
        return httpx2.Response(404, json={"message": f"{path} does not exist"})


def _object(name: str, namespace: str = "", labels: Mapping[str, str] | None = None) -> Object:
    return {"metadata": {"name": name, "namespace": namespace, "uid": name, "labels": dict(labels or {})}}


def _list(items: Any) -> Object:
    return {"metadata": {}, "items": list(items)}


# -- the programs -----------------------------------------------------------------------------------------------------


def operator(cluster: Cluster) -> Program:
    """The operator's program, fed through its own feeds."""
    program = Program(OperatorSettings())
    program._set_namespaces(cluster.namespaces())
    for kind, specs in (("SlackPolicy", POLICIES), ("AdmissionQueue", QUEUES), ("ReservationPool", POOLS)):
        program._configuring(kind).changed(cluster.customs(specs))
    program._extend(cluster.frameworks())
    program._set_pods(cluster.records())
    cluster.learn(program.assembly.census, program.assembly.learn)
    return program


def extender(cluster: Cluster) -> ClusterCache:
    """The extender's cache, fed through its own sinks, with the labels that its watch keeps."""
    cache = ClusterCache(Decisions(), lambda: 0.0, lambda: 0.0)
    NamespaceSink(cache, "namespaces").changed(cluster.namespaces())
    PolicySink(cache, "SlackPolicy", lambda: None).changed(cluster.customs(POLICIES))
    FrameworkSink(cache, "frameworks", lambda: None).changed(cluster.frameworks())
    for kind, specs in (("AdmissionQueue", QUEUES), ("ReservationPool", POOLS)):
        GuardSink(cache, kind).changed(cluster.customs(specs))
    cache.set_pods(cluster.records(trim.only(cache.index.keys)))
    cluster.learn(cache.index, cache.learn_owner)
    return cache


def client(cluster: Cluster) -> ApiClient:
    """A client of commands and pages. Owners are learned as they are served: those in `above` by look-up."""
    return ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(cluster.serve))


def operators_answers(program: Program) -> dict[str, Answer]:
    """By uid: app, role and stage."""
    census = program.assembly.census
    return {
        pod.uid: (member.app, role_of(pod, member).value, member.stage)
        for pod in census.pods()
        if (member := census.member(pod.uid)) is not None
    }


def extenders_answers(cache: ClusterCache) -> dict[str, Answer]:
    """By uid: app, role and stage, of the pods it judges."""
    found = {}
    for pod in cache.index.pods.values():
        if cache.managed(pod):
            role, app = cache.recognise(pod)
            found[pod.uid] = (app.partition("/")[2], role.value, cache.index.member(pod).stage)
    return found


@pytest.fixture(params=range(5))
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """Generated objects."""
    return Cluster(request.param)


def test_operator_and_extender_recognise_every_pod_alike(cluster: Cluster) -> None:
    """App, role and stage of each managed pod, and which pods are managed at all."""
    first, second = operators_answers(operator(cluster)), extenders_answers(extender(cluster))
    assert first == second
    assert len(first) > 25
    assert not any(uid.startswith(("uid-kube-system", "uid-plain", f"uid-{names.SYSTEM_NAMESPACE}")) for uid in first)
    assert "uid-team-daemon" not in first


def test_the_extender_s_ledger_charges_under_these_names(cluster: Cluster) -> None:
    """What the guard and the learned peaks are asked under is the operator's id."""
    program, cache = operator(cluster), extender(cluster)
    expected = {uid: f"{pod.namespace}/{program.assembly.census.member(uid).app}" for uid, pod in _pods(program)}  # type: ignore[union-attr] # it has one
    assert {pod.uid: cache.claim(pod).app for pod in cache.index.pods.values() if cache.managed(pod)} == expected


def _pods(program: Program) -> Iterator[tuple[str, PodRecord]]:
    return ((pod.uid, pod) for pod in program.assembly.census.pods())


@pytest.mark.parametrize("namespace", [*NAMESPACES, "unheard-of"])
def test_every_program_governs_a_namespace_alike(namespace: str) -> None:
    """Managed, mode, queue and pool; of two pools on a queue the first by name, wherever it was listed."""
    cluster = Cluster(0)
    one, two = operator(cluster).assembly.governing, extender(cluster).governance
    for each in (one, two):
        assert each.managed(namespace) == (namespace in ("team", "other"))
        assert each.queue_of(namespace) == ("a" if namespace == "other" else "b")
        assert each.pool_of(each.queue_of(namespace)) == ("" if namespace == "other" else "y")
    assert one.mode(namespace) == two.mode(namespace)
    assert one.policy(namespace) == two.policy(namespace)


@pytest.mark.parametrize("seed", range(3))
def test_the_command_and_the_pages_name_apps_as_the_operator_does(seed: int) -> None:
    """`slackwater release --app` and the Gantt chart, where no owner above the first can be read by anyone."""
    cluster = Cluster(seed)
    cluster.above = dict.fromkeys(cluster.above, ())  # nobody may read owners: each counts as topmost
    expected = operators_answers(operator(cluster))
    api = client(cluster)
    freed = {each.uid: each.app for each in held(api, None)}
    assert {uid: freed[uid] for uid in expected} == {uid: app for uid, (app, _, _) in expected.items()}
    source = Live(api, ExtenderClient(api))
    for app in {app for uid, (app, _, _) in expected.items() if uid.startswith("uid-team")}:
        drawn = {bar.pod: (bar.role, bar.stage) for bar in source.gantt("team", app)}
        wanted = {
            uid.removeprefix("uid-team-"): (role, stage)
            for uid, (other, role, stage) in expected.items()
            if other == app and uid.startswith("uid-team-")
        }
        assert drawn.items() >= wanted.items()


def test_what_differed_before(cluster: Cluster) -> None:
    """D9 by name: duplicates, ConfigMap frameworks, policy labels, forged ids."""
    found = extenders_answers(extender(cluster))
    assert found["uid-team-first"][0] == found["uid-team-first-exec"][0] == "spark/s"
    assert found["uid-team-second"][0] == found["uid-team-second-exec"][0] == "spark/s@uid-team"
    assert {found[f"uid-team-outside-{number}"][0] for number in range(3)} == {"spark/client@client"}
    assert (found["uid-team-lead"][1], found["uid-other-lead"][1]) == (Role.UNKNOWN.value, Role.DRIVER.value)
    assert found["uid-team-forged"][:1] == ("pod/forged",)
    assert found["uid-team-admitted"][1] == Role.DRIVER.value
    assert any(app.startswith("house/") for app, _, _ in found.values()) or not _manages_house(cluster)


def _manages_house(cluster: Cluster) -> bool:
    return any(
        "example.com/run" in pod["metadata"]["labels"] and pod["metadata"]["namespace"] in ("team", "other")
        for pod in cluster.pods
    )
