"""What operator, command line and people may read, and how the extender speaks about itself."""

from __future__ import annotations

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

import slackwater
from slackwater_cluster import names
from slackwater_extender.scheduling.readiness import readiness
from slackwater_extender.scheduling.verbs import NEEDED
from support.builders import objects
from support.fakes.extender import World, custom, world


@pytest.fixture
def made() -> World:
    """Two nodes, one in a pool of its own; one running task, one driver."""
    found = world(objects.node("n1", labels={"pool": "batch"}), objects.node("n2"))
    found.show(
        objects.pod("task", cpu="1", annotations=objects.declared("2", "1Gi"), node="n1", phase="Running"),
        objects.pod("driver", cpu="1", labels={"slackwater.io/role": "driver"}, node="n1", phase="Running"),
    )
    found.sample({"n1": (1.0, 2.0**30), "n2": (0.0, 0.0)})
    return found


def test_nodes_in_short(made: World) -> None:
    """Requested, used, estimated, allowed and room by kind."""
    answer = made.get("/v1/nodes")
    assert answer["kinds"] == ["cpu", "memory"]
    first = answer["nodes"][0]
    assert (first["name"], first["open"], first["stale"]) == ("n1", True, False)
    assert first["allowed"] == {"cpu": 16, "memory": 56 * 2**30}
    assert first["declared"]["cpu"] == 3
    assert first["room"]["cpu"] == pytest.approx(16 - first["estimate"]["cpu"] - 1)


def test_a_floor_is_said_in_words(made: World) -> None:
    """Where requests leave more than measurement, the sentence tells that, and the numbers add up."""
    memory = made.get("/v1/nodes/n2")["resources"]["memory"]
    assert memory["room"] == memory["requested"] == 64 * 2**30
    assert "requests are a floor" in memory["arithmetic"]


def test_room_that_the_kernels_choice_bounds_is_said_in_words() -> None:
    """Beside a Burstable pod of 20 GiB, memory is given out by what tasks declare: the sentence says for whom."""
    small = objects.node("n1", memory="40Gi")
    small["status"]["capacity"] = {"cpu": "16", "memory": "64Gi"}
    tasks = [f"t{number}" for number in range(4)]
    found = world(small)
    found.show(
        objects.pod("large", "others", memory="20Gi", node="n1", phase="Running", scheduler="default-scheduler"),
        *(objects.pod(name, annotations=objects.declared("2", "1536Mi"), node="n1", phase="Running") for name in tasks),
    )
    found.sample({"n1": (0.0, 0.0)})
    memory = found.get("/v1/nodes/n1")["resources"]["memory"]
    assert memory["room"] == memory["bound"] == (40 - 20 - 4 * 1.5) * 2**30
    assert f"asks for {20 * 2**30:.6g}" in memory["arithmetic"]


def test_rooms_come_as_arrays(made: World) -> None:
    """One row per node, one column per kind; what is left by measurement, of native and of declared requests."""
    answer = made.get("/v1/rooms")
    assert answer["names"] == ["n1", "n2"]
    assert answer["kinds"] == ["cpu", "memory"]
    assert answer["native"][0][0] == 16 - 1 - 1
    assert answer["requested"][0][0] == 16 - 2 - 1
    assert answer["room"][1] == [16, 64 * 2**30]
    assert answer["open"] == [True, True]


def test_nodes_by_selector(made: World) -> None:
    """As an AdmissionQueue selects them."""
    assert [each["name"] for each in made.get("/v1/nodes?selector=pool=batch")["nodes"]] == ["n1"]
    assert made.get("/v1/nodes?selector=pool=batch,zone=a")["nodes"] == []


