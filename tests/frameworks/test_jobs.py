"""Plain Jobs of Kubernetes: indexed, with failures, a failure policy or a deadline; CronJobs; bare pods."""

import time

import pytest

from slackwater_lab.frameworks import operators
from slackwater_lab.programs.images import LOAD
from slackwater_lab.programs.programs import program
from support.frameworks.playground import Object, Playground, phase, requests, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]
TEAM = "job-team"
FAILURES = "metadata.annotations['batch.kubernetes.io/job-index-failure-count']"
VERSION = program("kube-controller-manager").version
OUTGROWS = "exec burn -cpu=10 -memory=50 -grow=10 -for=120s"  # its limit of 128 MiB, after some seconds


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


def test_an_evicted_pod_is_no_failure_under_a_failure_policy(jobs: Playground, recorder: Recorder) -> None:
    """With no retry at all: a rule ignores disruptions, and the pod that replaces an evicted one is held and let go."""
    start = time.monotonic()
    rules = [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]
    spec: Object = {"completions": 3, "parallelism": 3, "backoffLimit": 0, "podFailurePolicy": {"rules": rules}}
    operators.create(jobs.api, job("spared", "sleep 15", **spec))
    until("all run", lambda: [phase(pod) for pod in _pods(jobs, "spared")] == ["Running"] * 3, 120, 0.5)
    jobs.evict(_pods(jobs, "spared")[0])
    until("the Job ends", lambda: condition(jobs, "spared"), 300)
    assert condition(jobs, "spared") == "Complete"
    status = (jobs.api.find(f"/apis/batch/v1/namespaces/{TEAM}/jobs/spared") or {})["status"]
    assert (status["succeeded"], status.get("failed", 0)) == (3, 0)
    assert len([app for app in jobs.tracked(TEAM) if "spared" in app]) == 1
    result = "evicted with backoffLimit 0: replaced, held and let go, three succeed, none failed"
    recorder.add(Row("Job", VERSION, "podFailurePolicy ignores an eviction", result, round(time.monotonic() - start)))


def test_a_pod_that_is_killed_for_memory_comes_back(jobs: Playground, recorder: Recorder) -> None:
    """Index 1 outgrows its limit at its first try; the pod that comes instead is held until there is room, and ends."""
    start = time.monotonic()
    script = f'[ "$JOB_COMPLETION_INDEX" = 1 ] && [ "$FAILED" = 0 ] && {OUTGROWS}; sleep 2'
    spec: Object = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "backoffLimitPerIndex": 1}
    operators.create(jobs.api, job("outgrowing", script, **spec))
    until(
        "all are bound",
        lambda: [bool(pod["spec"].get("nodeName")) for pod in _pods(jobs, "outgrowing")] == [True] * 3,
        120,
        0.2,
    )
    with jobs.closed():
        until("the one that comes instead is held", lambda: "Gated" in map(phase, _pods(jobs, "outgrowing")), 120)
        time.sleep(10)
        assert "Gated" in map(phase, _pods(jobs, "outgrowing"))
    until("the Job ends", lambda: condition(jobs, "outgrowing"), 300)
    assert condition(jobs, "outgrowing") == "Complete"
    [killed] = [pod for pod in _pods(jobs, "outgrowing") if phase(pod) == "Failed"]
    assert killed["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "OOMKilled"
    assert len([app for app in jobs.tracked(TEAM) if "outgrowing" in app]) == 1
    result = "kubelet: OOMKilled above its limit of 128 MiB; replaced, held for 10 s and let go, three indexes done"
    recorder.add(Row("Job", VERSION, "a pod is killed for memory", result, round(time.monotonic() - start)))


def test_a_failure_policy_ends_a_job_at_once(jobs: Playground, recorder: Recorder) -> None:
    """An exit code that the policy names ends the Job, whatever retries are left, and holds nothing back."""
    start = time.monotonic()
    rules = [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}]
    spec: Object = {"completions": 3, "parallelism": 1, "backoffLimit": 6, "podFailurePolicy": {"rules": rules}}
    operators.create(jobs.api, job("hopeless", "exit 42", **spec))
    until("the Job ends", lambda: condition(jobs, "hopeless"), 300)
    found = jobs.api.find(f"/apis/batch/v1/namespaces/{TEAM}/jobs/hopeless") or {}
    assert "PodFailurePolicy" in {each.get("reason") for each in found["status"]["conditions"]}
    assert [phase(pod) for pod in _pods(jobs, "hopeless")] == ["Failed"]
    result = "exit code 42 fails the Job after one pod"
    recorder.add(Row("Job", VERSION, "podFailurePolicy with FailJob", result, round(time.monotonic() - start)))


