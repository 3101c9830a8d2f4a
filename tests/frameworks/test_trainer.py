"""Kubeflow Trainer: its real controller makes JobSets of TrainJobs, on simulated nodes, which play the containers."""

import time
from collections.abc import Iterator
from datetime import datetime

import pytest
import yaml

from slackwater_lab.frameworks import operators
from slackwater_lab.nodes.simulated import Shape
from support.frameworks.examples import example
from support.frameworks.playground import Object, Playground, phase, requests, role, until
from support.frameworks.results import Recorder, Row
from support.frameworks.simulated import simulated

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]
TEAM = "trainer-team"
VERSION = operators.version("trainer")
TOLD = f"{VERSION}, JobSet {operators.version('jobset')}"
JOBS = f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{TEAM}/trainjobs"
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
TOGETHER = 5.0  # seconds between the first and the last of pods that start together, at most
PLAYED = "simulated nodes play the containers"


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    """Two simulated nodes of 2 cores, JobSet, and the controller of TrainJobs with runtimes, two of them its own."""
    shape = Shape(cpu="2", memory="8Gi")
    with simulated(["jobset", "trainer"], TEAM, shape, tmp_path_factory.mktemp("trainer")) as made:
        operators.create(
            made.api, published("torch", node=20), published("deepspeed", node=600, launcher=5), prepared()
        )
        yield made


def published(name: str, **seconds: int) -> Object:
    """A runtime as Trainer publishes it; simulated nodes end the pods of each part after so many seconds."""
    path = operators.module("trainer") / "manifests/base/runtimes" / f"{name}_distributed.yaml"
    body: Object = yaml.safe_load(path.read_text())
    for part in body["spec"]["template"]["spec"]["replicatedJobs"]:
        part["template"]["spec"]["template"]["metadata"] = {"annotations": lasting(seconds[part["name"]])}
    return body


def lasting(seconds: int) -> dict[str, str]:
    """What tells simulated nodes how long a pod runs."""
    return {"slackwater.io/lab-duration": str(seconds)}


def prepared() -> Object:
    """A runtime with a part that fetches the data before the nodes, which are a gang, are made."""

    def part(name: str, step: str, metadata: Object, **more: object) -> Object:
        container = {"name": name, "image": "none", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
        pod = {"metadata": metadata, "spec": {"containers": [container]}}
        return {"name": name, "template": {"metadata": {"labels": {STEP: step}}, "spec": {"template": pod}}, **more}

    fetch = "dataset-initializer"
    after = [{"name": fetch, "status": "Complete"}]
    gang = {"labels": {"slackwater.io/gang": "true"}, "annotations": {**lasting(5), "slackwater.io/tasks": "3"}}
    parts = [part(fetch, fetch, {"annotations": lasting(5)}), part("node", "trainer", gang, dependsOn=after)]
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "prepared", "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": parts}}},
    }


def trainjob(name: str, runtime: str, nodes: int, cpu: str) -> Object:
    """A TrainJob of so many nodes."""
    size = {"requests": {"cpu": cpu, "memory": "64Mi"}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"runtimeRef": {"name": runtime}, "trainer": {"numNodes": nodes, "resourcesPerNode": size}},
    }


def pods(trainer: Playground, name: str) -> list[Object]:
    """The pods of a TrainJob; its JobSet is named after it."""
    return trainer.pods(TEAM, **{"jobset.sigs.k8s.io/jobset-name": name})


def states(trainer: Playground, name: str) -> set[str]:
    """What the controller says of a TrainJob."""
    said = (trainer.api.find(f"{JOBS}/{name}") or {}).get("status", {}).get("conditions", [])
    return {condition["type"] for condition in said if condition["status"] == "True"}


def phases(trainer: Playground, name: str) -> list[str]:
    """The phases of its pods."""
    return [phase(pod) for pod in pods(trainer, name)]


def play(trainer: Playground, name: str, seen: dict[str, Object]) -> None:
    """Wait until a TrainJob has completed, and note its pods."""

    def ended() -> bool:
        seen.update({pod["metadata"]["name"]: pod for pod in pods(trainer, name)})
        return bool(states(trainer, name) & {"Complete", "Failed"})

    until("it ends", ended, 300, 0.5)
    assert "Complete" in states(trainer, name)


def bound(pod: Object) -> float:
    """When it came to a node."""
    [said] = [each for each in pod["status"]["conditions"] if each["type"] == "PodScheduled"]
    return datetime.fromisoformat(said["lastTransitionTime"]).timestamp()


def app(trainer: Playground, name: str) -> Object:
    """The one app of a TrainJob."""
    [found] = [tracked for app, tracked in trainer.tracked(TEAM).items() if name in app]
    return found


