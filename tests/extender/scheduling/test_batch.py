"""Batch placement: a node for each of many pods, charged at once."""

from __future__ import annotations

from typing import Any

import pytest

from slackwater.errors import InvalidInput
from slackwater.ledger.types import ClaimState
from slackwater_extender.scheduling import placewire
from support.builders import objects
from support.fakes.extender import World, world
from support.fakes.placing import ask, task, three, waiting


def test_each_pod_gets_a_node_and_is_charged() -> None:
    """21 pods of 2 cores fill 3 × 14; each placement is seen by the next."""
    names = [f"p{i}" for i in range(22)]
    made = three(*[waiting(name) for name in names])
    answer = ask(made, *names)
    assert len(answer["placed"]) == 21
    assert [len(made.charged(f"n{i}")) for i in range(3)] == [7, 7, 7]
    (refused,) = answer["refused"]
    assert refused["reason"] == "slackwater: measured cpu room too small"
    assert refused["counts"] == {"slackwater: measured cpu room too small": 3}


def test_batch_placements_are_among_the_decisions() -> None:
    """Node or reason for each pod, with the numbers that decided; `explain` shows them too."""
    made = three(waiting("p"), objects.pod("vast", cpu="50", annotations=objects.declared("99", "1Gi")))
    answer = ask(made, "p", "vast")
    told = {each["pod"]: each for each in made.get("/v1/decisions")["decisions"]}
    assert told["p"]["verb"] == told["vast"]["verb"] == "place"
    assert (told["p"]["result"], told["p"]["node"]) == ("placed", answer["placed"][0]["node"])
    assert told["p"]["declared"]["cpu"] == 2.0
    assert told["vast"]["result"] == "refused"
    assert told["vast"]["reason"] == answer["refused"][0]["reason"]
    assert sum(told["vast"]["counts"].values()) == told["vast"]["asked"] == 3
    assert made.get("/v1/explain/batch/p")["decisions"][0]["verb"] == "place"


def test_a_device_that_no_node_offers_is_nowhere() -> None:
    """Until a node shows it, nothing is kept on any node for a pod that asks for it."""
    needs = {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}}
    pod = waiting("p", spec={"containers": [{"name": "c", "resources": needs}]})
    made = three(pod)
    assert [each["uid"] for each in ask(made, "p")["refused"]] == ["uid-batch-p"]
    assert not any(made.charged(f"n{i}") for i in range(3))
    made.parts.tick()
    assert made.get("/v1/wakeups?after=0")["pods"] == []
    made.nodes(objects.node("n1", cpu="14", more={"nvidia.com/gpu": "1"}))
    assert [each["node"] for each in ask(made, "p")["placed"]] == ["n1"]


def test_the_nominated_node_is_accepted_by_the_filter() -> None:
    """The common case: one name, the pod's own placement on it."""
    made = three(waiting("p", cpu="14"))
    node = ask(made, "p")["placed"][0]["node"]
    assert made.filter(waiting("p", cpu="14"), node)["NodeNames"] == [node]
    claim = made.parts.cache.ledger.claim("uid-batch-p")
    assert claim is not None
    assert claim.state is ClaimState.RESERVED


def test_a_pod_that_costs_more_than_it_declares_is_seen_by_the_next() -> None:
    """Pods of its app use 3 cores and declare 1: the third fits by what it declares, the fourth does not."""
    made = world(objects.node("n", cpu="8"), objects.node("m", cpu="32"))
    alike: dict[str, Any] = {"cpu": "1", "native": "500m", "labels": {"slackwater.io/app": "etl"}}
    before = [task(f"r{i}", node="m", phase="Running", status=objects.running(), **alike) for i in range(4)]
    other = task("other", "6", "5", node="n", phase="Running", status=objects.running())
    made.show(*before, other)
    uses = {**{pod["metadata"]["uid"]: (3.0, 2.0**29) for pod in before}, "uid-batch-other": (0.2, 2.0**29)}
    for _ in range(100):
        made.clock.now += 5
        made.sample({"m": (12.0, 2.0**31), "n": (0.2, 2.0**30)}, uses)
    made.gone(*before)
    made.nodes(objects.node("m", cpu="32", ready=False))
    names = [f"p{i}" for i in range(6)]
    pods = [task(name, **alike) for name in names]
    held_back(made, *pods)
    assert [each["uid"] for each in ask(made, *names)["placed"]] == ["uid-batch-p0", "uid-batch-p1", "uid-batch-p2"]
    assert [made.filter(pod, "n")["NodeNames"] for pod in pods[:3]] == [["n"]] * 3


