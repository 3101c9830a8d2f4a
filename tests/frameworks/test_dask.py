"""Real Dask: its operator makes scheduler and workers, and a client in the cluster gets the right sum."""

import time
from collections.abc import Callable

import pytest

from slackwater_lab.frameworks import layers, operators
from slackwater_lab.frameworks.imagefiles import DASK
from support.frameworks.examples import example
from support.frameworks.playground import Object, Playground, phase, requests, role, until
from support.frameworks.results import Recorder, Row

pytestmark = [pytest.mark.frameworks, pytest.mark.timeout(1200)]
TEAM = "dask-team"
PORTS = {"tcp-comm": 8786, "http-dashboard": 8787}
VERSION = f"{layers.DASK}, operator {layers.DASK_OPERATOR}"
SUM = """
from dask.distributed import Client
client = Client("tcp://numbers-scheduler.dask-team.svc.cluster.local:8786", timeout=300)
client.wait_for_workers(2, timeout=600)
print("RESULT", sum(client.gather(client.map(lambda x: x * x, range(1000)))), flush=True)
"""


SLOW = """
import time
from dask.distributed import Client

def square(x):
    time.sleep(2)
    return x * x

client = Client("tcp://CLUSTER-scheduler.dask-team.svc.cluster.local:8786", timeout=300)
futures = client.map(square, range(60))
client.wait_for_workers(WORKERS, timeout=600)
print("RESULT", sum(client.gather(futures)), flush=True)
"""


def slow(cluster: str, workers: int) -> str:
    """A client of a cluster whose 60 squares take two minutes of one worker."""
    return SLOW.replace("CLUSTER", cluster).replace("WORKERS", str(workers))


def container(name: str, *arguments: str, **more: object) -> Object:
    """A container of Dask that asks for one core."""
    resources = {"requests": {"cpu": "1", "memory": "512Mi"}, "limits": {"memory": "1Gi"}}
    made = {"name": name, "image": DASK, "imagePullPolicy": "Never", "args": list(arguments), "resources": resources}
    return {**made, **more}


def cluster(name: str, workers: int) -> Object:
    """A scheduler and its workers, as Dask's documentation writes it."""
    worker = container("worker", "dask", "worker", "--name", "$(DASK_WORKER_NAME)", "--no-dashboard")
    scheduler = container(
        "scheduler",
        "dask",
        "scheduler",
        "--no-dashboard",
        ports=[{"name": key, "containerPort": port, "protocol": "TCP"} for key, port in PORTS.items()],
        readinessProbe={"tcpSocket": {"port": 8786}, "initialDelaySeconds": 2, "periodSeconds": 5},
    )
    selector = {"dask.org/cluster-name": name, "dask.org/component": "scheduler"}
    ports = [{"name": key, "protocol": "TCP", "port": port, "targetPort": key} for key, port in PORTS.items()]
    return {
        "apiVersion": "kubernetes.dask.org/v1",
        "kind": "DaskCluster",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {
            "worker": {"replicas": workers, "spec": {"containers": [worker]}},
            "scheduler": {
                "spec": {"containers": [scheduler]},
                "service": {"type": "ClusterIP", "selector": selector, "ports": ports},
            },
        },
    }


@pytest.fixture(scope="module")
def dask(ground: Playground) -> Playground:
    """Dask's operator, its image on the nodes, and a team."""
    ground.load("dask")
    ground.team(TEAM)
    operators.start(ground.lab, "dask-operator", print)
    return ground


