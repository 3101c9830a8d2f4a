"""One answer per question: the same objects in every program, the same app, role, stage, queue, pool and mode out.

Hundreds of generated pods over all built-in frameworks, a framework from a ConfigMap, role labels of policies,
duplicate ids, owners that must be looked up, forged labels, two pools on a queue and kube-system go through the real
entries: the operator's cache, the extender's cache, the monitor's source and the command's `release`. Watchdog, hooks
and webhook follow in `test_conformance_gates.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest

from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.api.client import ApiClient, ExtenderClient
from slackwater_cluster.api.endpoint import Endpoint
from slackwater_cluster.api.paths import custom_path
from slackwater_cluster.apps.listing import listed_pods, read_governance
from slackwater_cluster.apps.resolver import role_of
from slackwater_cluster.customresources.trackedapp import TrackedAppSpec
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch import trim
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.watch import FrameworkSink, GuardSink, NamespaceSink, PolicySink
from slackwater_extender.settings import Decisions
from slackwater_monitor.release import held
from slackwater_monitor.sources.explanation import explain
from slackwater_monitor.sources.live import Live
from slackwater_monitor.sources.views import pool_of
from slackwater_operator.program import Program
from slackwater_operator.settings import Settings as OperatorSettings
from support.builders.mixedcluster import NAMESPACES, POLICIES, POOLS, QUEUES, MixedCluster

Answer = tuple[str, str, str]  # app, role, stage


# -- the programs -----------------------------------------------------------------------------------------------------


def operator(cluster: MixedCluster) -> Program:
    """The operator's program, fed through its own feeds."""
    program = Program(OperatorSettings())
    program._set_namespaces(cluster.namespaces())
    for kind, specs in (("SlackPolicy", POLICIES), ("AdmissionQueue", QUEUES), ("ReservationPool", POOLS)):
        program._configuring(kind).changed(cluster.customs(specs))
    program._extend(cluster.frameworks())
    program._set_pods(cluster.records())
    cluster.learn(program.cache.index, program.cache.learn)
    return program


def extender(cluster: MixedCluster) -> ClusterCache:
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


def client(cluster: MixedCluster) -> ApiClient:
    """A client of commands and pages."""
    return ApiClient(Endpoint("http://cluster", False, dict), httpx2.MockTransport(cluster.serve))