@pytest.mark.parametrize("asked", [("n",), ("n", "x")], ids=["one node", "many nodes"])
def test_the_filter_leaves_a_pod_its_place_whatever_came_after_it(asked: tuple[str, ...]) -> None:
    """Beside a Burstable pod each lowered task takes less of the room than it declares: all of them fit at once.

    Without the first one, the others would leave 11 GiB by the kernel's order, and it declares 12.
    """
    node = objects.node("n", memory="40Gi")
    node["status"]["capacity"] = {"cpu": "16", "memory": "53Gi"}
    made = world(node)
    there: dict[str, Any] = {"node": "n", "phase": "Running", "status": objects.running()}
    running = [objects.pod("firm", memory="12Gi", **there), lowered("low", 8192, 12288, **there)]
    made.show(*running)
    small = {pod["metadata"]["uid"]: (0.05, 2.0**30) for pod in running}
    for _ in range(100):
        made.clock.now += 5
        made.sample({"n": (0.1, 2.0**31)}, small)
    pods = [lowered("first", 8192, 12288), lowered("second", 6700, 10000)]
    held_back(made, *pods)
    assert len(ask(made, "first", "second")["placed"]) == 2
    assert [made.filter(pod, *asked)["NodeNames"] for pod in pods] == [["n"], ["n"]]
    made.clock.now += 5
    made.sample({"n": (0.1, 38 * 2.0**30)}, {**small, "uid-batch-firm": (0.05, 37 * 2.0**30)})
    assert made.filter(pods[0], *asked)["NodeNames"] == []  # a neighbour has grown, and there is not enough for all


def lowered(name: str, native: int, declared: int, **more: Any) -> dict[str, Any]:
    """A task of so many MiB, in an app of its own."""
    sizes = objects.declared("200m", f"{declared}Mi")
    labels = {"slackwater.io/app": name}
    return objects.pod(name, cpu="100m", memory=f"{native}Mi", annotations=sizes, labels=labels, **more)


def held_back(made: World, *pods: dict[str, Any]) -> None:
    """Pods that wait, and are on their way to nowhere."""
    made.show(*pods)
    made.post("/v1/unreserve", {"uids": [pod["metadata"]["uid"] for pod in pods]})


def test_asked_again_a_pod_is_placed_anew() -> None:
    """The operator moves a nomination: the old charge goes, one stays."""
    made = three(waiting("p", cpu="14"))
    first = ask(made, "p")["placed"][0]["node"]
    again = made.post("/v1/place", {"pods": [{"uid": "uid-batch-p", "avoid": [first]}]})["placed"][0]["node"]
    assert again != first
    assert made.charged(first) == set()


def test_only_some_nodes_may_be_asked_for() -> None:
    """By name; names nobody knows serve nobody."""
    made = three(waiting("p"), waiting("q"))
    pods = [{"uid": "uid-batch-p", "nodes": ["n2", "ghost"]}, {"uid": "uid-batch-q", "nodes": ["ghost"]}]
    answer = made.post("/v1/place", {"pods": pods})
    assert answer["placed"] == [{"uid": "uid-batch-p", "node": "n2"}]
    assert answer["refused"][0]["reason"] == "slackwater: node not allowed for this pod"


def test_pods_of_a_batch_share_named_selections() -> None:
    """The nodes of a queue stand once in the body; its pods name them, and constraints of their own still count."""
    picky = objects.pod("picky", spec={"nodeSelector": {"kubernetes.io/hostname": "n1"}})
    made = three(waiting("p"), waiting("q"), waiting("free"), picky)
    pods = [
        {"uid": "uid-batch-p", "selection": "own", "avoid": ["n1"]},
        {"uid": "uid-batch-q", "selection": "gone"},
        {"uid": "uid-batch-picky", "selection": "own"},
        {"uid": "uid-batch-free"},
    ]
    answer = made.post("/v1/place", {"pods": pods, "selections": {"own": ["n1", "n2"], "gone": ["ghost"]}})
    placed = {each["uid"]: each["node"] for each in answer["placed"]}
    assert (placed["uid-batch-p"], placed["uid-batch-picky"]) == ("n2", "n1")
    assert "uid-batch-free" in placed
    assert [each["uid"] for each in answer["refused"]] == ["uid-batch-q"]


def test_a_selection_that_nobody_sent_is_an_error() -> None:
    """A pod must not get every node because the names of its own were forgotten."""
    with pytest.raises(InvalidInput, match="selection 'own' is not among the selections"):
        placewire.read(b'{"pods": [{"uid": "p", "selection": "own"}]}')


