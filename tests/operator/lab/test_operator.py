"""The operator as a process, with the extender, on a real control plane."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytestmark = pytest.mark.lab

CUSTOM = "/apis/slackwater.io/v1alpha1"


def pod(name: str, app: str, cpu: str = "1", role: str = "task", **annotations: str) -> dict[str, Any]:
    """A pod of an app."""
    notes = {f"slackwater.io/{key.replace('_', '-')}": value for key, value in annotations.items()}
    requests = {"cpu": cpu, "memory": "64Mi"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"slackwater.io/app": app, "slackwater.io/role": role},
            "annotations": {"slackwater.io/lab-duration": "100000", **notes},
        },
        "spec": {
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
            "containers": [{"name": "m", "image": "none", "resources": {"requests": requests}}],
        },
    }


class Replica:
    """One operator process."""

    def __init__(self, lab: Any, identity: str, port: int) -> None:
        settings = {
            "KUBECONFIG": str(lab.site.kubeconfig),
            "IDENTITY": identity,
            "HOST": "127.0.0.1",
            "HEALTH_PORT": str(port),
            "METRICS_PORT": "0",
            "EXTENDER_URL": lab.site.url("extender"),
            "LEASE_SECONDS": "5",
            "LOG_FORMAT": "console",
            "TRACK_SECONDS": "1",
        }
        environment = {**os.environ, **{f"SLACKWATER_OPERATOR_{key}": value for key, value in settings.items()}}
        self.log = lab.site.folder / f"{identity}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "slackwater_operator.main"], env=environment, stdout=log, stderr=log
            )
        self.health = f"http://127.0.0.1:{port}/healthz"

    def end(self, how: int = signal.SIGTERM) -> int:
        """Stop it and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        return self.process.wait(30)


@pytest.fixture(scope="module")
def replicas(lab: Any, kube: Any) -> Iterator[Callable[[str], Replica]]:
    """Starts operators; all are stopped in the end."""
    kube.namespace("slackwater-system")
    where = f"{CUSTOM}/slackpolicies"
    policy = {"apiVersion": "slackwater.io/v1alpha1", "kind": "SlackPolicy"}
    assert kube.apply({**policy, "metadata": {"name": "live"}, "spec": {"mode": "enforce"}}, where).ok
    queue = {"apiVersion": "slackwater.io/v1alpha1", "kind": "AdmissionQueue", "metadata": {"name": "live"}, "spec": {}}
    assert kube.apply(queue, f"{CUSTOM}/admissionqueues").ok
    made: list[Replica] = []

    def start(identity: str) -> Replica:
        made.append(Replica(lab, identity, 24_600 + os.getpid() % 300 + len(made)))
        return made[-1]

    yield start
    for replica in made:
        replica.end()
    kube.delete(f"{CUSTOM}/admissionqueues/live")


@pytest.fixture(scope="module")
def leader(replicas: Callable[[str], Replica]) -> Replica:
    """The first operator."""
    return replicas("first")


def fresh(kube: Any, name: str) -> str:
    """A managed namespace whose policy is in force; returns the path of its pods."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    kube.namespace(name, slackwater_io__managed="true", slackwater_io__policy="live")
    where = f"/api/v1/namespaces/{name}/pods"
    until(lambda: "schedulingGates" in kube.post(f"{where}?dryRun=All", pod("probe", "probe")).body.get("spec", {}))
    return where


def bound(kube: Any, where: str) -> int:
    """How many pods have a node."""
    return sum("nodeName" in each["spec"] for each in kube.get(where).body["items"])


def wait(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait, or fail."""
    from support.lab.session import until  # noqa: PLC0415 - needs the lab

    until(condition, seconds, 0.2)


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
