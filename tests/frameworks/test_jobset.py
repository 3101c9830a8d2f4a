"""Real JobSet: its controller makes Jobs for a leader and workers, which are one app."""

import time

import pytest

from slackwater_lab.frameworks import operators
from slackwater_lab.programs.build import missing
from slackwater_lab.programs.images import LOAD
from support.frameworks.examples import example
from support.frameworks.playground import Object, Playground, phase, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]
TEAM = "jobset-team"
VERSION = operators.version("jobset")


def replicated(name: str, count: int, script: str) -> Object:
    """One replicated Job of a JobSet."""
    container = {
        "name": "main",
        "image": LOAD,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", script],
        "resources": {"requests": {"cpu": "1", "memory": "64Mi"}},
    }
    pods = {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}
    job = {"parallelism": count, "completions": count, "backoffLimit": 0, "template": pods}
    return {"name": name, "replicas": 1, "template": {"spec": job}}


@pytest.fixture(scope="module")
def jobset(ground: Playground) -> Playground:
    """JobSet's controller, and a team."""
    if missing(["jobset"]):
        pytest.skip("JobSet is not built; run: python -m slackwater_lab build jobset")
    ground.team(TEAM)
    operators.start(ground.lab, "jobset", print)
    return ground


def body(name: str, *jobs: Object, **more: object) -> Object:
    """A JobSet of these replicated Jobs."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"replicatedJobs": list(jobs), **more},
    }


def said(jobset: Playground, name: str) -> Object:
    """What the controller says of a JobSet."""
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{TEAM}/jobsets/{name}"
    found: Object = (jobset.api.find(path) or {}).get("status", {})
    return found


def pods(jobset: Playground, name: str) -> list[Object]:
    """The pods of a JobSet."""
    return jobset.pods(TEAM, **{"jobset.sigs.k8s.io/jobset-name": name})


def test_a_jobset_runs_as_one_app(jobset: Playground, recorder: Recorder) -> None:
    """The page's example is held first; workers find each other by the names that JobSet gives them, and all end."""
    start = time.monotonic()
    with jobset.closed():
        operators.create(jobset.api, example("jobs", "JobSet", TEAM))
        until("its pods are held", lambda: [phase(pod) for pod in pods(jobset, "train")] == ["Gated"] * 4, 60)
        time.sleep(10)
        assert [phase(pod) for pod in pods(jobset, "train")] == ["Gated"] * 4
    until("the set ends", lambda: said(jobset, "train").get("terminalState"), 400)
    ended = pods(jobset, "train")
    recorder.keep(f"jobset-{VERSION}", ended, jobset.api)
    assert said(jobset, "train")["terminalState"] == "Completed"
    assert [phase(pod) for pod in ended] == ["Succeeded"] * 4
    apps = [app for app in jobset.tracked(TEAM) if "train" in app]
    assert len(apps) == 1, apps
    result = "held for 10 s and released; two Jobs of 1 and 3 pods are one app, names resolve, completed"
    recorder.add(Row("JobSet", VERSION, "leader and workers", result, round(time.monotonic() - start)))


def test_a_set_that_loses_a_pod_to_an_eviction_starts_anew(jobset: Playground, recorder: Recorder) -> None:
    """Its Job allows no failure, its failure policy one restart: all four pods come again, and pass the gate again."""
    start = time.monotonic()
    parts = replicated("leader", 1, "sleep 20"), replicated("workers", 3, "sleep 20")
    operators.create(jobset.api, body("robust", *parts, failurePolicy={"maxRestarts": 1}))
    until("all run", lambda: [phase(pod) for pod in pods(jobset, "robust")] == ["Running"] * 4, 120, 0.5)
    first = {pod["metadata"]["uid"] for pod in pods(jobset, "robust")}
    with jobset.closed():
        jobset.evict(next(pod for pod in pods(jobset, "robust") if "workers" in pod["metadata"]["name"]))

        def again() -> list[str]:
            return [phase(pod) for pod in pods(jobset, "robust") if pod["metadata"]["uid"] not in first]

        until("all come again, and are held", lambda: again() == ["Gated"] * 4, 120)
        time.sleep(10)
        assert again() == ["Gated"] * 4
    until("the set ends", lambda: said(jobset, "robust").get("terminalState"), 400)
    status = said(jobset, "robust")
    assert (status["terminalState"], status["restarts"]) == ("Completed", 1)
    apps = [app for app in jobset.tracked(TEAM) if "robust" in app]
    assert len(apps) == 1, apps
    result = "one restart by its failurePolicy: 4 pods come again, held for 10 s and let go, one app, completed"
    recorder.add(Row("JobSet", VERSION, "a worker is evicted", result, round(time.monotonic() - start)))
