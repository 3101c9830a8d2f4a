"""Objects of cert-manager's and the Prometheus operator's kinds, judged by a real API server with their definitions.

The definitions come with the projects' Go modules, as the lab's programs do; without a way to get them the test skips.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.chart import NAMESPACE, objects

pytestmark = pytest.mark.lab

SOURCES = {
    "github.com/prometheus-operator/prometheus-operator@v0.85.0": (
        "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
    "github.com/cert-manager/cert-manager@v1.21.2": (
        "deploy/crds/cert-manager.io_certificates.yaml",
        "deploy/crds/cert-manager.io_issuers.yaml",
    ),
}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Server-side apply that changes nothing and takes no unknown field.
APPLY = "application/apply-patch+yaml"
STRICTLY = "fieldManager=test&force=true&dryRun=All&fieldValidation=Strict"
OPTIONS = (
    "--set=monitoring.serviceMonitor.enabled=true,monitoring.rules.enabled=true,tls.mode=certManager",
    "--set=monitoring.serviceMonitor.schedulerTokenSecret=token,monitoring.serviceMonitor.labels.release=prometheus",
    "--set=monitor.enabled=true,prometheus.url=http://prometheus,monitoring.rules.runbooks=https://example.com",
)


@pytest.fixture(scope="module")
def foreign(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The definitions, served by the lab's API server."""
    from support.kube import Kube, until  # noqa: PLC0415 - needs the lab

    found = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in files(tmp_path_factory.mktemp("go"))]
    with Kube(lab.site) as kube:
        for each in found:
            # Too large for one client-side request with its comments; server-side apply takes them as they are.
            made = kube.apply(each, DEFINITIONS)
            assert made.ok, made.message
        for each in found:
            until(lambda each=each: established(kube, each["metadata"]["name"]))  # type: ignore[misc] # bound early
    return found


def files(folder: Path) -> list[Path]:
    """The definitions' files, fetched by Go."""
    go = shutil.which("go", path=f"{os.environ.get('PATH', os.defpath)}:/usr/local/go/bin")
    if go is None:
        pytest.skip("Go is not installed; it fetches the definitions of cert-manager and the Prometheus operator")
    paths = []
    for module, names in SOURCES.items():
        done = subprocess.run(
            [go, "mod", "download", "-json", module],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        told = json.loads(done.stdout or "{}")
        if "Dir" not in told:
            pytest.skip(f"{module} cannot be fetched: {told.get('Error') or done.stderr}")
        paths += [Path(told["Dir"]) / name for name in names]
    return paths


def established(kube: Any, name: str) -> bool:
    """Whether the API server serves the kind."""
    conditions = kube.get(f"{DEFINITIONS}/{name}").body.get("status", {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def test_foreign_kinds_are_accepted_as_written(lab: Any, kube: Any, foreign: list[dict[str, Any]]) -> None:
    """Every such object passes its definition, strictly: an unknown field would be refused."""
    kube.namespace(NAMESPACE)
    plurals = {each["spec"]["names"]["kind"]: each["spec"]["names"]["plural"] for each in foreign}
    ours = [each for each in objects("1.36.4", *OPTIONS) if each["kind"] in plurals]
    assert {each["kind"] for each in ours} == set(plurals), "a kind that the chart never makes"
    for each in ours:
        path = f"/apis/{each['apiVersion']}/namespaces/{NAMESPACE}/{plurals[each['kind']]}"
        name = each["metadata"]["name"]
        answer = kube.patch(f"{path}/{name}?{STRICTLY}", each, APPLY)
        assert answer.ok, f"{each['kind']} {name}: {answer.message}"


def test_a_misspelt_field_of_such_a_kind_is_refused(kube: Any, foreign: list[dict[str, Any]]) -> None:
    """The check above can fail."""
    path = f"/apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/servicemonitors"
    wrong = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "wrong", "namespace": NAMESPACE},
        "spec": {"selector": {}, "endpoint": []},
    }
    answer = kube.patch(f"{path}/wrong?{STRICTLY}", wrong, APPLY)
    assert not answer.ok
    assert "endpoint" in answer.message
