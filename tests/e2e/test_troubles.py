"""Scenario 7, troubles inside the cluster: a node taken, memory running out, a true stall, nonsense in objects."""

import time
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from slackwater.errors import Unavailable
from slackwater_lab.controlplane.services import OPERATORS
from slackwater_lab.nodes.simulated import Shape
from support.lab.testcluster import POLICIES, Field
from support.lab.testnamespace import PLAIN, QUEUES, Ground, bound, gated, phase, until

pytestmark = pytest.mark.lab
MERGE = "application/merge-patch+json"
GIB = 2.0**30
Tell = Callable[[str], None]


def test_a_nominated_node_that_a_second_scheduler_took_is_given_up(arena: Field, tell: Tell) -> None:
    """Released and nominated to one node, which the plain scheduler then fills: all find their way to the other."""
    crew = arena.crew()
    with arena.ground("rival") as ground, arena.ground("filler", nodes=0, managed=False) as other:
        taken, left = ground.nodes
        arena.api.patch(f"/api/v1/nodes/{left}", {"spec": {"unschedulable": True}}, MERGE)
        arena.until_measured(ground)
        crew.kill("slackwater-scheduler")
        try:
            ground.create(ground.pod(f"ours-{i}", app="ours", cpu="2", use=("100m", "100Mi")) for i in range(3))
            until("all are nominated to the one open node", lambda: _nominated(ground) == [taken] * 3, 40)
            chosen: dict[str, Any] = {"nodeSelector": {"kubernetes.io/hostname": taken}, "schedulerName": PLAIN}
            other.create([other.pod("filler", role="", cpu="7500m", **chosen)])
            other.until_bound(1, 20)
            arena.api.patch(f"/api/v1/nodes/{left}", {"spec": {"unschedulable": False}}, MERGE)
        finally:
            crew.restart("slackwater-scheduler")
        back = time.monotonic()
        pods = ground.until_bound(3, 60)
        assert {pod["spec"]["nodeName"] for pod in pods} == {left}
        tell(f"bound elsewhere {time.monotonic() - back:.1f} s after the scheduler found the node taken")


def test_no_more_is_placed_where_memory_nears_its_limit(arena: Field, tell: Tell) -> None:
    """Tasks outgrow what they declared until 30 of 32 GiB are used: newcomers wait; nobody is evicted."""
    with arena.ground("brim", nodes=1) as ground:
        arena.until_measured(ground)
        ground.create(ground.pod(f"fat-{i}", app="fat", cpu="100m", use=("50m", "500Mi")) for i in range(6))
        ground.until_bound(6)
        for i in range(6):
            ground.use(f"fat-{i}", "50m", "5Gi")
        until("the memory is seen", lambda: arena.node(ground.nodes[0])["used"]["memory"] > 29 * GIB, 40, 0.3)
        ground.create(ground.pod(f"new-{i}", app="new", cpu="100m", use=("50m", "100Mi")) for i in range(3))
        until("newcomers are told why", lambda: _told(ground, "new") == 3, 40, 0.3)
        assert len(bound(ground.pods())) == 6
        for i in range(6):
            ground.use(f"fat-{i}", "50m", "500Mi")
        fell = time.monotonic()
        ground.until_bound(3, 60, app="new")
        tell(f"all bound {time.monotonic() - fell:.1f} s after the memory was given back")


