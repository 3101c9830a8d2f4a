"""One lab with our custom resources and policies for all tests in this folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "MutatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}


@pytest.fixture(scope="session")
def lab() -> Iterator[Any]:
    """A lab of our own, stopped afterwards; skipped where its programs were never built."""
    labs = pytest.importorskip("slackwater_lab.lab", reason="the lab is not installed here")
    builds = pytest.importorskip("slackwater_lab.builds")
    plan = pytest.importorskip("slackwater_lab.plan").Plan(
        parts=frozenset({"kwok", "scheduler", "slackwater-scheduler", "extender"})
    )
    if builds.missing(plan.programs()):
        pytest.skip("the lab's programs are not built; run: python -m slackwater_lab build")
    with labs.Lab.start("operator-tests", parts=plan.parts, nodes=3) as started:
        yield started


@pytest.fixture(scope="session")
def kube(lab: Any) -> Iterator[Any]:
    """An administrator's session on a cluster where Slackwater's definitions and policies are installed."""
    from support.kube import CUSTOM, Kube, until  # noqa: PLC0415 - needs the lab

    with Kube(lab.site) as session:
        for path in sorted((ROOT / "helm" / "slackwater").glob("crds/*.yaml")):
            _install(session, path)
        until(
            lambda: all(
                session.get(f"{CUSTOM}/{kind}").ok for kind in ("slackpolicies", "admissionqueues", "trackedapps")
            )
        )
        for path in sorted((ROOT / "helm" / "slackwater").glob("files/*.yaml")):
            _install(session, path)
        yield session


def _install(session: Any, path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        answer = session.apply(document, PATHS[document["kind"]])
        assert answer.ok, answer.message
