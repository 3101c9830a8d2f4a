"""Real Ray: KubeRay makes head and workers, and a job on the head uses the workers."""

import time
from collections import Counter

import pytest

from slackwater_lab.frameworks import layers, operators
from slackwater_lab.frameworks.imagefiles import RAY
from slackwater_lab.lab import Lab
from slackwater_lab.processes.command import run
from slackwater_lab.programs.build import built, missing
from support.frameworks.playground import Object, Playground, phase, requests, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1500)]
TEAM, JOBS = "ray-team", "rayjob-team"
CLUSTER = "ray.io/cluster"
VERSION = f"{layers.RAY}, KubeRay {operators.version('kuberay')}"
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


def clustered(*, dashboard: bool) -> Object:
    """The spec of a head that runs no tasks and two workers, as KubeRay's documentation writes it."""
    store = {"object-store-memory": "100000000"}
    head = {"num-cpus": "0", "include-dashboard": str(dashboard).lower(), **store}
    worker = {
        "groupName": "small",
        "replicas": 2,
        "minReplicas": 2,
        "maxReplicas": 2,
        "rayStartParams": store,
        "template": {"spec": {"containers": [container("ray-worker", "1", "1Gi")]}},
    }
    return {
        "rayVersion": layers.RAY,
        "headGroupSpec": {
            "rayStartParams": head,
            "template": {"spec": {"containers": [container("ray-head", "1", "2Gi")]}},
        },
        "workerGroupSpecs": [worker],
    }


def resource(kind: str, name: str, team: str, **spec: object) -> Object:
    """An object of KubeRay's."""
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": {"name": name, "namespace": team}, "spec": spec}


@pytest.fixture(scope="module")
def ray(ground: Playground) -> Playground:
    """KubeRay, Ray's image on the nodes, and a team."""
    if missing(["kuberay"]):
        pytest.skip("KubeRay is not built; run: python -m slackwater_lab build kuberay")
    ground.load("ray")
    for team in (TEAM, JOBS):
        ground.team(team)
    operators.start(ground.lab, "kuberay", print)
    return ground


def test_a_ray_cluster_computes(ray: Playground, recorder: Recorder) -> None:
    """The head goes first and keeps its request; workers wait for it at the gate, then compute."""
    start = time.monotonic()
    operators.create(ray.api, resource("RayCluster", "squares", TEAM, **clustered(dashboard=False)))
    until("the head runs", lambda: _running(ray, "squares")["driver"] == 1, 400)
    until("the workers run", lambda: _running(ray, "squares")["task"] == 2, 600)
    [head] = [pod for pod in ray.pods(TEAM, **{CLUSTER: "squares"}) if role(pod) == "driver"]
    until("the workers have joined", lambda: "RESULT 20540" in _on_head(ray.lab, head["metadata"]["name"]), 600, 5)
    apps = [app for app in ray.tracked(TEAM) if "squares" in app]
    assert len(apps) == 1, apps
    recorder.keep(f"kuberay-{operators.version('kuberay')}-raycluster", ray.pods(TEAM, **{CLUSTER: "squares"}), ray.api)
    result = "head is the driver, 2 workers its tasks, one app; remote tasks right"
    recorder.add(Row("Ray", VERSION, "RayCluster", result, round(time.monotonic() - start)))
    ray.api.delete(f"/apis/ray.io/v1/namespaces/{TEAM}/rayclusters/squares")


def test_a_ray_job_is_held_released_and_ends_right(ray: Playground, recorder: Recorder) -> None:
    """Its cluster is one app with the head as driver; the submitter comes when the cluster is ready, as another app."""
    start = time.monotonic()
    seen: dict[str, Object] = {}
    ray.cordon(closed=True)
    try:
        spec = {"entrypoint": f"python3 -c '{SQUARES}'", "rayClusterSpec": clustered(dashboard=True)}
        operators.create(ray.api, resource("RayJob", "nightly", JOBS, **spec))
        until("head and workers are held", lambda: [phase(pod) for pod in ray.pods(JOBS)] == ["Gated"] * 3, 300)
        time.sleep(20)
        assert [phase(pod) for pod in ray.pods(JOBS)] == ["Gated"] * 3
    finally:
        ray.cordon(closed=False)

    def ended() -> bool:
        seen.update({pod["metadata"]["name"]: pod for pod in ray.pods(JOBS)})
        return said(ray, "nightly").get("jobDeploymentStatus") in ("Complete", "Failed")

    until("it ends", ended, 900)
    assert said(ray, "nightly").get("jobStatus") == "SUCCEEDED", said(ray, "nightly")
    [submitter] = [pod for pod in seen.values() if CLUSTER not in pod["metadata"]["labels"]]
    assert "RESULT 20540" in ray.log(submitter)
    assert Counter(role(pod) for pod in seen.values()) == {"driver": 1, "task": 3}
    assert (role(submitter), requests(submitter)["cpu"]) == ("task", "250m")
    assert sorted(app.partition("/")[0] for app in ray.tracked(JOBS)) == ["job", "ray"]
    members = [pod for pod in seen.values() if pod is not submitter]
    recorder.keep(f"kuberay-{operators.version('kuberay')}-rayjob", members, ray.api)
    recorder.keep(f"rayjob-submitter-{operators.version('kuberay')}", [submitter], ray.api)
    result = (
        "head and 2 workers held for 20 s and released, one app; the submitter is an app of its own, a task, "
        "0.5 → 0.25 cpu; remote tasks right"
    )
    recorder.add(Row("Ray", VERSION, "RayJob", result, round(time.monotonic() - start)))
    ray.api.delete(f"/apis/ray.io/v1/namespaces/{JOBS}/rayjobs/nightly")


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
    until("workers compute", lambda: "RESULT 20540" in _on_head(ray.lab, head["metadata"]["name"]), 600, 5)
    pods = ray.pods(TEAM, **{CLUSTER: "elastic"})
    workers = [pod for pod in pods if role(pod) == "task"]
    assert workers
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    assert [app for app in ray.tracked(TEAM) if "elastic" in app] == ["ray/elastic"]
    until("the workers are given back", lambda: _running(ray, "elastic") == {"driver": 1}, 300)
    result = f"0 → {len(workers)} → 0 workers by Ray's autoscaler; each is a task of the same app, 1 → 0.5 cpu; right"
    recorder.add(Row("Ray", VERSION, "RayCluster with Ray's autoscaler", result, round(time.monotonic() - start)))
    ray.api.delete(f"/apis/ray.io/v1/namespaces/{TEAM}/rayclusters/elastic")


def said(ray: Playground, name: str) -> Object:
    """What KubeRay says of a RayJob."""
    found: Object = (ray.api.find(f"/apis/ray.io/v1/namespaces/{JOBS}/rayjobs/{name}") or {}).get("status", {})
    return found


def _on_head(lab: Lab, head: str) -> str:
    kubectl = [built("kubectl"), f"--kubeconfig={lab.site.kubeconfig}", "exec", "-n", TEAM, head, "--"]
    return run([*kubectl, "timeout", "240", "python3", "-c", SQUARES])


def _running(ray: Playground, cluster: str) -> Counter[str]:
    """Running pods of a cluster by role."""
    return Counter(role(pod) for pod in ray.pods(TEAM, **{CLUSTER: cluster}) if phase(pod) == "Running")