def call(dask: Playground, name: str, program: str, watch: Callable[[], object] = lambda: None) -> str:
    """Run a client in a pod of its own until it ends; what it printed. Meanwhile `watch` is called."""
    spec = {"restartPolicy": "Never", "containers": [container("client", command=["python3", "-c", program])]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": TEAM}, "spec": spec}
    operators.create(dask.api, body)
    path = f"/api/v1/namespaces/{TEAM}/pods/{name}"

    def ended() -> bool:
        watch()
        return phase(dask.api.find(path) or {}) in ("Succeeded", "Failed")

    until("the client ends", ended, 900)
    return dask.log(dask.api.find(path) or {})


def test_a_dask_cluster_computes(dask: Playground, recorder: Recorder) -> None:
    """The page's example: scheduler before workers, one app, and a client pod gets the right sum."""
    start = time.monotonic()
    operators.create(dask.api, example("dask", "DaskCluster", TEAM))
    until("the scheduler runs", lambda: _roles(dask, "numbers").get("driver", 0) == 1, 300)
    until("the workers run", lambda: _roles(dask, "numbers").get("task", 0) == 2, 600)
    assert f"RESULT {sum(x * x for x in range(1000))}" in call(dask, "client", SUM)
    apps = [app for app in dask.tracked(TEAM) if "numbers" in app]
    assert len(apps) == 1, apps
    recorder.keep(f"dask-operator-{layers.DASK_OPERATOR}", _pods(dask, "numbers"), dask.api)
    result = "scheduler is the driver, 2 workers its tasks, one app; right sum"
    recorder.add(Row("Dask", VERSION, "DaskCluster with a client", result, round(time.monotonic() - start)))
    dask.api.delete(f"/apis/kubernetes.dask.org/v1/namespaces/{TEAM}/daskclusters/numbers")


def test_an_adaptive_cluster_grows_and_shrinks(dask: Playground, recorder: Recorder) -> None:
    """Work for many workers makes the operator ask for more, each of which passes the gate; then they go again."""
    start = time.monotonic()
    limits = {"cluster": "adaptive", "minimum": 1, "maximum": 3}
    metadata = {"name": "adaptive", "namespace": TEAM}
    operators.create(
        dask.api,
        cluster("adaptive", 1),
        {"apiVersion": "kubernetes.dask.org/v1", "kind": "DaskAutoscaler", "metadata": metadata, "spec": limits},
    )
    until("one worker runs", lambda: _roles(dask, "adaptive") == {"driver": 1, "task": 1}, 600)
    seen: dict[str, Object] = {}

    def watch() -> None:
        seen.update({pod["metadata"]["name"]: pod for pod in _pods(dask, "adaptive")})

    assert f"RESULT {sum(x * x for x in range(60))}" in call(dask, "adaptive-client", slow("adaptive", 3), watch)
    workers = [pod for pod in seen.values() if role(pod) == "task"]
    assert len(workers) == 3
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    apps = [app for app in dask.tracked(TEAM) if "adaptive" in app and "client" not in app]
    assert len(apps) == 1, apps
    recorder.keep(f"dask-operator-{layers.DASK_OPERATOR}-adaptive", seen.values(), dask.api)
    until("it is small again", lambda: _roles(dask, "adaptive") == {"driver": 1, "task": 1}, 300)
    result = "1 → 3 → 1 workers by the DaskAutoscaler; each new one is a task of the same app, 1 → 0.5 cpu; right sum"
    recorder.add(Row("Dask", VERSION, "adaptive, 1 to 3 workers", result, round(time.monotonic() - start)))
    dask.api.delete(f"/apis/kubernetes.dask.org/v1/namespaces/{TEAM}/daskclusters/adaptive")


def test_workers_that_die_are_replaced(dask: Playground, recorder: Recorder) -> None:
    """Held before they run; then one is killed and one evicted while they compute, and the sum is right."""
    start = time.monotonic()
    with dask.closed():
        operators.create(dask.api, cluster("bereft", 2))
        until("all are held", lambda: [phase(pod) for pod in _pods(dask, "bereft")] == ["Gated"] * 3, 120)
        time.sleep(20)
        assert [phase(pod) for pod in _pods(dask, "bereft")] == ["Gated"] * 3
    until("all run", lambda: _roles(dask, "bereft") == {"driver": 1, "task": 2}, 600)
    first = [pod for pod in _pods(dask, "bereft") if role(pod) == "task"]
    lost: dict[float, Callable[[], None]] = {15.0: lambda: dask.kill(first[0]), 30.0: lambda: dask.evict(first[1])}
    seen: dict[str, Object] = {}
    begun = 0.0

    def watch() -> None:
        nonlocal begun
        client = dask.api.find(f"/api/v1/namespaces/{TEAM}/pods/bereft-client") or {}
        if not begun and phase(client) == "Running":
            begun = time.monotonic()
        for after in [after for after in lost if begun and time.monotonic() - begun > after]:
            lost.pop(after)()
        seen.update({pod["metadata"]["uid"]: pod for pod in _pods(dask, "bereft")})

    said = call(dask, "bereft-client", slow("bereft", 2), watch)
    assert f"RESULT {sum(x * x for x in range(60))}" in said, said[-3000:]
    assert not lost
    workers = [pod for pod in seen.values() if role(pod) == "task"]
    assert len(workers) >= 4
    assert {requests(pod)["cpu"] for pod in workers} == {"500m"}
    apps = [app for app in dask.tracked(TEAM) if "bereft" in app and "client" not in app]
    assert len(apps) == 1, apps
    result = (
        "scheduler and 2 workers held for 20 s and released; one worker killed, the other one evicted while they "
        "compute: both replaced, one app; right sum"
    )
    recorder.add(Row("Dask", VERSION, "workers are killed and evicted", result, round(time.monotonic() - start)))
    dask.api.delete(f"/apis/kubernetes.dask.org/v1/namespaces/{TEAM}/daskclusters/bereft")


def _pods(dask: Playground, cluster: str) -> list[Object]:
    return dask.pods(TEAM, **{"dask.org/cluster-name": cluster})


def _roles(dask: Playground, cluster: str) -> dict[str, int]:
    """Running pods of the cluster by role."""
    found: dict[str, int] = {}
    for pod in _pods(dask, cluster):
        if phase(pod) == "Running":
            found[role(pod)] = found.get(role(pod), 0) + 1
    return found
