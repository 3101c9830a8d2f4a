"""Real Ray: KubeRay makes head and workers, and a job on the head uses the workers."""

import time

import pytest

from slackwater_lab.frameworks import layers, operators
from slackwater_lab.frameworks.imagefiles import RAY
from slackwater_lab.lab import Lab
from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import built, missing
from support.frameworks.playground import Object, Playground, phase, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1500)]
TEAM = "ray-team"
SQUARES = """
import ray
ray.init(address="auto")
@ray.remote(num_cpus=1)
def square(x):
    return x * x
print("RESULT", sum(ray.get([square.remote(x) for x in range(40)])), flush=True)
"""


def container(name: str, cpu: str, memory: str) -> Object:
    """A container of Ray."""
    amounts = {"cpu": cpu, "memory": memory}
    return {
        "name": name,
        "image": RAY,
        "imagePullPolicy": "Never",
        "resources": {"requests": amounts, "limits": amounts},
    }


def cluster() -> Object:
    """A head that runs no tasks and two workers, as KubeRay's documentation writes it."""
    store = {"object-store-memory": "100000000"}
    head = {"num-cpus": "0", "include-dashboard": "false", **store}
    worker = {
        "groupName": "small",
        "replicas": 2,
        "minReplicas": 2,
        "maxReplicas": 2,
        "rayStartParams": store,
        "template": {"spec": {"containers": [container("ray-worker", "1", "1Gi")]}},
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": "squares", "namespace": TEAM},
        "spec": {
            "rayVersion": layers.RAY,
            "headGroupSpec": {
                "rayStartParams": head,
                "template": {"spec": {"containers": [container("ray-head", "1", "2Gi")]}},
            },
            "workerGroupSpecs": [worker],
        },
    }


def test_a_ray_cluster_computes(ground: Playground, recorder: Recorder) -> None:
    """The head goes first and keeps its request; workers wait for it at the gate, then compute."""
    if missing(["kuberay"]):
        pytest.skip("KubeRay is not built; run: python -m slackwater_lab build kuberay")
    ground.load("ray")
    ground.team(TEAM)
    operators.start(ground.lab, "kuberay", print)
    start = time.monotonic()
    operators.create(ground.api, cluster())
    until("the head runs", lambda: _roles(ground).get("driver", 0) == 1, 400)
    until("the workers run", lambda: _roles(ground).get("task", 0) == 2, 600)
    [head] = [pod for pod in ground.pods(TEAM) if role(pod) == "driver"]
    until("the workers have joined", lambda: "RESULT 20540" in _on_head(ground.lab, head["metadata"]["name"]), 600, 5)
    apps = [app for app in ground.tracked(TEAM) if "squares" in app]
    assert len(apps) == 1, apps
    recorder.keep(f"kuberay-{operators.version('kuberay')}-raycluster", ground.pods(TEAM), ground.api)
    version = f"{layers.RAY}, KubeRay {operators.version('kuberay')}"
    result = "head is the driver, 2 workers its tasks, one app; remote tasks right"
    recorder.add(Row("Ray", version, "RayCluster", result, round(time.monotonic() - start)))
    ground.api.delete(f"/apis/ray.io/v1/namespaces/{TEAM}/rayclusters/squares")


def _on_head(lab: Lab, head: str) -> str:
    kubectl = [built("kubectl"), f"--kubeconfig={lab.site.kubeconfig}", "exec", "-n", TEAM, head, "--"]
    return run([*kubectl, "timeout", "240", "python3", "-c", SQUARES])


def _roles(ground: Playground) -> dict[str, int]:
    """Running pods by role."""
    found: dict[str, int] = {}
    for pod in ground.pods(TEAM):
        if phase(pod) == "Running":
            found[role(pod)] = found.get(role(pod), 0) + 1
    return found
