"""The dead-man switch rehearsed on a real API server: every operator killed, our namespace deleted, and all is well."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.lab.operatorprocess import bound, fresh, pod, wait

pytestmark = pytest.mark.lab

PATIENCE = 12
CHART = Path(__file__).parents[3] / "helm" / "slackwater"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SWITCH = f"{RBAC}/clusterrolebindings/slackwater-holding"
OPERATOR = {"kind": "ServiceAccount", "name": "slackwater-operator", "namespace": "slackwater-system"}
MERGE = "application/merge-patch+json"
UNGATE = {"spec": {"schedulingGates": [{"$patch": "delete", "name": "slackwater.io/admission"}]}}


@pytest.fixture(autouse=True)
def switched_on(kube: Any, replicas: Any) -> Iterator[None]:
    """A policy in force and the switch on, whatever the test before did to them."""
    assert replicas is not None  # it made the policy
    kube.namespace(OPERATOR["namespace"])
    assert kube.patch(SWITCH, {"subjects": [OPERATOR]}, MERGE).ok
    yield
    assert kube.patch(SWITCH, {"subjects": [OPERATOR]}, MERGE).ok  # as other tests expect it


@pytest.fixture
def watchdog(lab: Any) -> Iterator[Any]:
    """The watchdog as a process, less patient than in production."""
    settings = {"KUBECONFIG": str(lab.site.kubeconfig), "PATIENCE": str(PATIENCE), "PERIOD": "1", "RATE": "20"}
    environment = {**os.environ, **{f"SLACKWATER_WATCHDOG_{key}": value for key, value in settings.items()}}
    with (lab.site.folder / "watchdog.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "slackwater_operator.lease.watchdog"], env=environment, stdout=log, stderr=log
        )
    yield process
    process.send_signal(signal.SIGTERM)
    process.wait(10)


def test_the_watchdogs_own_rights_turn_the_switch_and_lift_gates(kube: Any) -> None:
    """With the rules of the chart's role and no others; a stolen token of it can change nothing else in a pod."""
    text = (CHART / "templates" / "watchdog" / "watchdog.yaml").read_text(encoding="utf-8")
    rules = yaml.safe_load(text[text.index("rules:") : text.index("---", text.index("rules:"))])["rules"]
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": "dog"}}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "dog"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "dog"}
    assert kube.apply({**rbac, "kind": "ClusterRole", "rules": rules}, f"{RBAC}/clusterroles").ok
    binding = {**rbac, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]}
    assert kube.apply(binding, f"{RBAC}/clusterrolebindings").ok
    where = fresh(kube, "deadman-rights")
    assert kube.post(where, pod("held", "held")).ok
    with kube.acting_as("dog") as dog:
        wait(lambda: dog.patch(SWITCH, {"subjects": []}, MERGE).ok, 10)
        assert dog.patch(SWITCH, {"subjects": [OPERATOR]}, MERGE).ok
        assert dog.patch(f"{where}/held", {"metadata": {"labels": {"x": "y"}}}).status == 403
        assert dog.patch(f"{where}/held", UNGATE).ok
        assert dog.patch(f"{RBAC}/clusterrolebindings/dog", {"subjects": []}, MERGE).status == 403
    kube.delete(where)


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
    second = replicas("deadman-second")
    wait(lambda: held(kube, where), 60)
    second.end(signal.SIGKILL)
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