@pytest.mark.parametrize(
    ("spec", "node"),
    [
        ({"nodeSelector": {"kubernetes.io/hostname": "n1"}}, "n1"),
        ({"tolerations": [{"key": "gpu", "operator": "Exists"}], "nodeSelector": {"pool": "gpu"}}, "n9"),
    ],
    ids=["selector", "taint"],
)
def test_selectors_and_taints_are_respected(spec: dict[str, Any], node: str) -> None:
    """A nomination that kube-scheduler would refuse helps nobody."""
    made = three()
    taints = [{"key": "gpu", "value": "", "effect": "NoSchedule"}]
    made.nodes(objects.node("n9", labels={"pool": "gpu"}, spec={"taints": taints}))
    made.sample({"n9": (0.0, 0.0)})
    made.show(waiting("p", spec=spec), *[waiting(f"q{i}") for i in range(24)])
    assert ask(made, "p")["placed"][0]["node"] == node
    others = ask(made, *[f"q{i}" for i in range(24)])["placed"]
    assert "n9" not in {each["node"] for each in others}


def test_a_pod_that_asks_for_devices_of_a_device_class_is_placed_by_cpu_and_memory() -> None:
    """The scheduler finds out which of the nodes can meet the claim."""
    needs = {"requests": {"cpu": "1", "memory": "1Gi", "deviceclass.resource.kubernetes.io/gpu.example.com": "1"}}
    made = three(waiting("p", spec={"containers": [{"name": "c", "resources": needs}]}))
    assert len(ask(made, "p")["placed"]) == 1


@pytest.mark.parametrize(
    "pod",
    [None, waiting("p", node="n0"), waiting("p", phase="Succeeded")],
    ids=["unknown", "bound", "finished"],
)
def test_pods_that_want_no_node_are_refused(pod: dict[str, Any] | None) -> None:
    """The operator may be a moment ahead or behind."""
    made = three(*([pod] if pod else []))
    answer = ask(made, "p")
    assert answer["placed"] == []
    unknown = {"uid": "uid-batch-p", "reason": "slackwater: pod not known yet", "counts": {}, "needs": {}}
    assert answer["refused"] == [unknown]


def test_a_node_holds_no_more_pods_than_it_says() -> None:
    """110 by default: the scheduler would refuse the nomination."""
    small = objects.node("n0", more={"pods": "3"})
    made = world(small, objects.node("n1", more={"pods": "4"}))
    made.sample({"n0": (0.0, 0.0), "n1": (0.0, 0.0)})
    names = [f"p{i}" for i in range(8)]
    made.show(*[waiting(name, cpu="1") for name in names], objects.pod("daemon", "kube-system", cpu="0", node="n0"))
    answer = ask(made, *names)
    assert len(answer["placed"]) == 6
    assert (len(made.charged("n0")), len(made.charged("n1"))) == (3, 4)


def test_a_pod_named_twice_is_placed_once() -> None:
    """A retry inside one batch."""
    made = three(waiting("p"))
    assert len(ask(made, "p", "p")["placed"]) == 1


def test_drivers_are_served_first() -> None:
    """Tasks of an app whose driver found no node would wait for nothing."""
    driver = objects.pod("driver", cpu="14", labels={"slackwater.io/role": "driver"})
    made = world(objects.node("n", cpu="14"))
    made.sample({"n": (0.0, 0.0)})
    made.show(driver, *[waiting(f"t{i}") for i in range(5)])
    answer = ask(made, *[f"t{i}" for i in range(5)], "driver")
    assert answer["placed"] == [{"uid": "uid-batch-driver", "node": "n"}]


def test_reservations_without_a_node_and_back() -> None:
    """Gate-only releases are reserved; what will not come true is taken back."""
    made = three(waiting("p"), waiting("q"))
    reserved = made.post("/v1/reserve", {"pods": [{"uid": "uid-batch-p"}]})
    assert reserved == {"reserved": ["uid-batch-p"]}
    ask(made, "q")
    assert made.parts.cache.live("uid-batch-p")
    gone = made.post("/v1/unreserve", {"uids": ["uid-batch-p", "uid-batch-q", "uid-nobody"]})
    assert gone == {"unreserved": ["uid-batch-p", "uid-batch-q"]}
    assert not made.parts.cache.live("uid-batch-p")
    assert len(made.parts.cache.ledger) == 0


def test_a_bound_pod_is_not_unreserved() -> None:
    """Its charge belongs to the node now."""
    made = three(waiting("p", node="n0"))
    assert made.post("/v1/unreserve", {"uids": ["uid-batch-p"]}) == {"unreserved": []}
    assert made.charged("n0") == {"uid-batch-p"}


