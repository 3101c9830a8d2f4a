"""Real JobSet: its controller makes Jobs for a leader and workers, which are one app."""

import time

import pytest

from slackwater_lab.frameworks import operators
from slackwater_lab.programs.build import missing
from slackwater_lab.programs.images import LOAD
from support.frameworks.playground import Object, Playground, phase, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(900)]
TEAM = "jobset-team"


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


def test_a_jobset_runs_as_one_app(ground: Playground, recorder: Recorder) -> None:
    """Workers find each other by the names that JobSet gives them, and all Jobs of the set end."""
    if missing(["jobset"]):
        pytest.skip("JobSet is not built; run: python -m slackwater_lab build jobset")
    ground.team(TEAM)
    operators.start(ground.lab, "jobset", print)
    start = time.monotonic()
    # The shell's nslookup does not search the cluster's domains, so names are written out.
    domain = f"train.{TEAM}.svc.cluster.local"
    finds = f"for n in 0 1 2; do until nslookup train-workers-0-$n.{domain}; do sleep 1; done; done; sleep 5"
    spec = {"replicatedJobs": [replicated("leader", 1, "sleep 5"), replicated("workers", 3, finds)]}
    body = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "train", "namespace": TEAM},
        "spec": spec,
    }
    operators.create(ground.api, body)
    path = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{TEAM}/jobsets/train"

    def terminal() -> str:
        return str((ground.api.find(path) or {}).get("status", {}).get("terminalState", ""))

    until("the set ends", terminal, 400)
    pods = ground.pods(TEAM)
    recorder.keep(f"jobset-{operators.version('jobset')}", pods, ground.api)
    assert terminal() == "Completed"
    assert [phase(pod) for pod in pods] == ["Succeeded"] * 4
    apps = list(ground.tracked(TEAM))
    assert len(apps) == 1, apps
    result = "two Jobs of 1 and 3 pods are one app, names resolve, completed"
    recorder.add(
        Row("JobSet", operators.version("jobset"), "leader and workers", result, round(time.monotonic() - start))
    )
