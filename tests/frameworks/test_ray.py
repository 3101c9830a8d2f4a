"""Real Ray: KubeRay makes head and workers, and a job on the head uses the workers."""

import time
from collections import Counter

import pytest

from slackwater_lab.frameworks import layers, operators
from slackwater_lab.programs.build import missing
from support.frameworks.playground import Object, Playground, phase, requests, role, until
from support.frameworks.raycluster import CLUSTER, RIGHT, SQUARES, clustered, resource
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1500)]
TEAM = "ray-team"
VERSION = f"{layers.RAY}, KubeRay {operators.version('kuberay')}"


@pytest.fixture(scope="module")
def ray(ground: Playground) -> Playground:
    """KubeRay, Ray's image on the nodes, and a team."""
    if missing(["kuberay"]):
        pytest.skip("KubeRay is not built; run: python -m slackwater_lab build kuberay")
    ground.load("ray")
    ground.team(TEAM)
    operators.start(ground.lab, "kuberay", print)
    return ground


def test_a_ray_cluster_computes(ray: Playground, recorder: Recorder) -> None:
    """The head goes first and keeps its request; workers wait for it at the gate, then compute."""
    start = time.monotonic()
    operators.create(ray.api, resource("RayCluster", "squares", TEAM, **clustered(dashboard=False)))
    until("the head runs", lambda: _running(ray, "squares")["driver"] == 1, 400)
    until("the workers run", lambda: _running(ray, "squares")["task"] == 2, 600)
    [head] = [pod for pod in ray.pods(TEAM, **{CLUSTER: "squares"}) if role(pod) == "driver"]
    until("the workers have joined", lambda: RIGHT in _on_head(ray, head), 600, 5)
    apps = [app for app in ray.tracked(TEAM) if "squares" in app]
    assert len(apps) == 1, apps
    recorder.keep(f"kuberay-{operators.version('kuberay')}-raycluster", ray.pods(TEAM, **{CLUSTER: "squares"}), ray.api)
    result = "head is the driver, 2 workers its tasks, one app; remote tasks right"
    recorder.add(Row("Ray", VERSION, "RayCluster", result, round(time.monotonic() - start)))
    ray.api.delete(f"/apis/ray.io/v1/namespaces/{TEAM}/rayclusters/squares")


def test_the_autoscaler_asks_for_workers_and_gives_them_back(ray: Playground, recorder: Recorder) -> None:
    """A cluster without workers gets them when there is work; each passes the gate, and is given back when idle."""
    start = time.monotonic()
    small = {"requests": {"cpu": "200m", "memory": "256Mi"}, "limits": {"cpu": "500m", "memory": "512Mi"}}
    spec = clustered(dashboard=False)
    [group] = spec["workerGroupSpecs"]
    group |= {"replicas": 0, "minReplicas": 0, "maxReplicas": 2}
    options = {"idleTimeoutSeconds": 15, "imagePullPolicy": "Never", "resources": small}
    body = resource("RayCluster", "elastic", TEAM, enableInTreeAutoscaling=True, autoscalerOptions=options, **spec)
    operators.create(ray.api, body)
    until("the head runs", lambda: _running(ray, "elastic") == {"driver": 1}, 400)
    [head] = ray.pods(TEAM, **{CLUSTER: "elastic"})
    until("workers compute", lambda: RIGHT in _on_head(ray, head), 600, 5)
    pods = ray.pods(TEAM, **{CLUSTER: "elastic"})
    workers = [pod for pod in pods if role(pod) == "task"]
    assert workers
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    assert [app for app in ray.tracked(TEAM) if "elastic" in app] == ["ray/elastic"]
    until("the workers are given back", lambda: _running(ray, "elastic") == {"driver": 1}, 300)
    result = f"0 → {len(workers)} → 0 workers by Ray's autoscaler; each is a task of the same app, 1 → 0.5 cpu; right"
    recorder.add(Row("Ray", VERSION, "RayCluster with Ray's autoscaler", result, round(time.monotonic() - start)))
    ray.api.delete(f"/apis/ray.io/v1/namespaces/{TEAM}/rayclusters/elastic")


def _on_head(ray: Playground, head: Object) -> str:
    return ray.run(head, "timeout", "240", "python3", "-c", SQUARES)


def _running(ray: Playground, cluster: str) -> Counter[str]:
    """Running pods of a cluster by role."""
    return Counter(role(pod) for pod in ray.pods(TEAM, **{CLUSTER: cluster}) if phase(pod) == "Running")
