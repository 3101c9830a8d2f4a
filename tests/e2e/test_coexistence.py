"""Scenario 10: with what clusters already have. What counts, what a team sees, and that nothing of it is broken.

Each has its paragraph in `docs/howto/coexist.md`.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from slackwater.errors import Unavailable
from slackwater_cluster.api.contenttypes import STRATEGIC
from support.lab.testcluster import POLICIES, Field
from support.lab.testnamespace import PLAIN, QUEUES, Ground, Object, bound, gated, phase, until

pytestmark = pytest.mark.lab
MERGE = "application/merge-patch+json"
LINGERS = "slackwater.io/lab-lingers"  # a pod that is deleted stays until this annotation goes
ZONE, GPU = "topology.kubernetes.io/zone", "example.com/gpu"
DRA = "/apis/resource.k8s.io/v1"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def test_a_quota_counts_lowered_requests_also_of_held_pods(arena: Field) -> None:
    """5 cores of quota: a driver of one core and eight of ten tasks that declare one core each. All ten end."""
    with arena.ground("quota") as ground:
        _namespaced(ground, "v1", "resourcequotas", "team", hard={"requests.cpu": "5", "pods": "50"})
        until("the quota is counted", lambda: _quota(ground).get("requests.cpu") == "0", 20)
        _state(ground, "paused")
        ground.create([ground.pod("driver", app="alone", role="driver", cpu="1")])
        _job(ground, ground.pod("unused", app="many", lasts=1), 10)
        words = until("the Job is told", lambda: _messages(ground, "FailedCreate"), 20)
        assert "exceeded quota: team, requested: requests.cpu=500m, used: requests.cpu=5" in words[0]
        assert len(ground.pods(app="many")) == 8
        assert all(map(gated, ground.pods()))
        assert _quota(ground)["requests.cpu"] == "5"
        _state(ground, "open")
        ground.until_done(10, 60, app="many")


def test_a_limit_range_sees_lowered_requests_and_the_policy_warns_of_it(arena: Field) -> None:
    """A default is lowered like a request. One that lowering brings below `min` is refused. Drivers keep theirs."""
    with arena.ground("limitrange", nodes=1, managed=False) as ground:
        least = {"type": "Container", "min": {"cpu": "400m"}, "defaultRequest": {"cpu": "1", "memory": "1Gi"}}
        _namespaced(ground, "v1", "limitranges", "team", limits=[least])
        until("the range is in force", lambda: "400m" in _refusal(ground, ground.pod("dry", cpu="300m"), dry=True), 20)
        joined = {"metadata": {"labels": {"slackwater.io/managed": "true"}}}
        arena.api.patch(f"/api/v1/namespaces/{ground.name}", joined, MERGE)
        arena.until_held(ground)
        refused = _refusal(ground, ground.pod("small", cpu="600m"))
        assert "minimum cpu usage per Container is 400m, but request is 300m" in refused
        silent = ground.pod("silent")
        del silent["spec"]["containers"][0]["resources"]
        (made,) = ground.create([silent])
        assert made["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "500m"
        assert made["metadata"]["annotations"]["slackwater.io/declared-cpu"] == "1000m"
        ground.create([ground.pod("driver", role="driver", cpu="600m")])
        ground.until_bound(2, 30)
        warned = until("the policy warns", lambda: [w for w in _warnings(arena) if ground.name in w], 30, 0.5)
        assert "refuses cpu requests below 400m: a task that declares less than 2 × 400m" in warned[0]


def test_a_task_that_somebody_preempts_goes_back_to_the_queue(arena: Field) -> None:
    """Two tasks leave for a pod of another namespace, one at once and one slowly: nobody of ours takes their room."""
    with (
        arena.ground("preempted", nodes=1) as ground,
        arena.ground("important", nodes=0, managed=False) as other,
        _priority(arena, "e2e-important", 100_000),
    ):
        quick = ground.pod("unused", app="quick", cpu="4", use=("4", "1Gi"), terminationGracePeriodSeconds=0, lasts=60)
        _job(ground, quick, 1)
        ground.create([ground.pod("slow", cpu="4", use=("4", "1Gi"), notes={LINGERS: "true"})])
        victims = {pod["metadata"]["uid"] for pod in ground.until_bound(2, 30)}
        ground.create([ground.pod("next", cpu="3", use=("3", "1Gi"), lasts=1)])
        until("the next one is told why it waits", lambda: _reason(ground.get("next")), 20)
        chosen: dict[str, Any] = {"nodeSelector": {"slackwater-e2e": ground.name}, "schedulerName": PLAIN}
        other.create([other.pod("first", role="", cpu="7", priorityClassName="e2e-important", lasts=5, **chosen)])
        (again,) = until("the Job has made another", lambda: _without(ground.pods(app="quick"), victims), 20)
        _while("nobody takes the room", lambda: not bound(_without(ground.pods(), victims)), 3)
        assert gated(ground.get(again["metadata"]["name"]))
        ground.api.patch(f"{ground.pods_path}/slow", {"metadata": {"annotations": {LINGERS: None}}}, MERGE)
        other.until_bound(1, 20)
        until("it runs in the end", lambda: [phase(pod) for pod in ground.pods(app="quick")] == ["Running"], 40)
        ground.until_done(1, 30, app="next")
        assert len(_messages(ground, "Preempted")) == 2


def test_a_pod_of_higher_priority_goes_first_and_preempts_nobody(arena: Field) -> None:
    """The node is full of tasks: a more important one is held until they end, and goes before those that waited."""
    with arena.ground("priority", nodes=1) as ground, _priority(arena, "e2e-urgent", 50_000):
        ground.create(ground.pod(f"low-{i}", app="low", cpu="4", use=("4", "1Gi"), lasts=15) for i in range(2))
        ground.until_bound(2, 30)
        ground.create(ground.pod(f"later-{i}", app="later", cpu="4", use=("4", "1Gi"), lasts=1) for i in range(2))
        ground.create([ground.pod("urgent", cpu="4", use=("4", "1Gi"), lasts=1, priorityClassName="e2e-urgent")])
        told = until("it is told why", lambda: _message(arena, ground, "urgent"), 14)
        assert "has room for 4 cpu" in told or "a pod of this app asks for 4" in told
        ground.until_done(5, 40)
        assert _messages(ground, "Preempted") == []
        assert _placed(arena, ground)[2] == "urgent"


def test_pods_are_spread_over_zones_as_they_ask(arena: Field) -> None:
    """Skew of one: three in each zone, whatever we nominate. A zone that is closed keeps the next one; it says so."""
    with arena.ground("spread", nodes=2) as ground:
        for zone, name in zip("ab", ground.nodes, strict=True):
            arena.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {ZONE: zone}}})
        rule = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule"}
        rule["labelSelector"] = {"matchLabels": {"slackwater.io/app": "even"}}
        small: dict[str, Any] = {"app": "even", "use": ("100m", "100Mi"), "topologySpreadConstraints": [rule]}
        ground.create(ground.pod(f"even-{i}", **small) for i in range(6))
        ground.until_bound(6, 30)
        assert sorted(pod["spec"]["nodeName"] for pod in ground.pods()) == sorted([*ground.nodes] * 3)
        closed = f"/api/v1/nodes/{ground.nodes[1]}"
        arena.api.patch(closed, {"spec": {"unschedulable": True}}, MERGE)
        ground.create(ground.pod(f"late-{i}", **small) for i in range(2))
        ground.until_bound(7, 30)
        words = until("the scheduler says why", lambda: _unschedulable(ground), 20)
        assert "didn't match pod topology spread constraints" in words[0]
        arena.api.patch(closed, {"spec": {"unschedulable": False}}, MERGE)
        ground.until_bound(8, 30)


def test_extended_resources_are_counted_and_never_lowered(arena: Field) -> None:
    """Two of three pods get the node's two devices, the third waits for one of them; four devices are nowhere."""
    with arena.ground("devices") as ground:
        amounts = {"capacity": {GPU: "2"}, "allocatable": {GPU: "2"}}
        arena.api.patch(f"/api/v1/nodes/{ground.nodes[0]}/status", {"status": amounts}, STRATEGIC)
        ground.create(_device(ground.pod(f"one-{i}", app="train", lasts=6), 1) for i in range(3))
        pods = ground.until_bound(2, 30)
        assert {pod["spec"]["nodeName"] for pod in pods} == {ground.nodes[0]}
        assert [pod["spec"]["containers"][0]["resources"]["requests"] for pod in pods] == [
            {"cpu": "500m", "memory": "715827883", GPU: "1"}
        ] * 2
        told = until("the third is told why", lambda: _message(arena, ground, "train"), 20)
        assert GPU in told
        ground.create([_device(ground.pod("four"), 4)])
        told = until("too many are told as such", lambda: _message(arena, ground, "four"), 20)
        assert f"asks for 4 {GPU}, and no node of queue {ground.name} that it may use has more than 2" in told
        ground.until_done(3, 40, app="train")


