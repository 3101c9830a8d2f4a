"""Every object of every set of values is server-side applied to a real API server, strictly, without being kept.

The definitions of cert-manager's and the Prometheus operator's kinds come with the projects' Go modules, as the lab's
programs do; without a way to get them these tests skip.
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

from support.builders.chartvalues import ALL
from support.lab.chart import CHART, NAMESPACE, objects

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


@pytest.fixture(scope="module")
def foreign(lab: Any, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The definitions, served by the lab's API server."""
    from support.lab.session import Kube, until  # noqa: PLC0415 - needs the lab

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


@pytest.mark.parametrize("name", ALL)
def test_every_object_is_accepted_as_written(kube: Any, served: dict[tuple[str, str], str], name: str) -> None:
    """An unknown field, a wrong value or a broken rule would be refused."""
    for each in objects("1.36.4", *ALL[name]):
        about, where = each["metadata"], served[each["apiVersion"], each["kind"]]
        inside = f"namespaces/{about['namespace']}/" if "namespace" in about else ""
        root = "api" if "/" not in each["apiVersion"] else "apis"
        path = f"/{root}/{each['apiVersion']}/{inside}{where}/{about['name']}?{STRICTLY}"
        answer = kube.patch(path, each, APPLY)
        assert answer.ok, f"{each['kind']} {about['name']}: {answer.message}"


@pytest.fixture(scope="module")
def served(lab: Any, foreign: list[dict[str, Any]]) -> dict[tuple[str, str], str]:
    """What each kind is called in a path, for all kinds that the chart makes."""
    from support.lab.session import Kube, until  # noqa: PLC0415 - needs the lab

    ours = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((CHART / "crds").glob("*.yaml"))]
    with Kube(lab.site) as kube:
        kube.namespace(NAMESPACE)
        for each in ours:
            assert kube.apply(each, DEFINITIONS).ok
        for each in ours:
            until(lambda each=each: established(kube, each["metadata"]["name"]))  # type: ignore[misc] # bound early
        versions = {each["apiVersion"] for case in ALL.values() for each in objects("1.36.4", *case)}
        return {
            (version, found["kind"]): found["name"]
            for version in versions
            for found in kube.get(f"/{'apis' if '/' in version else 'api'}/{version}").body["resources"]
            if "/" not in found["name"]
        }


def test_the_foreign_kinds_are_among_them(foreign: list[dict[str, Any]]) -> None:
    """Monitors, rules, certificates and issuers are really made by some set of values."""
    made = {each["kind"] for case in ALL.values() for each in objects("1.36.4", *case)}
    assert made >= {each["spec"]["names"]["kind"] for each in foreign}


def test_a_misspelt_field_of_such_a_kind_is_refused(kube: Any, served: dict[tuple[str, str], str]) -> None:
    """The check above can fail."""
    assert served["monitoring.coreos.com/v1", "ServiceMonitor"] == "servicemonitors"
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