def test_the_example_of_the_page_for_users_runs_as_it_stands_there(trainer: Playground, recorder: Recorder) -> None:
    """Its four nodes wait while only two would find room, start together, and one that dies is replaced."""
    start = time.monotonic()
    written = example("jobs", "TrainJob", TEAM)
    name = written["metadata"]["name"]
    trainer.cordon(trainer.nodes[1], closed=True)
    try:
        trainer.api.create(JOBS, written)
        until("its nodes are held", lambda: phases(trainer, name) == ["Gated"] * 4, 60)
        time.sleep(10)
        assert phases(trainer, name) == ["Gated"] * 4
    finally:
        trainer.cordon(closed=False)
    until("all nodes run", lambda: phases(trainer, name) == ["Running"] * 4, 120)
    first = {pod["metadata"]["name"]: pod for pod in pods(trainer, name)}
    moments = [bound(pod) for pod in first.values()]
    assert max(moments) - min(moments) <= TOGETHER
    victim = min(first)
    trainer.api.delete(f"/api/v1/namespaces/{TEAM}/pods/{victim}", {"gracePeriodSeconds": "0"})
    later: dict[str, Object] = {}
    play(trainer, name, later)
    [other] = set(later) - set(first)
    assert index(later[other]) == index(first[victim])
    seen = {**first, **later}
    assert {role(pod) for pod in seen.values()} == {"task"}
    assert {requests(pod)["cpu"] for pod in seen.values()} == {"500m"}
    assert app(trainer, name)["spec"]["owner"] == f"JobSet/{name}"
    recorder.keep(f"trainer-{VERSION}-torch", first.values(), trainer.api)
    result = (
        "held while one node had room for two of them; 4 nodes are tasks of one app, 1 → 0.5 cpu, started together; "
        f"one that was deleted was replaced, completed; {PLAYED}"
    )
    case = "the example in docs/users/jobs.md: TrainJob with torch-distributed, a gang"
    recorder.add(Row("Kubeflow Trainer", TOLD, case, result, round(time.monotonic() - start)))


def index(pod: Object) -> str:
    """Which of a Job's pods it is."""
    return str(pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"])


def test_the_launcher_of_mpi_is_the_driver(trainer: Playground, recorder: Recorder) -> None:
    """The JobSet says how large it will be before there is a driver, which comes when the nodes are ready; all end.

    Three times a tenth of a core are less than a tenth of the 4 cores, which is small; an app of unknown size is large.
    """
    start = time.monotonic()
    seen: dict[str, Object] = {}
    trainer.cordon(closed=True)
    try:
        operators.create(trainer.api, trainjob("mpi", "deepspeed-distributed", 3, "100m"))
        until("its nodes are held", lambda: phases(trainer, "mpi") == ["Gated"] * 2, 60)
        time.sleep(10)
        assert phases(trainer, "mpi") == ["Gated"] * 2
    finally:
        trainer.cordon(closed=False)
    play(trainer, "mpi", seen)
    [launcher] = [pod for pod in seen.values() if role(pod) == "driver"]
    nodes = [pod for pod in seen.values() if role(pod) == "task"]
    assert launcher["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"] == "launcher"
    assert (requests(launcher)["cpu"], len(nodes)) == ("100m", 2)
    assert {requests(pod)["cpu"] for pod in nodes} == {"50m"}
    found = app(trainer, "mpi")
    assert (found["spec"]["owner"], found["status"]["category"]) == ("JobSet/mpi", "small")
    recorder.keep(f"trainer-{VERSION}-mpi", seen.values(), trainer.api)
    result = (
        "held for 10 s and released, known as small by the JobSet; launcher is the driver, 0.1 cpu kept, 2 nodes its "
        f"tasks, 0.1 → 0.05 cpu, one app, completed; {PLAYED}"
    )
    case = "TrainJob with deepspeed-distributed, launcher after its nodes"
    recorder.add(Row("Kubeflow Trainer", TOLD, case, result, round(time.monotonic() - start)))


def test_a_gang_of_nodes_after_an_initializer(trainer: Playground, recorder: Recorder) -> None:
    """The initializer goes alone and ends; the nodes start together without it."""
    start = time.monotonic()
    seen: dict[str, Object] = {}
    operators.create(trainer.api, trainjob("fetching", "prepared", 3, "1"))
    until("the initializer runs", lambda: phases(trainer, "fetching") == ["Running"], 60, 0.2)
    trainer.cordon(trainer.nodes[1], closed=True)
    try:
        until("its nodes are held", lambda: phases(trainer, "fetching").count("Gated") == 3, 60)
        time.sleep(10)
        assert phases(trainer, "fetching").count("Gated") == 3
    finally:
        trainer.cordon(closed=False)
    play(trainer, "fetching", seen)
    nodes = [pod for pod in seen.values() if pod["metadata"]["labels"].get("slackwater.io/gang")]
    assert (len(nodes), len(seen)) == (3, 4)
    assert {role(pod) for pod in seen.values()} == {"task"}
    moments = [bound(pod) for pod in nodes]
    assert max(moments) - min(moments) <= TOGETHER
    assert app(trainer, "fetching")["spec"]["owner"] == "JobSet/fetching"
    recorder.keep(f"trainer-{VERSION}-initializer", seen.values(), trainer.api)
    result = (
        "initializer ends first; 3 nodes, a gang, held while one node had room for two of them, started together; "
        f"one app, completed; {PLAYED}"
    )
    case = "TrainJob with a dataset-initializer"
    recorder.add(Row("Kubeflow Trainer", TOLD, case, result, round(time.monotonic() - start)))