def test_one_node_with_its_arithmetic(made: World) -> None:
    """The numbers in the sentence are the numbers in the fields, and they add up."""
    answer = made.get("/v1/nodes/n1")
    cpu = answer["resources"]["cpu"]
    assert cpu["room"] == pytest.approx(min(cpu["allowed"], cpu["real"]) - cpu["estimate"] - cpu["drivers"])
    assert f"room {cpu['room']:.6g} = min(allowed 16, real 16)" in cpu["arithmetic"]
    pods = {each["pod"]: each for each in answer["pods"]}
    assert pods["batch/driver"]["role"] == "driver"
    assert pods["batch/task"]["declared"]["cpu"] == 2


def test_capacity_sums_over_open_nodes(made: World) -> None:
    """Cordoned nodes offer nothing; a selector narrows."""
    assert made.get("/v1/capacity")["allocatable"]["cpu"] == 32
    made.nodes(objects.node("n2", spec={"unschedulable": True}))
    answer = made.get("/v1/capacity")
    assert (answer["nodes"], answer["allocatable"]["cpu"]) == (1, 16)
    assert made.get("/v1/capacity?selector=pool=none")["nodes"] == 0


def test_room_beyond_the_ceilings_is_not_reachable(made: World) -> None:
    """Natively full nodes take nobody, however little is used there (decision 0006)."""
    answer = made.get("/v1/capacity")
    assert answer["reachable"]["cpu"] == pytest.approx(min(answer["room"]["cpu"], 2 * answer["native_free"]["cpu"]))
    made.show(objects.pod("one", node="n1", cpu="16"), objects.pod("two", node="n2", cpu="16"))
    full = made.get("/v1/capacity")
    assert (full["native_free"]["cpu"], full["reachable"]["cpu"]) == (0, 0)


def test_placing_a_pod_leaves_the_pools_total_as_it_is(made: World) -> None:
    """Tot = Σ declared + room."""
    before = made.get("/v1/capacity")["pool_total"]["cpu"]
    made.filter(objects.pod("new", cpu="3"), "n2")
    assert made.get("/v1/capacity")["pool_total"]["cpu"] == pytest.approx(before)


def test_decisions_newest_first_and_by_pod(made: World) -> None:
    """With the numbers that the scheduler must not be shown."""
    made.filter(objects.pod("a", cpu="1"), "n1", "n2")
    made.filter(objects.pod("b", cpu="99"), "n1", "n2")
    newest, oldest = made.get("/v1/decisions")["decisions"]
    assert (newest["pod"], newest["result"], oldest["result"]) == ("b", "refused", "placed")
    assert newest["counts"] == {"slackwater: measured cpu room too small": 2}
    assert newest["declared"]["cpu"] == 99
    assert [each["pod"] for each in made.get("/v1/decisions?pod=a")["decisions"]] == ["a"]
    assert [each["pod"] for each in made.get("/v1/decisions?result=refused&limit=1")["decisions"]] == ["b"]
    assert made.get("/v1/decisions?namespace=other")["decisions"] == []


@pytest.mark.parametrize(
    ("pod", "words"),
    [
        (objects.pod("x", node="n1"), "it is on n1"),
        (objects.pod("x", phase="Succeeded"), "it has ended"),
        (objects.pod("x", scheduler="other"), "not Slackwater's"),
        (objects.pod("x", spec={"schedulingGates": [{"name": "slackwater.io/admission"}]}), "behind the gate"),
        (objects.pod("x", annotations={"slackwater.io/parked": "1"}), "refused everywhere: slackwater: pod is parked"),
        (objects.pod("x", cpu="1"), "nodes with room: 2"),
        (objects.pod("x", cpu="17"), "it can never fit: it asks for 17 cpu"),
    ],
    ids=["bound", "ended", "foreign", "gated", "parked", "fits", "refused"],
)
def test_explain_in_one_sentence(made: World, pod: dict[str, Any], words: str) -> None:
    """Why it waits, or why it is where it is."""
    made.show(pod)
    assert words in made.get("/v1/explain/batch/x")["sentence"]


