"""The operator as a process, with the extender, on a real control plane."""

import signal
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from support.lab.operatorprocess import Replica, bound, fresh, pod, wait

pytestmark = pytest.mark.lab

CUSTOM = "/apis/slackwater.io/v1alpha1"


def test_pods_are_released_bound_and_tracked(kube: Any, leader: Replica) -> None:
    """Gated pods get a node named, lose their gate, run, and their app is told about."""
    where = fresh(kube, "live-a")
    for number in range(6):
        assert kube.post(where, pod(f"t{number}", "etl")).ok
    wait(lambda: bound(kube, where) == 6)
    tracked = f"{CUSTOM}/namespaces/live-a/trackedapps/etl"
    wait(lambda: kube.get(tracked).body.get("status", {}).get("pods", {}).get("bound") == 6)
    assert kube.get(tracked).body["status"]["phase"] == "Running"
    with urllib.request.urlopen(leader.health, timeout=5) as answer:
        assert answer.status == 200


def test_custom_resources_get_conditions_once(kube: Any, leader: Replica) -> None:
    """Ready with the generation it speaks about; seen again, nothing is written again."""
    path = f"{CUSTOM}/slackpolicies/live"

    def judged() -> bool:
        status = kube.get(path).body.get("status", {})
        return bool(status.get("conditions")) and "live-a" in status.get("namespaces", [])

    wait(judged)
    found = kube.get(path).body
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"]
    assert [each["status"] for each in found["status"]["conditions"]] == ["True"]
    touched = kube.patch(path, {"metadata": {"annotations": {"touched": "1"}}}, "application/merge-patch+json").body
    time.sleep(3)
    assert kube.get(path).body["metadata"]["resourceVersion"] == touched["metadata"]["resourceVersion"]


def test_conflicting_queue_is_told_so(kube: Any, leader: Replica) -> None:
    """A second queue that takes all namespaces is not Ready, and says which one does."""
    queue = {
        "apiVersion": "slackwater.io/v1alpha1",
        "kind": "AdmissionQueue",
        "metadata": {"name": "zweite"},
        "spec": {},
    }
    path = f"{CUSTOM}/admissionqueues"
    assert kube.apply(queue, path).ok

    def refused() -> bool:
        conditions = kube.get(f"{path}/zweite").body.get("status", {}).get("conditions", [])
        return any(each["status"] == "False" and "queue live already" in each["message"] for each in conditions)

    wait(refused)
    kube.delete(f"{path}/zweite")


def test_what_does_not_fit_waits_with_a_reason(kube: Any, leader: Replica) -> None:
    """Reason class on the pod, sentence with numbers in the TrackedApp, an Event; then nothing more is written."""
    where = fresh(kube, "live-b")
    assert kube.post(where, pod("huge", "huge", cpu="500")).ok
    reason = "slackwater.io/reason"
    wait(lambda: reason in kube.get(f"{where}/huge").body["metadata"]["annotations"])
    tracked = f"{CUSTOM}/namespaces/live-b/trackedapps/huge"
    wait(lambda: "asks for 500" in kube.get(tracked).body.get("status", {}).get("message", ""))
    events = "/api/v1/namespaces/live-b/events"
    wait(lambda: any(each["reason"] in ("Held", "Refused") for each in kube.get(events).body["items"]))
    before = [kube.get(path).body["metadata"]["resourceVersion"] for path in (f"{where}/huge", tracked)]
    time.sleep(4)
    assert [kube.get(path).body["metadata"]["resourceVersion"] for path in (f"{where}/huge", tracked)] == before


def test_switching_to_observe_lets_everything_go(kube: Any, leader: Replica) -> None:
    """What is held loses its gate, room or not."""
    where = fresh(kube, "live-c")
    assert kube.post(where, pod("huge", "huge", cpu="500")).ok
    time.sleep(2)
    assert "schedulingGates" in kube.get(f"{where}/huge").body["spec"]
    kube.namespace("live-c", slackwater_io__managed="true", slackwater_io__policy="none-such")
    wait(lambda: "schedulingGates" not in kube.get(f"{where}/huge").body["spec"])


def test_a_second_replica_takes_over(kube: Any, leader: Replica, replicas: Callable[[str], Replica]) -> None:
    """The leader dies without a word: the other one waits, cleans what was left, and goes on."""
    where = fresh(kube, "live-d")
    second = replicas("second")
    time.sleep(3)
    leader.end(signal.SIGKILL)
    assert kube.post(where, pod("left", "left", cpu="500")).ok
    assert kube.patch(f"{where}/left/status", {"status": {"nominatedNodeName": "node-000"}}).ok
    for number in range(3):
        assert kube.post(where, pod(f"t{number}", "etl")).ok
    wait(lambda: bound(kube, where) == 3, 90)
    assert "nominatedNodeName" not in kube.get(f"{where}/left").body["status"]
    assert second.end() == 0
