"""Slackwater's definitions and admission policies, put into a lab as the chart holds them."""

from __future__ import annotations

from pathlib import Path

import yaml

from support.lab.session import CUSTOM, Kube, until

CHART = Path(__file__).parents[3] / "helm" / "slackwater"
PATHS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "MutatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}


def install(kube: Kube) -> None:
    """Definitions first; the policies take one of them as parameter."""
    for path in sorted(CHART.glob("crds/*.yaml")):
        _apply(kube, path)
    kinds = ("slackpolicies", "admissionqueues", "trackedapps")
    until(lambda: all(kube.get(f"{CUSTOM}/{kind}").ok for kind in kinds))
    for path in sorted(CHART.glob("files/*.yaml")):
        _apply(kube, path)


def _apply(kube: Kube, path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        answer = kube.apply(document, PATHS[document["kind"]])
        assert answer.ok, answer.message
