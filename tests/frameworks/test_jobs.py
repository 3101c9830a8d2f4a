"""Plain Jobs of Kubernetes: indexed ones with failures, and one whose deadline counts while its pods are held."""

import time

import pytest

from slackwater_lab.frameworks import operators
from slackwater_lab.programs.images import LOAD
from slackwater_lab.programs.programs import program
from support.frameworks.playground import Object, Playground, phase, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]
TEAM = "job-team"
FAILURES = "metadata.annotations['batch.kubernetes.io/job-index-failure-count']"
VERSION = program("kube-controller-manager").version


def job(name: str, script: str, cpu: str = "1", **spec: object) -> Object:
    """A Job whose pods run a shell script."""
    container = {
        "name": "main",
        "image": LOAD,
        "imagePullPolicy": "Never",
        "command": ["sh", "-c", script],
        "env": [{"name": "FAILED", "valueFrom": {"fieldRef": {"fieldPath": FAILURES}}}],
        "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
    }
    template = {"spec": {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1, "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"template": template, **spec},
    }


def condition(ground: Playground, name: str) -> str:
    """How the Job ended; "" while it has not."""
    found = ground.api.find(f"/apis/batch/v1/namespaces/{TEAM}/jobs/{name}") or {}
    said = {each["type"] for each in found.get("status", {}).get("conditions", []) if each["status"] == "True"}
    return "Complete" if "Complete" in said else "Failed" if "Failed" in said else ""


@pytest.fixture(scope="module")
def jobs(ground: Playground) -> Playground:
    """A team for Jobs."""
    ground.team(TEAM)
    return ground


def test_an_indexed_job_with_failures_completes(jobs: Playground, recorder: Recorder) -> None:
    """Index 2 fails once and is tried again; all twelve indexes are one app."""
    start = time.monotonic()
    fails_once = '[ "$JOB_COMPLETION_INDEX" = 2 ] && [ "$FAILED" = 0 ] && exit 1; sleep 2'
    spec = {"completions": 12, "parallelism": 6, "completionMode": "Indexed", "backoffLimitPerIndex": 3}
    operators.create(jobs.api, job("indexed", fails_once, "2", **spec))
    until("the Job ends", lambda: condition(jobs, "indexed"), 300)
    pods = _pods(jobs, "indexed")
    assert condition(jobs, "indexed") == "Complete"
    done = {
        pod["metadata"]["annotations"]["batch.kubernetes.io/job-completion-index"]
        for pod in pods
        if phase(pod) == "Succeeded"
    }
    assert len(done) == 12
    assert sum(phase(pod) == "Failed" for pod in pods) == 1
    assert {role(pod) for pod in pods} <= {"task", "unknown"}
    assert len([app for app in jobs.tracked(TEAM) if "indexed" in app]) == 1
    recorder.keep(f"job-{VERSION}-indexed", pods, jobs.api)
    result = f"one app, 12 indexes done, {len(pods)} pods with the retries"
    recorder.add(Row("Job", VERSION, "indexed, 12 of 2 cores, retries", result, round(time.monotonic() - start)))


def test_a_deadline_counts_while_pods_are_held(jobs: Playground, recorder: Recorder) -> None:
    """`activeDeadlineSeconds` of a Job runs from its start, gated or not: Kubernetes' own rule, told in the docs."""
    start = time.monotonic()
    jobs.cordon(closed=True)
    try:
        operators.create(jobs.api, job("hasty", "sleep 1", activeDeadlineSeconds=15))
        until("its pod is held", lambda: [phase(pod) for pod in _pods(jobs, "hasty")] == ["Gated"], 60, 0.2)
        until("it fails behind the gate", lambda: condition(jobs, "hasty") == "Failed", 120)
    finally:
        jobs.cordon(closed=False)
    found = jobs.api.find(f"/apis/batch/v1/namespaces/{TEAM}/jobs/hasty") or {}
    assert "DeadlineExceeded" in {each.get("reason") for each in found["status"]["conditions"]}
    result = "fails with DeadlineExceeded while held: set the deadline on the pod template, which counts from its start"
    recorder.add(Row("Job", VERSION, "activeDeadlineSeconds while held", result, round(time.monotonic() - start)))


def _pods(ground: Playground, name: str) -> list[Object]:
    return ground.pods(TEAM, **{"batch.kubernetes.io/job_name": name})
