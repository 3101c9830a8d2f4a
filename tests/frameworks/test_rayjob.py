"""Real RayJobs: KubeRay makes a cluster, submits to it by a Job or by itself, and says how it ended."""

import time
from collections import Counter

import pytest

from slackwater_lab.frameworks import layers, operators
from slackwater_lab.frameworks.imagefiles import RAY
from slackwater_lab.programs.build import missing
from support.frameworks.examples import example
from support.frameworks.playground import Object, Playground, phase, requests, role, until
from support.frameworks.raycluster import CLUSTER, RIGHT, SQUARES, clustered, resource
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1500)]
TEAM = "rayjob-team"
JOBS = f"/apis/ray.io/v1/namespaces/{TEAM}/rayjobs"
VERSION = f"{layers.RAY}, KubeRay {operators.version('kuberay')}"
ENTRY = f"python3 -c '{SQUARES}'"


@pytest.fixture(scope="module")
def ray(ground: Playground) -> Playground:
    """KubeRay, Ray's image on the nodes, and a team."""
    if missing(["kuberay"]):
        pytest.skip("KubeRay is not built; run: python -m slackwater_lab build kuberay")
    ground.load("ray")
    ground.team(TEAM)
    operators.start(ground.lab, "kuberay", print)
    return ground


def said(ray: Playground, name: str) -> Object:
    """What KubeRay says of a RayJob."""
    found: Object = (ray.api.find(f"{JOBS}/{name}") or {}).get("status", {})
    return found


def gone(ray: Playground, name: str) -> None:
    """Delete a RayJob, and wait until its pods are gone."""
    ray.api.delete(f"{JOBS}/{name}")
    until("its pods are gone", lambda: not ray.pods(TEAM), 120)


def job(name: str, **spec: object) -> Object:
    """A RayJob of ours."""
    return resource("RayJob", name, TEAM, entrypoint=ENTRY, **spec)


def hold(ray: Playground, body: Object) -> dict[str, Object]:
    """Submit while the nodes are closed, see head and workers held for 20 s, open, wait for the end; all pods seen."""
    seen: dict[str, Object] = {}
    name = body["metadata"]["name"]
    with ray.closed():
        operators.create(ray.api, body)
        until("head and workers are held", lambda: [phase(pod) for pod in ray.pods(TEAM)] == ["Gated"] * 3, 300)
        time.sleep(20)
        assert [phase(pod) for pod in ray.pods(TEAM)] == ["Gated"] * 3

    def ended() -> bool:
        seen.update({pod["metadata"]["name"]: pod for pod in ray.pods(TEAM)})
        return said(ray, name).get("jobDeploymentStatus") in ("Complete", "Failed")

    until("it ends", ended, 900)
    assert said(ray, name).get("jobStatus") == "SUCCEEDED", said(ray, name)
    return seen


def test_a_ray_job_is_held_released_and_ends_right(ray: Playground, recorder: Recorder) -> None:
    """The page's example: its cluster is one app, called as the RayJob; the submitter comes later, as another app."""
    start = time.monotonic()
    seen = hold(ray, example("ray", "RayJob", TEAM))
    [submitter] = [pod for pod in seen.values() if CLUSTER not in pod["metadata"]["labels"]]
    assert RIGHT in ray.log(submitter)
    assert Counter(role(pod) for pod in seen.values()) == {"driver": 1, "task": 3}
    assert (role(submitter), requests(submitter)["cpu"]) == ("task", "250m")
    assert sorted(app.partition("/")[0] for app in ray.tracked(TEAM)) == ["job", "ray"]
    called = {made["spec"]["name"] for app, made in ray.tracked(TEAM).items() if "nightly" in app}
    assert called == {"nightly"}  # not as the cluster, whose name KubeRay makes up
    members = [pod for pod in seen.values() if pod is not submitter]
    recorder.keep(f"kuberay-{operators.version('kuberay')}-rayjob", members, ray.api)
    recorder.keep(f"rayjob-submitter-{operators.version('kuberay')}", [submitter], ray.api)
    result = (
        "head and 2 workers held for 20 s and released, one app, called as the RayJob; the submitter is an app of its "
        "own, a task, 0.5 → 0.25 cpu; remote tasks right"
    )
    recorder.add(Row("Ray", VERSION, "RayJob", result, round(time.monotonic() - start)))
    gone(ray, "nightly")