def test_explain_changes_nothing(made: World) -> None:
    """Asking is free."""
    made.show(objects.pod("x", cpu="1"))
    before = made.parts.cache.ledger.claim("uid-batch-x")
    made.get("/v1/explain/batch/x")
    assert made.parts.cache.ledger.claim("uid-batch-x") == before


def test_explain_shows_best_nodes_and_past_decisions(made: World) -> None:
    """Numbers by node, and what was decided before."""
    made.filter(objects.pod("x", cpu="99"), "n1", "n2")
    made.show(objects.pod("x", cpu="1"))
    answer = made.get("/v1/explain/batch/x")
    assert answer["now"]["best"][0]["node"] == "n2"
    assert answer["decisions"][0]["result"] == "refused"
    assert answer["refused_since"] is not None


def test_explain_counts_nodes_that_the_pod_can_use(made: World) -> None:
    """A tainted node is never the best one, nor is one outside the queue's selector; both are counted apart."""
    taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
    made.nodes(objects.node("n3", cpu="64", spec={"taints": [taint]}))
    made.parts.cache.guard.set("AdmissionQueue", [custom("default", {"nodeSelector": {"pool": "batch"}})])
    made.show(objects.pod("x", cpu="1"))
    now = made.get("/v1/explain/batch/x")["now"]
    assert [each["node"] for each in now["best"]] == ["n1"]
    assert now["nodes"] == 1
    assert now["out_of_reach"] == {"outside the nodes of its queue": 2}
    made.parts.cache.guard.set("AdmissionQueue", [custom("default", {})])
    now = made.get("/v1/explain/batch/x")["now"]
    assert (now["nodes"], now["out_of_reach"]) == (2, {"taint dedicated": 1})


@pytest.mark.parametrize(
    ("cpu", "taints", "words"),
    [
        pytest.param("40", [], "it can never fit: it asks for 40 cpu", id="larger than every node"),
        pytest.param(
            "1", [{"key": "gpu", "effect": "NoSchedule"}], "no node can ever serve it: taint gpu (2 nodes)", id="taint"
        ),
    ],
)
def test_explain_says_when_waiting_is_in_vain(made: World, cpu: str, taints: list[dict[str, str]], words: str) -> None:
    """Not that it goes as soon as there is room."""
    made.nodes(*(objects.node(name, spec={"taints": taints}) for name in ("n1", "n2")))
    made.show(objects.pod("x", cpu=cpu, spec={"schedulingGates": [{"name": "slackwater.io/admission"}]}))
    assert words in made.get("/v1/explain/batch/x")["sentence"]


def test_openapi_names_every_route(made: World) -> None:
    """What is served is described, and nothing else."""
    described = set(made.get("/openapi.json")["paths"])
    rules = {str(rule) for rule in made.client.application.url_map.iter_rules()} - {"/openapi.json"}
    served = {rule.replace("<", "{").replace(">", "}") for rule in rules} | {"/filter", "/prioritize"}
    assert described == served


def test_version(made: World) -> None:
    """The API and the metrics carry it."""
    assert made.get("/v1/version") == {"version": slackwater.__version__}
    assert (
        f'slackwater_extender_build_info{{version="{slackwater.__version__}"}} 1.0' in made.client.get("/metrics").text
    )


