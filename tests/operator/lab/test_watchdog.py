"""The dead-man switch rehearsed on a real API server: every operator killed, our namespace deleted, and all is well."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support.lab.operatorprocess import bound, fresh, pod, wait

pytestmark = pytest.mark.lab

PATIENCE = 12


@pytest.fixture
def watchdog(lab: Any) -> Iterator[Any]:
    """The watchdog as a process, less patient than in production."""
    settings = {"KUBECONFIG": str(lab.site.kubeconfig), "PATIENCE": str(PATIENCE), "PERIOD": "1", "RATE": "20"}
    environment = {**os.environ, **{f"SLACKWATER_WATCHDOG_{key}": value for key, value in settings.items()}}
    with (lab.site.folder / "watchdog.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "slackwater_operator.watchdog"], env=environment, stdout=log, stderr=log
        )
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(10)


def held(kube: Any, where: str) -> bool:
    """Whether a pod that is created now would be held."""
    spec = kube.post(f"{where}?dryRun=All", pod("probe", "probe")).body["spec"]
    gated, ours = "schedulingGates" in spec, spec["schedulerName"] == "slackwater"
    assert gated == ours
    return gated


def test_without_operators_pods_go_on_as_if_we_had_never_been_there(kube: Any, replicas: Any, watchdog: Any) -> None:
    """Killed: held pods are let go, new ones get the default scheduler and no gate. Back: pods are held again."""
    where = fresh(kube, "deadman")
    first = replicas("deadman-first")
    assert kube.post(where, pod("early", "early")).ok
    wait(lambda: bound(kube, where) == 1)
    first.end(signal.SIGKILL)
    for number in range(10):
        assert kube.post(where, pod(f"held-{number}", "held", cpu="100m")).ok
    assert held(kube, where)
    wait(lambda: bound(kube, where) == 11, PATIENCE + 20)
    wait(lambda: not held(kube, where), 10)
    assert watchdog.poll() is None
    replicas("deadman-second")
    wait(lambda: held(kube, where), 60)
    kube.delete(where)


def test_with_our_namespace_deleted_pods_go_on(kube: Any, watchdog: Any) -> None:
    """The Lease goes with it, and the watchdog, which lives elsewhere, takes that for what it is."""
    where = fresh(kube, "deadman-gone")
    for number in range(3):
        assert kube.post(where, pod(f"held-{number}", "held", cpu="100m")).ok
    kube.delete("/apis/coordination.k8s.io/v1/namespaces/slackwater-system/leases/slackwater-operator")
    kube.delete("/api/v1/namespaces/slackwater-system")
    wait(lambda: bound(kube, where) == 3, PATIENCE + 30)
    wait(lambda: not held(kube, where), 10)
    assert watchdog.poll() is None
    kube.delete(where)
