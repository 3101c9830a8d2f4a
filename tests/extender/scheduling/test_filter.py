"""The filter: who passes, who is refused, where and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from slackwater.ledger.types import ClaimState
from support.builders import objects
from support.fakes.extender import world
from support.fakes.placing import task, two

CPU = "slackwater: measured cpu room too small"
STALE = "slackwater: samples stale"
PARKED = "slackwater: pod is parked"


def test_nodes_are_judged_by_measured_room() -> None:
    """The declared request must fit into what is really left, whatever native requests leave."""
    made = world(objects.node("idle", cpu="14"), objects.node("busy", cpu="14"))
    made.show(task("hog", cpu="14", native="7", node="busy", phase="Running", status=objects.running()))
    made.sample({"idle": (0.0, 0.0), "busy": (13.0, 2**30)}, {"uid-batch-hog": (13.0, 2**30)})
    answer = made.filter(task(), "idle", "busy")
    assert answer == {
        "Nodes": None,
        "NodeNames": ["idle"],
        "FailedNodes": {},
        "FailedAndUnresolvableNodes": {"busy": CPU},
        "Error": "",
    }


def test_every_node_is_answered_for() -> None:
    """Accepted, refused with a reason, or unknown: none is left out."""
    answer = two().filter(task(), "idle", "busy", "ghost")
    assert answer["FailedAndUnresolvableNodes"]["ghost"] == "slackwater: node not known yet"
    assert set(answer["NodeNames"]) | set(answer["FailedAndUnresolvableNodes"]) == {"idle", "busy", "ghost"}


def test_the_placement_is_entered_at_answer_time() -> None:
    """Seven pods of 2 cores fill 14; the eighth is refused although nothing was bound or measured since."""
    made = two()
    answers = [made.filter(task(f"t{i}"), "idle")["NodeNames"] for i in range(8)]
    assert answers == [["idle"]] * 7 + [[]]


def test_a_pod_asked_about_again_does_not_count_itself() -> None:
    """The scheduler may ask many times about one pod, whether about one node or several."""
    made = two()
    big = task("big", cpu="14", native="7")
    for names in (("idle",), ("idle", "busy"), ("idle",)):
        assert made.filter(big, *names)["NodeNames"] == ["idle"]
    assert len(made.parts.cache.ledger) == 1


def test_a_placement_lapses_unless_it_comes_true() -> None:
    """Room given to a pod that was never bound returns."""
    made = two()
    made.filter(task("big", cpu="14", native="7"), "idle")
    assert made.filter(task("other"), "idle")["NodeNames"] == []
    made.clock.now += 76
    made.parts.tick()
    made.sample({"idle": (0.0, 0.0)})
    assert made.filter(task("other"), "idle")["NodeNames"] == ["idle"]


def test_bound_elsewhere_moves_the_charge() -> None:
    """The watch knows better than we do where the pod went."""
    made = two()
    pod = task("t", cpu="1")
    made.filter(pod, "idle")
    made.show(task("t", cpu="1", node="busy"))
    assert (made.charged("idle"), made.charged("busy")) == (set(), {"uid-batch-t"})


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param({"phase": "Succeeded"}, id="succeeded"),
        pytest.param({"phase": "Failed"}, id="failed"),
        pytest.param({"phase": "Failed", "status": {"reason": "Evicted"}}, id="evicted"),
    ],
)
def test_a_finished_pod_gives_its_room_back_at_once(ending: dict[str, Any]) -> None:
    """Equation 4: before any scrape, the residue is free at the next decision."""
    made = two()
    made.filter(task("big", cpu="14", native="7"), "idle")
    made.show(task("big", cpu="14", native="7", node="idle"))
    assert made.filter(task("next"), "idle")["NodeNames"] == []
    made.show(task("big", cpu="14", native="7", node="idle", **ending))
    assert made.filter(task("next"), "idle")["NodeNames"] == ["idle"]


def test_a_terminating_pod_is_charged_until_it_is_gone() -> None:
    """Its containers still run."""
    made = two()
    leaving = task("big", cpu="14", native="7", node="idle", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})
    made.show(leaving)
    assert made.filter(task(), "idle")["NodeNames"] == []
    made.gone(leaving)
    assert made.filter(task(), "idle")["NodeNames"] == ["idle"]


def test_a_parked_pod_is_refused_everywhere() -> None:
    """The filter is the gate that cannot be put back."""
    made = two()
    made.filter(task(), "idle")
    changed = {**task()["metadata"], "annotations": parked(), "resourceVersion": "2"}
    answer = made.filter({**task(), "metadata": changed}, "idle", "busy")
    assert answer["NodeNames"] == []
    assert answer["FailedAndUnresolvableNodes"] == {"idle": PARKED, "busy": PARKED}


def test_of_pods_asked_about_no_more_is_kept_than_decisions_need() -> None:
    """Bodies may be of any size, and each change of a pod is another one."""
    made = two()
    for version in range(3):
        made.filter(task(meta={"resourceVersion": f"{version + 7}", "annotations": {"note": "x" * 100_000}}), "idle")
    assert [len(key) for key in made.parts.verbs._seen] == [16] * 3
    assert not any(pod.annotations for pod in made.parts.verbs._seen.values())


@pytest.mark.parametrize(
    ("ours", "theirs", "refused"),
    [("42", "41", True), ("100", "99", True), ("42", "42", True), ("42", "43", False), ("x2", "x1", False)],
)
def test_what_we_know_counts_where_it_is_newer_than_what_the_scheduler_sends(
    ours: str, theirs: str, refused: bool
) -> None:
    """A pod that was parked a moment ago is not placed; of versions that are no numbers only the same is known."""
    made = two()
    made.show(task(meta={"resourceVersion": ours, "annotations": parked()}))
    answer = made.filter(task(meta={"resourceVersion": theirs}), "idle")
    assert (answer["NodeNames"] == []) is refused
    assert (len(made.parts.cache.ledger.reservations()) == 0) is refused


def parked() -> dict[str, str]:
    return {**objects.declared("2", "1Gi"), "slackwater.io/parked": "timeout"}


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(objects.pod(cpu="99", scheduler="default-scheduler"), id="other-scheduler"),
        pytest.param(objects.pod(cpu="99", namespace="slackwater-system"), id="our-own"),
        pytest.param(objects.pod(cpu="99", namespace="elsewhere"), id="unmanaged-namespace"),
        pytest.param(
            objects.pod(cpu="99", owners=[{"kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}]),
            id="daemon",
        ),
        pytest.param(objects.pod(cpu="99", annotations={"kubernetes.io/config.mirror": "x"}), id="mirror"),
    ],
)
def test_pods_that_are_not_ours_pass_untouched(pod: dict[str, Any]) -> None:
    """They are neither refused nor scored nor charged."""
    made = two()
    made.namespace("slackwater-system")
    assert made.filter(pod, "idle", "busy", "ghost")["NodeNames"] == ["idle", "busy", "ghost"]
    assert set(made.prioritize(pod, "idle", "busy").values()) == {0}
    assert len(made.parts.cache.ledger) == 0


def test_stale_samples_fall_back_to_reservations() -> None:
    """Without fresh samples nothing is overcommitted, and nobody is told a lie about why."""
    made = two()
    made.show(*[task(f"r{i}", node="idle", phase="Running", status=objects.running()) for i in range(7)])
    for _ in range(40):
        made.clock.now += 5
        made.sample({"idle": (1.0, 2**28)}, {f"uid-batch-r{i}": (0.1, 2**20) for i in range(7)})
    assert made.filter(task("fits"), "idle")["NodeNames"] == ["idle"]
    made.clock.now += 60
    made.parts.tick()
    answer = made.filter(task("late"), "idle")
    assert answer["FailedAndUnresolvableNodes"] == {"idle": STALE}


def test_a_native_shortage_may_be_cured_by_preemption() -> None:
    """It goes into FailedNodes; measured room never does."""
    made = world(objects.node("n", cpu="2"))
    made.sample({"n": (0.0, 0.0)})
    made.show(objects.pod("other", cpu="1500m", node="n", namespace="elsewhere", status=objects.running()))
    for _ in range(60):
        made.clock.now += 5
        made.sample({"n": (0.0, 0.0)}, {"uid-elsewhere-other": (0.0, 0.0)})
    answer = made.filter(task(cpu="1", native="1"), "n")
    assert answer["FailedNodes"] == {"n": "slackwater: native requests do not fit"}


@pytest.mark.parametrize("change", [{"ready": False}, {"spec": {"unschedulable": True}}], ids=["lost", "cordoned"])
def test_a_closed_node_takes_nobody(change: dict[str, Any]) -> None:
    """Lost or cordoned nodes are refused; they come back when they do."""
    made = two()
    made.nodes(objects.node("idle", **change))
    assert made.filter(task(), "idle")["FailedAndUnresolvableNodes"] == {"idle": "slackwater: node not ready"}
    made.nodes(objects.node("idle"))
    assert made.filter(task(), "idle")["NodeNames"] == ["idle"]


def test_a_node_that_shrank_or_went_is_followed() -> None:
    """Resized and removed nodes act at once."""
    made = two()
    made.nodes(objects.node("idle", cpu="1"))
    assert made.filter(task(), "idle")["NodeNames"] == []
    made.parts.cache.drop_nodes([made.parts.cache.nodes["idle"]])
    assert made.filter(task(), "idle")["FailedAndUnresolvableNodes"] == {"idle": "slackwater: node not known yet"}


def test_the_shortlist_bounds_the_answer() -> None:
    """The best K nodes are enough for the scheduler; fitting nodes beyond them are simply left out."""
    nodes = [objects.node(f"n{i}", cpu=str(8 + i)) for i in range(12)]
    made = world(*nodes)
    made.policy(mode="enforce", score={"shortlist": 3})
    made.sample({f"n{i}": (0.0, 0.0) for i in range(12)})
    answer = made.filter(task(), *(f"n{i}" for i in range(12)))
    assert len(answer["NodeNames"]) == 3
    assert answer["FailedAndUnresolvableNodes"] == {}


def test_extended_resources_are_never_overcommitted() -> None:
    """A GPU counts at what is declared, of all that is there."""
    made = world(objects.node("gpu", more={"nvidia.com/gpu": "1"}), objects.node("plain"))
    made.sample({"gpu": (0.0, 0.0, 0.0), "plain": (0.0, 0.0, 0.0)})
    needs = {"requests": {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "1"}}
    first, second = (objects.pod(name, spec={"containers": [{"name": "c", "resources": needs}]}) for name in "ab")
    answer = made.filter(first, "gpu", "plain")
    assert answer["NodeNames"] == ["gpu"]
    assert answer["FailedAndUnresolvableNodes"] == {"plain": "slackwater: measured room too small"}
    assert made.filter(second, "gpu")["NodeNames"] == []


def test_devices_of_a_device_class_are_left_to_the_scheduler() -> None:
    """No node names them: the scheduler makes a claim for them (KEP-5004), and finds the node that can meet it."""
    made = two()
    needs = {"requests": {"cpu": "1", "memory": "1Gi", "deviceclass.resource.kubernetes.io/gpu.example.com": "1"}}
    asking = objects.pod(spec={"containers": [{"name": "c", "resources": needs}]})
    assert made.filter(asking, "idle")["NodeNames"] == ["idle"]


def test_a_kind_that_appears_later_keeps_what_was_known() -> None:
    """A GPU node joining makes a new ledger with all pods and placements in it."""
    made = two()
    made.filter(task("placed"), "idle")
    made.show(task("placed"), task("bound", node="busy", cpu="1"))
    made.nodes(objects.node("gpu", more={"nvidia.com/gpu": "4"}))
    assert made.parts.cache.kinds == ("cpu", "memory", "nvidia.com/gpu")
    assert (made.charged("idle"), made.charged("busy")) == ({"uid-batch-placed"}, {"uid-batch-bound"})


def test_before_the_first_lists_nothing_is_decided() -> None:
    """An incomplete view must not place; the scheduler is told to try again."""
    made = world(objects.node("n"), ready=False)
    assert "starting" in made.filter(task(), "n")["Error"]
    assert made.filter(objects.pod(scheduler="default-scheduler"), "n")["NodeNames"] == ["n"]


def test_nominations_are_taken_over_after_a_restart() -> None:
    """A released pod's nominated node tells of the placement that was in memory."""
    made = two()
    made.show(task("big", cpu="14", native="7", status={"nominatedNodeName": "idle"}))
    claim = made.parts.cache.ledger.claim("uid-batch-big")
    assert claim is not None
    assert claim.state is ClaimState.RESERVED
    assert made.filter(task("other"), "idle")["NodeNames"] == []
    assert made.filter(task("big", cpu="14", native="7"), "idle")["NodeNames"] == ["idle"]


def test_a_resized_pod_is_charged_anew() -> None:
    """Requests changed in place change the charge at once."""
    made = two()
    made.show(objects.pod("r", cpu="1", node="idle"))
    made.show(objects.pod("r", cpu="13", node="idle"))
    assert made.filter(task(), "idle")["NodeNames"] == []