class TestReadiness:
    """Ready, degraded with a reason, or not yet."""

    def test_not_before_the_first_lists(self) -> None:
        """And it says what is missing."""
        found = readiness(frozenset({"nodes"}), {"pods": "403: forbidden"}, "", sampled=False, broken={})
        assert (found.ready, found.status) == (False, "starting")
        assert "pods: 403: forbidden" in found.reasons
        assert "namespaces: not listed yet" in found.reasons

    def test_not_before_the_first_sample(self) -> None:
        """A moment later it will know more."""
        assert not readiness(NEEDED, {}, "", sampled=False, broken={}).ready

    def test_without_prometheus_it_serves_and_says_so(self) -> None:
        """Room from reservations is safe."""
        found = readiness(NEEDED, {}, "no Prometheus is configured", sampled=False, broken={})
        assert (found.ready, found.status) == (True, "degraded")
        assert "nothing is overcommitted" in found.reasons[0]

    def test_troubles_of_watch_and_policies_are_told(self) -> None:
        """But do not stop it."""
        found = readiness(
            NEEDED, {"pods": "503"}, "", sampled=True, broken={("SlackPolicy", "default"): "mode is wrong"}
        )
        assert found.ready
        assert len(found.reasons) == 2

    def test_over_http(self, made: World) -> None:
        """503 until it may be asked."""
        made.parts.cache.synced.discard("pods")
        assert made.get("/readyz", status=503)["status"] == "starting"
        made.parts.cache.synced.add("pods")
        made.parts.sampling.newest = 1.0
        assert made.get("/readyz") == {"status": "ready", "reasons": []}
        assert made.get("/healthz") == {"status": "ok"}


class TestMetrics:
    """By Prometheus conventions, with bounded cardinality."""

    def families(self, made: World) -> dict[str, Any]:
        """All families of a scrape, parsed."""
        return {each.name: each for each in text_string_to_metric_families(made.client.get("/metrics").text)}

    def test_every_metric_is_explained_and_named_by_convention(self, made: World) -> None:
        """A prefix of ours, a help text, base units."""
        for name, family in self.families(made).items():
            assert name.startswith("slackwater_")
            assert family.documentation
            assert not name.endswith(("_ms", "_milliseconds", "_mb"))

    def test_nodes_by_kind(self, made: World) -> None:
        """Requested, used, estimated, allowed and room."""
        families = self.families(made)
        for name in ("declared", "native", "used", "estimate", "allowed", "room"):
            labels = {
                (each.labels["node"], each.labels["resource"]) for each in families[f"slackwater_node_{name}"].samples
            }
            assert labels == {("n1", "cpu"), ("n1", "memory"), ("n2", "cpu"), ("n2", "memory")}

    def test_decisions_are_counted_by_constant_reasons(self, made: World) -> None:
        """No label holds a pod, an app, a namespace or a number."""
        for index in range(20):
            made.filter(objects.pod(f"p{index}", cpu=str(index + 20)), "n1")
        samples = self.families(made)["slackwater_extender_decisions"].samples
        assert len(samples) == 1
        assert samples[0].labels["reason"] == "slackwater: measured cpu room too small"
        assert samples[0].value == 20

    def test_modes_sizes_and_latency(self, made: World) -> None:
        """What an alert needs."""
        made.filter(objects.pod("p"), "n1")
        families = self.families(made)
        modes = {each.labels["mode"]: each.value for each in families["slackwater_extender_namespaces"].samples}
        assert modes == {"observe": 0, "score": 0, "enforce": 1}
        assert families["slackwater_extender_ledger_pods"].samples[0].value == 3
        assert families["slackwater_extender_provisional_pods"].samples[0].value == 1
        assert families["slackwater_extender_request_seconds"].type == "histogram"


def test_guard_forgets_deleted_objects(made: World) -> None:
    """A queue that is gone guards nothing."""
    guard = made.parts.cache.guard
    for kind, name in (("AdmissionQueue", "q"), ("ReservationPool", "p"), ("TrackedApp", "a")):
        record = custom(name, {"app": "a"} if kind == "TrackedApp" else {}, namespace="batch")
        guard.set(kind, [record])
        guard.drop(kind, [record])
    assert guard.verdict(made.parts.cache.index.pods["uid-batch-driver"], "batch/a", driver=True) is None