def test_children_go_where_their_data_is() -> None:
    """Paper 003: where bandwidth is scarce, the node that holds the input wins over the one that packs better."""
    made = world(*[annotated(f"n{i}", "1Mi") for i in range(3)])
    made.policy(mode="enforce", score={"fitnessWeight": 0.3, "networkWeight": 0.7})
    made.sample({f"n{i}": (0.0, 0.0) for i in range(3)})
    parent = objects.pod(
        "map",
        cpu="1",
        node="n2",
        labels={"slackwater.io/app": "a", "slackwater.io/stage": "map"},
        annotations={"slackwater.io/output": "1Gi"},
    )
    child = waiting("reduce", labels={"slackwater.io/app": "a", "slackwater.io/stage": "reduce"})
    child["metadata"]["annotations"]["slackwater.io/parents"] = "map"
    made.show(parent, child)
    assert ask(made, "reduce")["placed"][0]["node"] == "n2"
    assert ask(made, "reduce", cold=True)["placed"][0]["node"] == "n2"
    scores = made.prioritize(child, "n0", "n1", "n2")
    assert scores["n2"] > scores["n0"]
    made.gone(parent)
    assert made.prioritize(child, "n0", "n1") == {"n0": 10, "n1": 9}  # level again, so the first one leads


@pytest.mark.parametrize("order", [("net", "fit"), ("fit", "net")])
def test_the_weights_of_each_namespace_hold_for_its_own_pods(order: tuple[str, str]) -> None:
    """Whichever namespace stands first in the batch."""
    made = world(objects.node("near", cpu="8"), objects.node("far", cpu="8"))
    made.sample({"near": (0.0, 0.0), "far": (0.0, 0.0)})
    labels = {"slackwater.io/app": "a", "slackwater.io/stage": "map"}
    for name, fitness in (("net", 0), ("fit", 1)):
        made.policy(name, mode="enforce", score={"fitnessWeight": fitness, "networkWeight": 1 - fitness})
        made.namespace(name, policy=name)
        output = {"slackwater.io/output": "100Gi"}
        made.show(objects.pod("map", name, cpu="2", node="near", labels=labels, annotations=output))
        made.show(reading("reduce", "map", namespace=name))
    placed = made.post("/v1/place", {"pods": [{"uid": f"uid-{name}-reduce"} for name in order]})["placed"]
    assert {each["uid"]: each["node"] for each in placed} == {"uid-net-reduce": "near", "uid-fit-reduce": "far"}


def test_what_pods_on_their_way_will_read_makes_links_busy() -> None:
    """Until they have started: from then on the measured traffic tells. A pod does not count itself."""
    made = world(*[annotated(f"n{i}", "1Mi") for i in range(3)])
    made.sample({f"n{i}": (0.0, 0.0) for i in range(3)})
    labels = {"slackwater.io/app": "a", "slackwater.io/stage": "map"}
    made.show(objects.pod("map", node="n0", labels=labels, annotations={"slackwater.io/output": "60Mi"}))
    children = [reading(f"reduce-{i}", "map") for i in range(2)]
    made.show(*children)
    made.post("/v1/place", {"pods": [{"uid": "uid-batch-reduce-0", "nodes": ["n1"]}]})
    assert arriving(made, "reduce-1") == [0.0, 120.0, 60.0]
    assert arriving(made, "reduce-0") == [0.0, 60.0, 60.0]
    running = {"containerStatuses": [{"name": "main", "state": {"running": {"startedAt": "2026-01-01T00:01:00Z"}}}]}
    made.show(reading("reduce-0", "map", node="n1", status=running))
    assert arriving(made, "reduce-1") == [0.0, 60.0, 60.0]


def reading(name: str, parents: str, **more: Any) -> dict[str, Any]:
    labels = {"slackwater.io/app": "a", "slackwater.io/stage": "reduce"}
    return objects.pod(name, labels=labels, annotations={"slackwater.io/parents": parents}, **more)


def arriving(made: World, name: str) -> list[float]:
    """T_in of a pod on each node."""
    cache, uid = made.parts.cache, f"uid-batch-{name}"
    inputs = cache.outputs.inputs(cache.index.pods[uid], "batch/a")
    seconds: list[float] = cache.arrivals(cache.ledger.table(made.clock.now), [uid]).seconds(inputs).tolist()
    return seconds


def annotated(name: str, bandwidth: str) -> dict[str, Any]:
    made = objects.node(name)
    made["metadata"]["annotations"] = {"slackwater.io/bandwidth": bandwidth}
    return made


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'{"pods": 7}',
        b'{"pods": [{"name": "x"}]}',
        b'{"pods": [], "typo": 1}',
        b'{"pods": [], "alpha": -1}',
        b"\xff",
    ],
)
def test_bad_bodies_are_refused_with_what_to_send(body: bytes) -> None:
    """400 and a sentence, never a 500."""
    reply = three().client.post("/v1/place", data=body)
    assert reply.status_code == 400
    assert b"pods" in reply.data


def test_reading_uids() -> None:
    """The body of /v1/unreserve."""
    assert placewire.read_uids(b'{"uids": ["a"]}') == ["a"]
