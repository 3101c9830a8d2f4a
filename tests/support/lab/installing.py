"""Slackwater's definitions and admission policies, put into a lab as the chart holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml

from slackwater_cluster import names
from slackwater_cluster.admissionpolicies.mutating import NAME
from slackwater_lab.controlplane.chart import CONFIGURATION, called_here
from slackwater_lab.lab import Lab
from support.lab.session import CUSTOM, PODS, Kube, Object, until

CHART = Path(__file__).parents[3] / "helm" / "slackwater"
MUTATING = ("MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy")
PATHS = {
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "MutatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
    CONFIGURATION: "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "ValidatingAdmissionPolicy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
}


ADMISSION = "/apis/admissionregistration.k8s.io/v1"


def install(kube: Kube, lab: Lab) -> None:
    """Definitions first; the policies take one of them as parameter. A webhook where there is no mutating policy."""
    for path in sorted(CHART.glob("crds/*.yaml")):
        _apply(kube, path)
    kinds = ("slackpolicies", "admissionqueues", "trackedapps")
    until(lambda: all(kube.get(f"{CUSTOM}/{kind}").ok for kind in kinds))
    _apply(kube, CHART / "files" / "guard.yaml")
    if has_policies(kube):
        mutate_by_policy(kube)
    else:
        mutate_by_webhook(kube, lab)


def until_acting(kube: Kube, namespace: str, acting: bool = True) -> None:
    """Wait until the policies act on pods of a managed namespace: they hold new ones and refuse what is forged.

    An API server learns of policies, and of their parameters, some time after they were written.
    """
    where = f"{PODS.format(namespace)}?dryRun=All"
    resources = {"requests": {"cpu": "10m"}}
    body: Object = {
        "apiVersion": "v1",
        "kind": "Pod",
        "spec": {"containers": [{"name": "m", "image": "none", "resources": resources}]},
    }

    def seen() -> bool:
        made = kube.post(where, {**body, "metadata": {"name": "probe"}})
        forged = kube.post(where, {**body, "metadata": {"name": "probe", "annotations": {names.PARKED: "now"}}})
        return made.ok and bool(made.body["spec"].get("schedulingGates")) == acting == (forged.status == 403)

    until(seen, 60)


def has_policies(kube: Kube) -> bool:
    """Whether the API server knows MutatingAdmissionPolicy in the version of the chart."""
    return any(each["name"] == "mutatingadmissionpolicies" for each in kube.get(ADMISSION).body["resources"])


def mutate_by_policy(kube: Kube) -> None:
    """The policy and its binding."""
    _apply(kube, CHART / "files" / "mutating.yaml")


def mutate_by_webhook(kube: Kube, lab: Lab) -> None:
    """The webhook's configuration, and its process in the lab."""
    lab.answer_webhooks()
    _apply(kube, CHART / "files" / "webhook.yaml", lambda body: called_here(lab.site, body))


def mutate_no_more(kube: Kube) -> None:
    """Neither by policy nor by webhook; the dead-man switch stays."""
    for kind in (*MUTATING, CONFIGURATION):
        kube.delete(f"{PATHS[kind]}/{NAME}")


def _apply(kube: Kube, path: Path, changed: Callable[[Object], Object] = lambda body: body) -> None:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        body = changed(document) if document["kind"] == CONFIGURATION else document
        answer = kube.apply(body, PATHS[body["kind"]])
        assert answer.ok, answer.message