def operators_answers(program: Program) -> dict[str, Answer]:
    """By uid: app, role and stage."""
    index = program.cache.index
    return {
        pod.uid: (member.app, role_of(pod, member).value, member.stage)
        for pod in index.pods()
        if (member := index.member(pod.uid)) is not None
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
def cluster(request: pytest.FixtureRequest) -> MixedCluster:
    """Generated objects."""
    return MixedCluster(request.param)


def test_operator_and_extender_recognise_every_pod_alike(cluster: MixedCluster) -> None:
    """App, role and stage of each managed pod, and which pods are managed at all."""
    first, second = operators_answers(operator(cluster)), extenders_answers(extender(cluster))
    assert first == second
    assert len(cluster.pods) > 200
    assert len(first) > 75
    assert not any(uid.startswith(("uid-kube-system", "uid-plain", f"uid-{names.SYSTEM_NAMESPACE}")) for uid in first)


def test_operator_and_extender_know_daemons_alike(cluster: MixedCluster) -> None:
    """A pod that names a DaemonSet is one, unless it is held: such a pod passed our admission policy."""
    assert "uid-team-daemon" in operators_answers(operator(cluster))
    assert "uid-team-daemon" in extenders_answers(extender(cluster))
    cluster.bind(lambda pod: pod["metadata"]["name"] == "daemon")
    assert "uid-team-daemon" not in operators_answers(operator(cluster))
    assert "uid-team-daemon" not in extenders_answers(extender(cluster))


def test_the_extender_asks_and_learns_under_these_names(cluster: MixedCluster) -> None:
    """The guard is asked under the operator's id; peaks are learned under the series of the operator's own."""
    program, cache = operator(cluster), extender(cluster)
    members = {uid: (pod.namespace, program.cache.index.member(uid)) for uid, pod in _pods(program)}
    managed = [pod for pod in cache.index.pods.values() if cache.managed(pod)]
    asked = {uid: f"{namespace}/{member.app}" for uid, (namespace, member) in members.items() if member}
    assert {pod.uid: cache.recognise(pod)[1] for pod in managed} == asked
    learned = {
        uid: f"{namespace}/{member.series}/{member.stage}" for uid, (namespace, member) in members.items() if member
    }
    assert {pod.uid: cache.claim(pod).app for pod in managed} == learned


def _pods(program: Program) -> Iterator[tuple[str, PodRecord]]:
    return ((pod.uid, pod) for pod in program.cache.index.pods())


@pytest.mark.parametrize("namespace", [*NAMESPACES, "unheard-of"])
def test_every_program_governs_a_namespace_alike(namespace: str) -> None:
    """Managed, mode, queue and pool; of two pools on a queue the first by name, wherever it was listed."""
    cluster = MixedCluster(0)
    one, two = operator(cluster).cache.governing, extender(cluster).governance
    for each in (one, two):
        assert each.managed(namespace) == (namespace in ("team", "other"))
        assert each.queue_of(namespace) == ("a" if namespace == "other" else "b")
        assert each.pool_of(each.queue_of(namespace)) == ("" if namespace == "other" else "y")
    assert one.mode(namespace) == two.mode(namespace)
    assert one.policy(namespace) == two.policy(namespace)


@pytest.mark.parametrize("readable", [True, False], ids=["owners are read", "no owner may be read"])
def test_the_command_and_the_pages_name_apps_as_the_operator_does(cluster: MixedCluster, readable: bool) -> None:
    """`slackwater release --app` and the Gantt chart, with owners above the first, and where nobody may read them."""
    if not readable:
        cluster.owners.clear()
        cluster.above = dict.fromkeys(cluster.above, ())  # each counts as topmost
    expected = operators_answers(operator(cluster))
    api = client(cluster)
    freed = {each.uid: each.app for each in held(api, None)}
    assert len(freed) == sum(not pod["spec"].get("nodeName") for pod in cluster.pods) > 200
    assert {uid: freed[uid] for uid in expected} == {uid: app for uid, (app, _, _) in expected.items()}
    source = Live(api, ExtenderClient(api))
    for namespace in ("team", "other"):
        mine = {uid: answer for uid, answer in expected.items() if uid.startswith(f"uid-{namespace}-")}
        assert len({app for app, _, _ in mine.values()}) > 10
        for app in sorted({app for app, _, _ in mine.values()})[::9]:
            drawn = {bar.pod: (bar.role, bar.stage) for bar in source.gantt(namespace, app)}
            wanted = {
                uid.removeprefix(f"uid-{namespace}-"): (role, stage)
                for uid, (other, role, stage) in mine.items()
                if other == app
            }
            assert drawn.items() >= wanted.items()


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_release_reads_pods_with_a_node_only_where_an_app_depends_on_them(cluster: MixedCluster, share: float) -> None:
    """Every held pod has the app that the operator knows, whether its driver and its namesakes have a node or not."""
    drivers, tasks = ("first", "second"), ("first-exec", "second-exec")
    cluster.bind(
        lambda pod: (
            pod["metadata"]["name"] in drivers
            or (cluster.rng.random() < share and pod["metadata"]["name"] not in tasks)
        )
    )
    expected = operators_answers(operator(cluster))
    freed = {each.uid: each.app for each in held(client(cluster), None)}
    assert set(freed) == {pod["metadata"]["uid"] for pod in cluster.pods if not pod["spec"].get("nodeName")}
    wanted = {uid: app for uid, (app, _, _) in expected.items() if uid in freed}
    assert {uid: freed[uid] for uid in wanted} == wanted
    lists = [(path, more.get("fieldSelector")) for path, more in cluster.asked if path.endswith("/pods")]
    assert lists[0] == ("/api/v1/pods", "spec.nodeName=")
    assert {selector for _, selector in lists[1:]} <= {"spec.nodeName!="}
    assert all(path.startswith("/api/v1/namespaces/") for path, _ in lists[1:])


def test_release_reads_no_pod_with_a_node_for_apps_that_name_themselves(cluster: MixedCluster) -> None:
    """Nor for those of owners: one list is all."""
    cluster.bind(lambda pod: pod["metadata"]["name"] not in ("own", "grouped", "daemon"))
    assert len(held(client(cluster), None)) == 5
    assert [path for path, _ in cluster.asked if path.endswith("/pods")] == ["/api/v1/pods"]


def test_a_page_looks_up_so_many_owners_and_no_more(cluster: MixedCluster) -> None:
    """The pods of the others count as those of their nearest owner."""
    api = client(cluster)
    everything = {each.record.uid: each.member for each in listed_pods(api)}
    asked = lookups(cluster)
    assert len(asked) > 10
    cluster.asked.clear()
    some = {each.record.uid: each.member for each in listed_pods(api, most=5)}
    assert len(lookups(cluster)) <= 5
    assert set(some) == set(everything)
    assert all(member.unknown is None for uid, member in some.items() if everything[uid].unknown is None)


def lookups(cluster: MixedCluster) -> list[str]:
    """The addresses of owners that were asked for."""
    plurals = {f"{owner.kind.lower()}s" for owner in cluster.owners.values()}
    return [path for path, _ in cluster.asked if path.count("/") > 5 and path.split("/")[-2] in plurals]


def test_owners_above_the_first_decide(cluster: MixedCluster) -> None:
    """The generated owners matter: with none readable, some pods would belong to other apps."""
    read = {each.record.uid: each.member.app for each in listed_pods(client(cluster))}
    cluster.owners.clear()
    unread = {each.record.uid: each.member.app for each in listed_pods(client(cluster))}
    assert sum(read[uid] != unread[uid] for uid in read) > 5


def test_the_command_governs_as_the_operator_does(cluster: MixedCluster) -> None:
    """Managed, policy and mode of every namespace, as `slackwater release` and the pages read them."""
    one, two = operator(cluster).cache.governing, read_governance(client(cluster))
    for namespace in (*NAMESPACES, "unheard-of"):
        assert one.managed(namespace) == two.managed(namespace)
        assert one.mode(namespace) == two.mode(namespace)
        assert one.policy(namespace) == two.policy(namespace)


@pytest.mark.parametrize(
    ("settings", "exempt"),
    [
        ("decisions: {watchdog_namespace: other}", True),
        ("decisions: {own_namespace: slackwater-system}", False),
        ("decisions: [", False),
        (None, False),
    ],
    ids=["told", "not told", "not YAML", "may not be read"],
)
def test_the_command_knows_where_the_watchdog_runs(cluster: MixedCluster, settings: str | None, exempt: bool) -> None:
    """By the extender's settings, as the chart writes them: that namespace is not managed, whatever its label says."""
    path = f"/api/v1/namespaces/{names.SYSTEM_NAMESPACE}/configmaps"
    if settings is None:
        del cluster.answers[path]
    else:
        cluster.answers[path] = {
            "items": [{"metadata": {"name": "slackwater-extender"}, "data": {"extender.yaml": settings}}]
        }
    assert read_governance(client(cluster)).managed("other") is not exempt
    assert "metadata.name=slackwater-extender" in [
        asked.get("fieldSelector") for at, asked in cluster.asked if at == path
    ]


def test_pages_and_explain_show_the_operator_s_queue_and_pool(cluster: MixedCluster) -> None:
    """Also without the extender's word; of two pools on a queue the first by name, however they are listed."""
    program = operator(cluster)
    program.cache.views.refresh()
    tracked = [
        {
            "metadata": {"name": f"app-{number}", "namespace": each.namespace},
            "spec": TrackedAppSpec(app=each.app, name=each.name, queue=governs.queue_of(each.namespace)).body(),
        }
        for governs in [program.cache.governing]
        for number, each in enumerate(program.cache.views.values())
    ]
    for namespace in ("", "team", "other"):
        mine = [body for body in tracked if namespace in ("", body["metadata"]["namespace"])]
        cluster.answers[custom_path("trackedapps", namespace=namespace)] = {"metadata": {}, "items": mine}
    api = client(cluster)
    seen = Live(api, ExtenderClient(api)).snapshot()
    assert len(seen.apps) == len(tracked) > 40
    for app in seen.apps:
        shown = pool_of(app.queue, seen.pools)
        assert (shown.name if shown else "") == program.cache.governing.pool_of(app.queue)
    for uid, (named, _, _) in list(operators_answers(program).items())[::25]:
        pod = program.cache.index.pod(uid)
        assert pod is not None
        found = explain(api, ExtenderClient(api), pod.namespace, pod.name)
        queue = program.cache.governing.queue_of(pod.namespace)
        assert found.app is not None
        assert (found.app.name, found.app.queue) == (named, queue)
        assert (found.pool.name if found.pool else "") == program.cache.governing.pool_of(queue)


def test_what_differed_before(cluster: MixedCluster) -> None:
    """D9 by name: duplicates, ConfigMap frameworks, policy labels, forged ids."""
    found = extenders_answers(extender(cluster))
    assert found["uid-team-first"][0] == found["uid-team-first-exec"][0] == "spark/s"
    assert found["uid-team-second"][0] == found["uid-team-second-exec"][0] == "spark/s@uid-team"
    assert {found[f"uid-team-outside-{number}"][0] for number in range(3)} == {"spark/client@client"}
    assert (found["uid-team-lead"][1], found["uid-other-lead"][1]) == (Role.UNKNOWN.value, Role.DRIVER.value)
    assert found["uid-team-forged"][:1] == ("pod/forged",)
    assert found["uid-team-admitted"][1] == Role.DRIVER.value
    assert any(app.startswith("house/") for app, _, _ in found.values()) or not _manages_house(cluster)


def _manages_house(cluster: MixedCluster) -> bool:
    return any(
        "example.com/run" in pod["metadata"]["labels"] and pod["metadata"]["namespace"] in ("team", "other")
        for pod in cluster.pods
    )