def test_disk_is_left_to_the_scheduler(arena: Field) -> None:
    """No decision of ours is about it: both pods are released, and the second waits at the scheduler for the first."""
    with arena.ground("disk", nodes=1) as ground:
        for name in ("first", "second"):
            ground.create([_asking(ground.pod(name, app="sort", lasts=6), "ephemeral-storage", "600Gi")])
        ground.until_bound(1, 30)
        words = until("the scheduler says why", lambda: _unschedulable(ground), 20)
        assert "Insufficient ephemeral-storage" in words[0]
        ground.until_done(2, 60)


def test_pods_whose_volume_does_not_exist_let_others_go(arena: Field) -> None:
    """They came first and would take the whole node; the scheduler finds no node for them, and says so on the pod."""
    with arena.ground("volume", nodes=1) as ground:
        claim = {"name": "data", "persistentVolumeClaim": {"claimName": "nowhere"}}
        broken = [ground.pod(f"broken-{number}", app="broken", cpu="2", use=("2", "1Gi")) for number in range(8)]
        for pod in broken:
            pod["spec"]["volumes"] = [claim]
        ground.create(broken)
        words = until("the scheduler says why", lambda: _unschedulable(ground), 20)
        assert 'persistentvolumeclaim "nowhere" not found' in words[0]
        ground.create(ground.pod(f"good-{number}", app="good", cpu="2", lasts=5) for number in range(4))
        ground.until_done(4, 90, app="good")
        until("it is told", lambda: "releases of this app came to nothing" in _message(arena, ground, "broken"), 60)