def test_memory_that_runs_out_costs_one_task_where_the_queue_says_so(arena: Field, tell: Tell) -> None:
    """30.5 of 32 GiB are used. By default nobody goes; on request the youngest that outgrew its request, alone."""
    with arena.ground("relief", nodes=1) as ground:
        arena.until_measured(ground)
        for app in ("elder", "fat", "modest"):
            _start_task(ground, app)
        ground.create([ground.pod("bare", app="bare", cpu="100m", use=("50m", "500Mi"))])
        ground.until_bound(4)
        uids = {pod["metadata"]["labels"]["slackwater.io/app"]: pod["metadata"]["uid"] for pod in ground.pods()}
        for app, memory in {"elder": "14Gi", "fat": "14Gi", "modest": "512Mi", "bare": "2Gi"}.items():
            ground.use(ground.pods(app=app)[0]["metadata"]["name"], "50m", memory)
        until("the memory is seen", lambda: arena.node(ground.nodes[0])["used"]["memory"] > 30 * GIB, 40, 0.3)
        _while_nobody_goes(ground, set(uids.values()), 22)
        relief = {"evictYoungestTask": True, "memoryPercent": 92}
        arena.api.patch(f"{QUEUES}/{ground.name}", {"spec": {"relief": relief}}, MERGE)
        began = time.monotonic()
        until("the younger of the two is gone", lambda: uids["fat"] not in _uids(ground), 60, 0.2)
        tell(f"evicted {time.monotonic() - began:.1f} s after relief was switched on; a look every 10 s")
        (words,) = until("an event tells of it", lambda: _messages(ground, "Outgrown"), 30, 0.3)
        assert "it uses 14 GiB of memory and declared 1 GiB" in words
        assert "uses 30.5 GiB of 32 GiB (95.3 %, its queue's limit is 92 %)" in words
        until("its Job has made another", lambda: len(ground.pods(app="fat")) == 1, 30, 0.3)
        _while_nobody_goes(ground, set(uids.values()) - {uids["fat"]}, 22)
        assert len(_messages(ground, "Outgrown")) == 1


def test_a_true_stall_is_told_and_ended(arena: Field, tell: Tell) -> None:
    """A driver holds what its only task needs: an event says so; the driver, which a Job brings back, is evicted.

    It uses what it holds: else the task would start as soon as that is measured.
    """
    with arena.ground("stall", nodes=1) as ground:
        stall = {"afterSeconds": 10, "evictYoungestDriver": True}
        arena.api.patch(f"{QUEUES}/{ground.name}", {"spec": {"stall": stall}}, MERGE)
        driver = ground.pod("unused", app="stuck", role="driver", cpu="6", use=("6", "100Mi"))
        _job(ground, driver)
        (first,) = ground.until_bound(1, 40)
        ground.create([ground.pod("task", app="stuck", cpu="4", use=("4", "1Gi"))])
        began = time.monotonic()
        until("an event tells of the stall", lambda: "Stalled" in _events(ground), 60, 0.5)
        tell(f"told {time.monotonic() - began:.1f} s after the task came; threshold 10 s")
        uid = first["metadata"]["uid"]
        until("the driver is evicted", lambda: uid not in {pod["metadata"]["uid"] for pod in ground.pods()}, 30, 0.3)
        until("its Job has made another", lambda: len(ground.pods(role="driver")) == 1, 30, 0.3)


def test_a_stall_never_costs_a_bare_pod(arena: Field) -> None:
    """The same with a driver that nobody would bring back: counted for the alert, and the pod stays."""
    lab = arena.own_lab()
    with arena.ground("bare", nodes=1) as ground:
        stall = {"afterSeconds": 10, "evictYoungestDriver": True}
        arena.api.patch(f"{QUEUES}/{ground.name}", {"spec": {"stall": stall}}, MERGE)
        ground.create([ground.pod("driver", app="stuck", role="driver", memory="28Gi", use=("100m", "28Gi"))])
        ground.until_bound(1, 40)
        ground.create([ground.pod("task", app="stuck", memory="8Gi", use=("100m", "8Gi"))])
        pattern = f'slackwater_operator_stalls_total{{queue="{ground.name}"}}'
        until(
            "the stall is counted", lambda: any(pattern in _metrics(lab.site.url(name)) for name in OPERATORS), 60, 0.5
        )
        assert len(bound(ground.pods())) == 1


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"mode": "strict"}, "mode"),
        ({"mode": "enforce", "estimation": {"damping": 7}}, "damping"),
        ({"mode": "observe", "reclaim": {"enabled": True}}, "set mode to enforce"),
    ],
    ids=["an unknown mode", "a number out of range", "two fields that disagree"],
)
def test_a_policy_that_makes_no_sense_is_refused(arena: Field, spec: dict[str, Any], words: str) -> None:
    """The API server itself says what is wrong; nothing is stored."""
    body = {
        "apiVersion": "slackwater.io/v1alpha1",
        "kind": "SlackPolicy",
        "metadata": {"name": "nonsense"},
        "spec": spec,
    }
    with pytest.raises(Unavailable, match=words):
        arena.api.create(POLICIES, body)
    assert arena.api.find(f"{POLICIES}/nonsense") is None