class TestStatedRisk:
    """`estimation.risk` of the policy: every number of it can be read."""

    @pytest.fixture
    def risky(self) -> World:
        """Ten nodes with a task each, measured until promises were compared."""
        names = [f"n{number}" for number in range(10)]
        found = world(*(objects.node(name) for name in names))
        found.policy(mode="enforce", estimation={"risk": "5%", "riskHorizonSeconds": 60})
        tasks = [
            objects.pod(f"t{at}", cpu="1", memory="1Gi", node=name, phase="Running") for at, name in enumerate(names)
        ]
        found.show(*tasks)
        for beat in range(60):
            use = {name: (0.5 + (beat + at) % 3 / 10, 2.0**29) for at, name in enumerate(names)}
            uids = {task["metadata"]["uid"]: use[name] for task, name in zip(tasks, names, strict=True)}
            found.sample(use, uids)
            found.clock.now += 5
        return found

    def test_explained_with_every_number(self, risky: World) -> None:
        """Expected + factor × spread is the peak, and room is what it leaves of all that is allocatable."""
        cpu = risky.get("/v1/nodes/n3")["resources"]["cpu"]
        promise = cpu["promise"]
        assert promise["asked"] == 0.05
        assert promise["peak"] == pytest.approx(promise["centre"] + promise["factor"] * promise["spread"])
        assert cpu["room"] == pytest.approx(min(cpu["allocatable"], cpu["real"]) - promise["peak"])
        assert "at a risk of 5% its pods use at most" in cpu["arithmetic"]

    def test_what_never_varies_is_told_as_an_amount(self, risky: World) -> None:
        """Memory that stands still has no spread: millions of nothings would tell nobody how much is meant."""
        memory = risky.get("/v1/nodes/n3")["resources"]["memory"]
        promise = memory["promise"]
        assert promise["factor"] < -1000
        assert promise["beyond"] == pytest.approx(promise["factor"] * promise["spread"])
        assert f"− {-promise['beyond']:.6g}, as use does not vary, of all" in memory["arithmetic"]
        page = risky.client.get("/metrics").text
        assert 'slackwater_extender_risk_factor{machine="16 cpu, 64 GiB",resource="memory"} -1000.0' in page

    def test_realised_beside_asked(self, risky: World) -> None:
        """As gauges by resource, and by type of machine."""
        page = risky.client.get("/metrics").text
        assert 'slackwater_extender_risk_asked{resource="cpu"} 0.05' in page
        assert 'slackwater_extender_risk_realised{machine="16 cpu, 64 GiB",resource="cpu"} 0.0' in page

    def test_nothing_of_it_without_a_risk(self, made: World) -> None:
        """No promise, no margin, no series."""
        cpu = made.get("/v1/nodes/n1")["resources"]["cpu"]
        assert (cpu["promise"], cpu["margin"]) == (None, 0.0)
        assert "slackwater_extender_risk_asked{" not in made.client.get("/metrics").text

    def test_a_young_ledger_says_so(self) -> None:
        """In words, and in JSON that every client can read."""
        found = world(objects.node("n1"))
        found.policy(mode="enforce", estimation={"risk": "1%"})
        found.sample({"n1": (1.0, 2.0**30)})
        cpu = found.get("/v1/nodes/n1")["resources"]["cpu"]
        assert cpu["promise"]["factor"] is None
        assert "too few promises were compared yet" in cpu["arithmetic"]


def test_placements_are_refused_to_who_decided_on_another_instance_s_rooms() -> None:
    """In an upgrade two extenders answer for a moment, and neither knows yet what the other just placed."""
    first, second = (world(objects.node("n")) for _ in range(2))
    meant = first.get("/v1/rooms")["instance"]
    assert meant != second.get("/v1/rooms")["instance"]
    bodies = {"/v1/place": b'{"pods": []}', "/v1/reserve": b'{"pods": []}'}
    for path, body in bodies.items():
        answers = [
            made.client.post(path, data=body, headers={names.INSTANCE_HEADER: meant}) for made in (first, second)
        ]
        assert [answer.status_code for answer in answers] == [200, 503]
        assert second.client.post(path, data=body).status_code == 200  # who names none is answered