def test_an_eviction_that_a_budget_refuses_is_told_and_tried_again(arena: Field) -> None:
    """A driver is in the way of its own task, and two budgets keep it, which the API server has no word for."""
    with arena.ground("budget", nodes=1) as ground:
        stall = {"afterSeconds": 10, "evictYoungestDriver": True}
        arena.api.patch(f"{QUEUES}/{ground.name}", {"spec": {"stall": stall}}, MERGE)
        chosen = {"matchLabels": {"slackwater.io/role": "driver"}}
        paths = [
            _namespaced(ground, "policy/v1", "poddisruptionbudgets", name, minAvailable=1, selector=chosen)
            for name in ("one", "two")
        ]
        _job(ground, ground.pod("unused", app="stuck", role="driver", cpu="6", use=("6", "100Mi")), 1)
        (driver,) = ground.until_bound(1, 30)
        ground.create([ground.pod("task", app="stuck", cpu="4", use=("4", "1Gi"))])
        (words,) = until("it is told", lambda: _messages(ground, "NotEvicted"), 40, 0.3)
        assert "This pod has more than one PodDisruptionBudget" in words
        for path in paths:
            arena.api.delete(path)
        uid = driver["metadata"]["uid"]
        until("it is evicted", lambda: not [p for p in ground.pods() if p["metadata"]["uid"] == uid], 30, 0.3)
        until("its Job has made another", lambda: len(ground.pods(role="driver")) == 1, 30, 0.3)


def test_a_pod_with_a_resource_claim_is_held_released_and_gets_its_device(arena: Field) -> None:
    """One node has one device: the first pod gets it, the second waits, told by the scheduler, until it is free."""
    if arena.api.find(f"{DRA}/deviceclasses") is None:
        pytest.skip("needs resource.k8s.io/v1, which Kubernetes serves from 1.34 on")
    with (
        arena.ground("claims") as ground,
        _cluster_wide(arena, f"{DRA}/deviceclasses", _device_class("e2e.example.com")),
        _cluster_wide(arena, f"{DRA}/resourceslices", _slice(ground.nodes[0], "e2e.example.com")),
    ):
        wanted = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": "e2e.example.com"}}]}}
        _namespaced(ground, "resource.k8s.io/v1", "resourceclaimtemplates", "device", spec=wanted)
        claims = [{"name": "device", "resourceClaimTemplateName": "device"}]
        (first,) = ground.create([ground.pod("first", resourceClaims=claims, lasts=8)])
        assert gated(first)
        assert ground.until_bound(1, 30)[0]["spec"]["nodeName"] == ground.nodes[0]
        ground.create([ground.pod("second", resourceClaims=claims, lasts=1)])
        words = until("the scheduler says why", lambda: _unschedulable(ground), 20)
        assert "cannot allocate all claims" in words[0]
        ground.until_done(2, 40)


def _namespaced(ground: Ground, version: str, plural: str, name: str, **spec: Any) -> str:
    """Create an object in the ground's namespace, which takes it away; returns its path."""
    path = f"/{'api' if version == 'v1' else 'apis'}/{version}/namespaces/{ground.name}/{plural}"
    assert ground.api.create(path, {"metadata": {"name": name}, "spec": spec}) is not None
    return f"{path}/{name}"


def _reason(pod: Object) -> str:
    """The class of reasons that is written on a held pod."""
    return str(pod["metadata"].get("annotations", {}).get("slackwater.io/reason", ""))


