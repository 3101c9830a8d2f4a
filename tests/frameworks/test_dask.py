"""Real Dask: its operator makes scheduler and workers, and a client in the cluster gets the right sum."""

import time

import pytest

from slackwater_lab.frameworks import layers, operators
from slackwater_lab.frameworks.imagefiles import DASK
from support.frameworks.playground import Object, Playground, phase, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1200)]
TEAM = "dask-team"
SUM = """
from dask.distributed import Client
client = Client("tcp://numbers-scheduler.dask-team.svc.cluster.local:8786", timeout=300)
client.wait_for_workers(2, timeout=600)
print("RESULT", sum(client.gather(client.map(lambda x: x * x, range(1000)))), flush=True)
"""


def container(name: str, *arguments: str, **more: object) -> Object:
    """A container of Dask that asks for one core."""
    resources = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
    made = {"name": name, "image": DASK, "imagePullPolicy": "Never", "args": list(arguments), "resources": resources}
    return {**made, **more}


def cluster() -> Object:
    """A scheduler and two workers, as Dask's documentation writes it."""
    worker = container("worker", "dask", "worker", "--name", "$(DASK_WORKER_NAME)", "--no-dashboard")
    scheduler = container(
        "scheduler",
        "dask",
        "scheduler",
        "--no-dashboard",
        ports=[{"name": "tcp-comm", "containerPort": 8786, "protocol": "TCP"}],
        readinessProbe={"tcpSocket": {"port": 8786}, "initialDelaySeconds": 2, "periodSeconds": 5},
    )
    selector = {"dask.org/cluster-name": "numbers", "dask.org/component": "scheduler"}
    port = {"name": "tcp-comm", "protocol": "TCP", "port": 8786, "targetPort": "tcp-comm"}
    return {
        "apiVersion": "kubernetes.dask.org/v1",
        "kind": "DaskCluster",
        "metadata": {"name": "numbers", "namespace": TEAM},
        "spec": {
            "worker": {"replicas": 2, "spec": {"containers": [worker]}},
            "scheduler": {
                "spec": {"containers": [scheduler]},
                "service": {"type": "ClusterIP", "selector": selector, "ports": [port]},
            },
        },
    }


def test_a_dask_cluster_computes(ground: Playground, recorder: Recorder) -> None:
    """Scheduler before workers, one app, and a client pod gets the right sum."""
    ground.load("dask")
    ground.team(TEAM)
    operators.start(ground.lab, "dask-operator", print)
    start = time.monotonic()
    operators.create(ground.api, cluster())
    until("the scheduler runs", lambda: _roles(ground).get("driver", 0) == 1, 300)
    until("the workers run", lambda: _roles(ground).get("task", 0) == 2, 600)
    client = container("client", command=["python3", "-c", SUM])
    spec = {"restartPolicy": "Never", "containers": [client]}
    operators.create(
        ground.api,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "client", "namespace": TEAM}, "spec": spec},
    )
    path = f"/api/v1/namespaces/{TEAM}/pods/client"
    until("the client ends", lambda: phase(ground.api.find(path) or {}) in ("Succeeded", "Failed"), 600)
    assert f"RESULT {sum(x * x for x in range(1000))}" in ground.log(ground.api.find(path) or {})
    apps = [app for app in ground.tracked(TEAM) if "numbers" in app]
    assert len(apps) == 1, apps
    recorder.keep(
        f"dask-operator-{layers.DASK_OPERATOR}", ground.pods(TEAM, **{"dask.org/cluster-name": "numbers"}), ground.api
    )
    version = f"{layers.DASK}, operator {layers.DASK_OPERATOR}"
    result = "scheduler is the driver, 2 workers its tasks, one app; right sum"
    recorder.add(Row("Dask", version, "DaskCluster with a client", result, round(time.monotonic() - start)))
    ground.api.delete(f"/apis/kubernetes.dask.org/v1/namespaces/{TEAM}/daskclusters/numbers")


def _roles(ground: Playground) -> dict[str, int]:
    """Running pods of the cluster by role."""
    found: dict[str, int] = {}
    for pod in ground.pods(TEAM, **{"dask.org/cluster-name": "numbers"}):
        if phase(pod) == "Running":
            found[role(pod)] = found.get(role(pod), 0) + 1
    return found
