"""MPI: the real controller of MPIJobs makes launcher and workers on simulated nodes, which play the containers."""

import time
from collections.abc import Iterator

import pytest

from slackwater_lab.frameworks import operators
from slackwater_lab.nodes.simulated import Shape
from support.frameworks.playground import Object, Playground, phase, requests, role, until
from support.frameworks.results import Recorder, Row
from support.frameworks.simulated import simulated

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]
TEAM = "mpi-team"
VERSION = operators.version("mpi-operator")
JOBS = f"/apis/kubeflow.org/v2beta1/namespaces/{TEAM}/mpijobs"


@pytest.fixture(scope="module")
def mpi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Two simulated nodes of 4 cores, and the controller of MPIJobs."""
    with simulated(["mpi-operator"], TEAM, Shape(cpu="4", memory="16Gi"), tmp_path_factory.mktemp("mpi")) as made:
        yield made


def replicas(count: int, seconds: int) -> Object:
    """Launcher or workers; simulated nodes end a pod after so many seconds."""
    amounts = {"cpu": "1", "memory": "1Gi"}
    container = {"name": "mpi", "image": "none", "command": ["mpirun"], "resources": {"limits": amounts}}
    metadata = {"annotations": {"slackwater.io/lab-duration": str(seconds)}}
    return {"replicas": count, "template": {"metadata": metadata, "spec": {"containers": [container]}}}


def job(name: str, policy: str) -> Object:
    """An MPIJob of two workers, which live until the controller ends them."""
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {
            "launcherCreationPolicy": policy,
            "runPolicy": {"cleanPodPolicy": "Running"},
            "mpiReplicaSpecs": {"Launcher": replicas(1, 5), "Worker": replicas(2, 600)},
        },
    }


def states(mpi: Playground, name: str) -> set[str]:
    """What the controller says of an MPIJob."""
    said = (mpi.api.find(f"{JOBS}/{name}") or {}).get("status", {}).get("conditions", [])
    return {condition["type"] for condition in said if condition["status"] == "True"}


@pytest.mark.parametrize("policy", ["AtStartup", "WaitForWorkersReady"])
def test_launcher_and_workers_are_one_app(policy: str, mpi: Playground, recorder: Recorder) -> None:
    """The launcher is the driver and keeps its request, also where the controller makes it last; all end."""
    start = time.monotonic()
    name, seen = policy.lower(), dict[str, Object]()
    mpi.cordon(closed=True)
    try:
        operators.create(mpi.api, job(name, policy))
        expected = 3 if policy == "AtStartup" else 2
        until("its pods are held", lambda: [phase(pod) for pod in pods(mpi, name)] == ["Gated"] * expected, 60)
        time.sleep(10)
        assert [phase(pod) for pod in pods(mpi, name)] == ["Gated"] * expected
    finally:
        mpi.cordon(closed=False)

    def ended() -> bool:
        seen.update({pod["metadata"]["name"]: pod for pod in pods(mpi, name)})
        return bool(states(mpi, name) & {"Succeeded", "Failed"})

    until("it ends", ended, 300, 0.5)
    assert "Succeeded" in states(mpi, name)
    [launcher] = [pod for pod in seen.values() if role(pod) == "driver"]
    workers = [pod for pod in seen.values() if role(pod) == "task"]
    assert launcher["metadata"]["labels"]["training.kubeflow.org/job-role"] == "launcher"
    assert (requests(launcher)["cpu"], len(workers)) == ("1", 2)
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    apps = [app for app in mpi.tracked(TEAM) if name in app]
    assert len(apps) == 1, apps
    recorder.keep(f"mpi-operator-{VERSION}-{name}", seen.values(), mpi.api)
    result = (
        "held for 10 s and released; launcher is the driver, 1 cpu kept, 2 workers its tasks, 1 → 0.5 cpu, one app, "
        "succeeded; simulated nodes play the containers"
    )
    recorder.add(
        Row("MPI", VERSION, f"MPIJob, launcherCreationPolicy {policy}", result, round(time.monotonic() - start))
    )


def pods(mpi: Playground, name: str) -> list[Object]:
    """The pods of an MPIJob."""
    return mpi.pods(TEAM, **{"training.kubeflow.org/job-name": name})
