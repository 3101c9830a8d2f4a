"""The ValidatingAdmissionPolicies: who may lift a gate or park a pod, what is sealed, what the operator may change."""

from __future__ import annotations

from typing import Any

from slackwater_cluster import names
from slackwater_cluster.policies import cel

OPERATOR = f"system:serviceaccount:{names.SYSTEM_NAMESPACE}:slackwater-operator"

Manifest = dict[str, Any]

MAY_RELEASE = (
    f"authorizer.group('{names.GROUP}').resource('{names.RELEASE_RESOURCE}').namespace(request.namespace)"
    f".check('{names.RELEASE_VERB}').allowed()"
)
VERB = f"the verb '{names.RELEASE_VERB}' on {names.RELEASE_RESOURCE}.{names.GROUP}"


def guard(operator: str = OPERATOR) -> list[Manifest]:
    """The policies and their bindings. `operator` is the user name the operator appears under."""
    return [_pods(), _binding("slackwater-guard"), _operator(operator), _binding("slackwater-guard-operator")]


def _pods() -> Manifest:
    gated = f".spec.?schedulingGates.orValue([]).exists(g, g.name == '{names.GATE}')"
    same_gates, same_annotations = _same("spec", "schedulingGates", "[]"), _same("metadata", "annotations", "{}")
    parked = f"variables.oldAnnotations[?'{names.PARKED}'] == variables.newAnnotations[?'{names.PARKED}']"
    return _policy(
        "slackwater-guard",
        constraints={
            "namespaceSelector": {"matchLabels": {names.MANAGED: "true"}},
            # Annotations can be changed through the subresources too.
            "resourceRules": [_updates("pods", "pods/status", "pods/resize", "pods/ephemeralcontainers")],
        },
        # Most updates are a kubelet's, of the status: they end here, at a third of what the rules below would cost.
        conditions={"gates-or-annotations-change": f"!({same_gates} && {same_annotations})"},
        variables={
            # A verb of our own: who may lift gates is plain RBAC (the operator, and whom an administrator trusts).
            "mayRelease": MAY_RELEASE,
            "had": f"oldObject{gated}",
            "has": f"object{gated}",
            "sealed": cel.listed(names.SEALED),
            "oldAnnotations": "oldObject.metadata.?annotations.orValue({})",
            "newAnnotations": "object.metadata.?annotations.orValue({})",
        },
        validations={
            "!variables.had || variables.has || variables.mayRelease": (
                f"the gate {names.GATE} is lifted by Slackwater; to lift it by hand you need {VERB} "
                "(slackwater release POD)"
            ),
            "variables.sealed.all(k, variables.oldAnnotations[?k] == variables.newAnnotations[?k])": (
                "annotations slackwater.io/declared-*, admitted-role and shrunk are written at creation and never "
                "change; delete the pod and create it again"
            ),
            f"{parked} || variables.mayRelease": (
                f"the annotation {names.PARKED} is written by Slackwater; to change it by hand you need {VERB}"
            ),
        },
    )


def _same(part: str, field: str, nothing: str) -> str:
    """Whether an update leaves a field as it was."""
    return f"object.{part}.?{field}.orValue({nothing}) == oldObject.{part}.?{field}.orValue({nothing})"


def _operator(user: str) -> Manifest:
    """What the operator itself may change, so that its right to patch pods is not a right to everything in them."""
    same_spec = " && ".join(_same("spec", field, "[]") for field in ("containers", "initContainers", "tolerations"))
    same_status = " && ".join(
        [
            *(f"object.status.?{field} == oldObject.status.?{field}" for field in ("phase", "podIP", "hostIP")),
            *(_same("status", field, "[]") for field in ("conditions", "containerStatuses")),
        ]
    )
    part = "request.?subResource.orValue('')"
    return _policy(
        "slackwater-guard-operator",
        constraints={"resourceRules": [_updates("pods", "pods/status")]},
        # Nobody else's updates (kubelets, schedulers) ever meet this policy.
        conditions={"operator": f"request.userInfo.username == '{user}'"},
        validations={
            f"{part} != '' || ({same_spec})": "the Slackwater operator may change gates and annotations of pods only",
            f"{part} != 'status' || ({same_status})": (
                "the Slackwater operator may change nominatedNodeName in the status of pods only"
            ),
        },
    )


def _policy(
    name: str,
    *,
    constraints: Manifest,
    validations: dict[str, str],
    variables: dict[str, str] | None = None,
    conditions: dict[str, str] | None = None,
) -> Manifest:
    spec: Manifest = {"failurePolicy": "Fail", "matchConstraints": constraints}
    for field, entries in (("matchConditions", conditions), ("variables", variables)):
        if entries:
            spec[field] = [{"name": key, "expression": text} for key, text in entries.items()]
    spec["validations"] = [
        {"expression": text, "message": message, "reason": "Forbidden"} for text, message in validations.items()
    ]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": spec,
    }


def _binding(name: str) -> Manifest:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def _updates(*resources: str) -> Manifest:
    return {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": list(resources)}