def test_where_kuberay_submits_itself_no_pod_waits_beside_the_cluster(ray: Playground, recorder: Recorder) -> None:
    """`submissionMode: HTTPMode`: the cluster is the only app."""
    start = time.monotonic()
    spec = clustered(dashboard=True)
    seen = hold(ray, job("direct", rayClusterSpec=spec, submissionMode="HTTPMode"))
    assert Counter(role(pod) for pod in seen.values()) == {"driver": 1, "task": 2}
    [head] = [pod for pod in seen.values() if role(pod) == "driver"]
    assert requests(head)["cpu"] == "1"
    assert [app for app in ray.tracked(TEAM) if "direct" in app] == [f"ray/{head['metadata']['labels'][CLUSTER]}"]
    assert printed(ray, "direct") == RIGHT
    result = "head and 2 workers held for 20 s and released, one app; no pod to submit; remote tasks right"
    recorder.add(Row("Ray", VERSION, "RayJob, submissionMode HTTPMode", result, round(time.monotonic() - start)))
    gone(ray, "direct")


def test_a_submitter_with_the_role_of_a_driver_keeps_its_request(ray: Playground, recorder: Recorder) -> None:
    """As the page for users says; with one name of ours on all templates, cluster and submitter are one app."""
    start = time.monotonic()
    spec = clustered(dashboard=True)
    ours = {"slackwater.io/app": "hourly"}
    for group in (spec["headGroupSpec"], *spec["workerGroupSpecs"]):
        group["template"]["metadata"] = {"labels": ours}
    amounts = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    container = {"name": "submitter", "image": RAY, "imagePullPolicy": "Never", "resources": amounts}
    template = {
        "metadata": {"labels": {"slackwater.io/role": "driver", **ours}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    seen = hold(ray, job("hourly", rayClusterSpec=spec, submitterPodTemplate=template))
    [submitter] = [pod for pod in seen.values() if CLUSTER not in pod["metadata"]["labels"]]
    assert (role(submitter), requests(submitter)["cpu"]) == ("driver", "500m")
    assert RIGHT in ray.log(submitter)
    apps = [app for app in ray.tracked(TEAM) if "hourly" in app]
    assert len(apps) == 1, apps
    result = "submitter labelled as a driver keeps its 0.5 cpu; one name of ours on all templates makes one app; right"
    recorder.add(Row("Ray", VERSION, "RayJob with our labels", result, round(time.monotonic() - start)))
    gone(ray, "hourly")


@pytest.mark.parametrize("limit", ["activeDeadlineSeconds", "preRunningDeadlineSeconds"])
def test_its_deadlines_count_while_it_is_held(limit: str, ray: Playground, recorder: Recorder) -> None:
    """Both count from the RayJob's start: told in the docs."""
    start = time.monotonic()
    name = limit.lower()
    with ray.closed():
        operators.create(ray.api, job(name, **{"rayClusterSpec": clustered(dashboard=True), limit: 15}))
        until("it fails behind the gate", lambda: said(ray, name).get("jobDeploymentStatus") == "Failed", 120)
    reason = said(ray, name)["reason"]
    result = f"set to 15 s, fails while held ({reason}): give it the longest wait you accept"
    recorder.add(Row("Ray", VERSION, f"RayJob, {limit}", result, round(time.monotonic() - start)))
    gone(ray, name)


def printed(ray: Playground, name: str) -> str:
    """The line with the result that Ray keeps of a job, asked for on the head as `ray job logs` does."""
    [head] = [pod for pod in ray.pods(TEAM) if role(pod) == "driver"]
    told = ray.run(head, "ray", "job", "logs", "--address=http://127.0.0.1:8265", said(ray, name)["jobId"])
    return next((line for line in told.splitlines() if line.startswith("RESULT")), told)