def test_nonsense_on_one_pod_does_not_hold_up_others(arena: Field) -> None:
    """Labels and annotations that cannot be read are named on their own app; every other app goes on."""
    with arena.ground("nonsense", nodes=1) as ground:
        odd = {"slackwater.io/tasks": "many", "slackwater.io/task-cpu": "a lot", "slackwater.io/parents": "nobody"}
        ground.create([ground.pod("odd", app="odd", role="driver", notes=odd, labels={"slackwater.io/stage": "x"})])
        ground.create(ground.pod(f"plain-{i}", app="plain") for i in range(4))
        ground.until_bound(4, 40, app="plain")
        until("the odd app is told what cannot be read", lambda: "tasks" in _problems(arena, ground, "odd"), 40, 0.5)


def test_a_metric_that_makes_no_sense_counts_as_missing(arena: Field) -> None:
    """One pod claims an absurd use; its node is charged with care, pods on the other node go on."""
    with arena.ground("absurd", shape=Shape(cpu="8", memory="32Gi")) as ground:
        arena.until_measured(ground)
        there: dict[str, Any] = {
            "nodeSelector": {"slackwater-e2e": ground.name, "kubernetes.io/hostname": ground.nodes[0]}
        }
        ground.create([ground.pod("liar", app="liar", use=("9000000", "9000Ti"), **there)])
        ground.until_bound(1, 40)
        ground.create(ground.pod(f"plain-{i}", app="plain", use=("100m", "100Mi")) for i in range(5))
        ground.until_bound(5, 40, app="plain")


def _nominated(ground: Ground) -> list[str]:
    return [pod["status"].get("nominatedNodeName", "") for pod in ground.pods() if not gated(pod)]


def _told(ground: Ground, app: str) -> int:
    held = [pod for pod in ground.pods(app=app) if gated(pod)]
    return sum("slackwater.io/reason" in pod["metadata"]["annotations"] for pod in held)


def _job(ground: Ground, pod: dict[str, Any]) -> None:
    """A Job that makes one such pod, and another when it is taken away."""
    labels, marks = pod["metadata"]["labels"], pod["metadata"]["annotations"]
    template = {"metadata": {"labels": labels, "annotations": marks}, "spec": pod["spec"]}
    body = {"metadata": {"name": labels["slackwater.io/app"]}, "spec": {"template": template}}
    ground.api.create(f"/apis/batch/v1/namespaces/{ground.name}/jobs", body)


def _start_task(ground: Ground, app: str) -> None:
    """A task of a Job; what starts afterwards starts in another second, so that it is younger."""
    _job(ground, ground.pod("unused", app=app, cpu="100m", use=("50m", "500Mi")))
    until(f"{app} runs", lambda: [phase(pod) for pod in ground.pods(app=app)] == ["Running"], 60, 0.2)
    began = time.time()
    until("the second is over", lambda: time.time() > began + 1.1)


def _uids(ground: Ground) -> set[str]:
    return {pod["metadata"]["uid"] for pod in ground.pods()}


def _while_nobody_goes(ground: Ground, uids: set[str], seconds: float) -> None:
    """Watch for more than two looks of the operator, ten seconds each, that these pods stay."""
    limit = time.monotonic() + seconds
    until("the time is over", lambda: not uids <= _uids(ground) or time.monotonic() > limit, seconds + 10, 0.5)
    assert uids <= _uids(ground)


def _messages(ground: Ground, reason: str) -> list[str]:
    path = f"/api/v1/namespaces/{ground.name}/events"
    listed = ground.api.find(path, {"fieldSelector": f"reason={reason}"}) or {"items": []}
    return [str(each["message"]) for each in listed["items"]]


def _events(ground: Ground) -> set[str]:
    listed = ground.api.find(f"/apis/events.k8s.io/v1/namespaces/{ground.name}/events") or {"items": []}
    return {str(each.get("reason")) for each in listed["items"]}


def _problems(arena: Field, ground: Ground, app: str) -> str:
    listed = arena.api.find(f"/apis/slackwater.io/v1alpha1/namespaces/{ground.name}/trackedapps") or {"items": []}
    return str([each.get("status") for each in listed["items"] if app in each["metadata"]["name"]])


def _metrics(url: str) -> str:
    return httpx2.get(f"{url}/metrics").text