def test_runs_of_a_cronjob_are_apps_of_one_name(jobs: Playground, recorder: Recorder) -> None:
    """The Job controller's own schedule makes two runs; people see the CronJob's name twice, not two numbers."""
    start = time.monotonic()
    body = job("unused", "sleep 2", parallelism=2, completions=2)
    schedule = {"schedule": "* * * * *", "concurrencyPolicy": "Forbid", "jobTemplate": {"spec": body["spec"]}}
    made = {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "namespace": TEAM}}
    operators.create(jobs.api, {**made, "spec": schedule})
    try:
        until("two runs are complete", lambda: len(_complete(jobs, "nightly-")) >= 2, 240)
    finally:
        jobs.api.delete(f"/apis/batch/v1/namespaces/{TEAM}/cronjobs/nightly", {"propagationPolicy": "Orphan"})
    runs = [app["spec"] for name, app in jobs.tracked(TEAM).items() if "nightly-" in name]
    assert len(runs) >= 2
    assert {run["name"] for run in runs} == {"nightly"}
    result = "each run is an app, both are called after the CronJob; two pods each, completed"
    recorder.add(Row("CronJob", VERSION, "two runs of two pods", result, round(time.monotonic() - start)))


def test_bare_pods_of_a_workflow_engine_are_apps_of_their_own(jobs: Playground, recorder: Recorder) -> None:
    """As Airflow's KubernetesPodOperator makes them: no owner, labels of its own, never restarted.

    Nobody says what they are, so they keep their requests. One that is labelled as a task is lowered.
    """
    start = time.monotonic()
    operators.create(jobs.api, bare("extract"), bare("load", **{"slackwater.io/role": "task"}))
    until("both end", lambda: {phase(pod) for pod in _dag(jobs)} == {"Succeeded"}, 180)
    pods = {pod["metadata"]["name"]: pod for pod in _dag(jobs)}
    assert (role(pods["extract"]), role(pods["load"])) == ("unknown", "task")
    assert (requests(pods["extract"])["cpu"], requests(pods["load"])["cpu"]) == ("1", "500m")
    assert len([app for app in jobs.tracked(TEAM) if "extract" in app or "load" in app]) == 2
    result = "each is an app of one pod; without a role it keeps its request, with role task 1 → 0.5 cpu; both end"
    case = "bare pods as Airflow's KubernetesPodOperator makes them"
    recorder.add(Row("Pod", VERSION, case, result, round(time.monotonic() - start)))


def bare(name: str, **labels: str) -> Object:
    """A pod without an owner, with the labels of an Airflow task."""
    spec = job(name, "sleep 2")["spec"]["template"]["spec"]
    own = {"dag_id": "etl", "task_id": name, "kubernetes_pod_operator": "True"}
    metadata = {"name": name, "namespace": TEAM, "labels": {**own, **labels}}
    plain = {key: value for key, value in spec["containers"][0].items() if key != "env"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "containers": [plain]}}


def _dag(ground: Playground) -> list[Object]:
    return [pod for pod in ground.pods(TEAM) if pod["metadata"].get("labels", {}).get("dag_id") == "etl"]


def _complete(ground: Playground, prefix: str) -> list[str]:
    found = (ground.api.find(f"/apis/batch/v1/namespaces/{TEAM}/jobs") or {"items": []})["items"]
    names = [each["metadata"]["name"] for each in found]
    return [name for name in names if name.startswith(prefix) and condition(ground, name) == "Complete"]


def _pods(ground: Playground, name: str) -> list[Object]:
    return ground.pods(TEAM, **{"batch.kubernetes.io/job_name": name})