def _message(arena: Field, ground: Ground, app: str) -> str:
    """The sentence of an app of which pods are held; "" where none is."""
    listed = arena.api.find(f"/apis/slackwater.io/v1alpha1/namespaces/{ground.name}/trackedapps") or {"items": []}
    found = [each.get("status", {}) for each in listed["items"] if each["metadata"]["name"].startswith(app)]
    return next((str(each["message"]) for each in found if each.get("pods", {}).get("held")), "")


def _placed(arena: Field, ground: Ground) -> list[str]:
    """The pods of a ground in the order in which the scheduler brought them to the extender."""
    found = arena.ask(f"/v1/decisions?namespace={ground.name}&limit=100")["decisions"]
    placed = [each for each in reversed(found) if each["result"] == "placed"]
    return list(dict.fromkeys(each["pod"] for each in placed))


def _unschedulable(ground: Ground) -> list[str]:
    """What the scheduler says on pods that it finds no node for."""
    conditions = [each for pod in ground.pods() for each in pod["status"].get("conditions", [])]
    return [str(each["message"]) for each in conditions if each.get("reason") == "Unschedulable"]


def _device(pod: Object, count: int) -> Object:
    """The pod with a request for so many devices."""
    return _asking(pod, GPU, str(count))


def _asking(pod: Object, kind: str, amount: str) -> Object:
    """The pod with a request for so much of another kind."""
    resources = pod["spec"]["containers"][0]["resources"]
    resources["requests"][kind] = amount
    resources["limits"] = {kind: amount}
    return pod


def _device_class(driver: str) -> Object:
    """All devices of a driver."""
    chosen = {"cel": {"expression": f"device.driver == '{driver}'"}}
    return {"metadata": {"name": driver}, "spec": {"selectors": [chosen]}}


def _slice(node: str, driver: str) -> Object:
    """One device of a node, as its driver would publish it."""
    pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": driver, "nodeName": node, "pool": pool, "devices": [{"name": "zero"}]}
    return {"metadata": {"name": f"{node}-devices"}, "spec": spec}


def _without(pods: Iterable[Object], uids: Collection[str]) -> list[Object]:
    return [pod for pod in pods if pod["metadata"]["uid"] not in uids]


def _while(what: str, probe: Callable[[], bool], seconds: float) -> None:
    """Look for some seconds that something stays true."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        assert probe(), f"{what}: not any more"
        time.sleep(0.1)


def _quota(ground: Ground) -> Mapping[str, str]:
    found = ground.api.find(f"/api/v1/namespaces/{ground.name}/resourcequotas/team") or {}
    used: Mapping[str, str] = found.get("status", {}).get("used", {})
    return used


def _state(ground: Ground, state: str) -> None:
    ground.api.patch(f"{QUEUES}/{ground.name}", {"spec": {"state": state}}, MERGE)


def _job(ground: Ground, pod: Object, count: int) -> None:
    """A Job that makes so many such pods."""
    labels, marks = pod["metadata"]["labels"], pod["metadata"]["annotations"]
    template = {"metadata": {"labels": labels, "annotations": marks}, "spec": pod["spec"]}
    spec = {"template": template, "completions": count, "parallelism": count, "backoffLimit": 100}
    body = {"metadata": {"name": labels["slackwater.io/app"]}, "spec": spec}
    ground.api.create(f"/apis/batch/v1/namespaces/{ground.name}/jobs", body)


def _messages(ground: Ground, reason: str) -> list[str]:
    path = f"/api/v1/namespaces/{ground.name}/events"
    listed = ground.api.find(path, {"fieldSelector": f"reason={reason}"}) or {"items": []}
    return [str(each.get("message") or each.get("note")) for each in listed["items"]]


def _refusal(ground: Ground, pod: Object, *, dry: bool = False) -> str:
    """What the API server says to the creator of a pod; "" where it takes the pod."""
    try:
        ground.api.create(ground.pods_path + ("?dryRun=All" if dry else ""), pod)
    except Unavailable as problem:
        return str(problem)
    return ""


def _warnings(arena: Field, policy: str = "default") -> list[str]:
    found = arena.api.find(f"{POLICIES}/{policy}") or {}
    return [str(each) for each in found.get("status", {}).get("warnings", [])]


@contextmanager
def _cluster_wide(arena: Field, path: str, body: Object) -> Iterator[None]:
    """An object of the cluster, for a while."""
    arena.api.create(path, body)
    try:
        yield
    finally:
        arena.api.delete(f"{path}/{body['metadata']['name']}")


@contextmanager
def _priority(arena: Field, name: str, value: int) -> Iterator[None]:
    """A PriorityClass for a while."""
    body = {"metadata": {"name": name}, "value": value, "description": "an end-to-end test"}
    with _cluster_wide(arena, CLASSES, body):
        yield
