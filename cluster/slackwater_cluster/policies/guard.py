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
    gated = f"spec.?schedulingGates.orValue([]).exists(g, g.name == '{names.GATE}')"
    before, after = (f"{which}.metadata.?annotations.orValue({{}})" for which in ("oldObject", "object"))
    return _policy(
        "slackwater-guard",
        constraints={
            "namespaceSelector": {"matchLabels": {names.MANAGED: "true"}},
            # Annotations can be changed through the subresources too.
            "resourceRules": [_updates("pods", "pods/status", "pods/resize", "pods/ephemeralcontainers")],
        },
        # Who may lift gates is plain RBAC, by a verb of our own: the operator, and whom an administrator trusts.
        rules={
            f"!oldObject.{gated} || object.{gated} || {MAY_RELEASE}": (
                f"the gate {names.GATE} is lifted by Slackwater; to lift it by hand you need {VERB} "
                "(slackwater release POD)"
            ),
            f"{cel.listed(names.SEALED)}.all(k, {before}[?k] == {after}[?k])": (
                "annotations slackwater.io/declared-*, admitted-role and shrunk are written at creation and never "
                "change; delete the pod and create it again"
            ),
            f"{before}[?'{names.PARKED}'] == {after}[?'{names.PARKED}'] || {MAY_RELEASE}": (
                f"the annotation {names.PARKED} is written by Slackwater; to change it by hand you need {VERB}"
            ),
        },
    )


def _same(part: str, field: str) -> str:
    """Whether an update leaves a list as it was; one that is absent is an empty one."""
    return f"object.{part}.?{field}.orValue([]) == oldObject.{part}.?{field}.orValue([])"


def _operator(user: str) -> Manifest:
    """What the operator itself may change, so that its right to patch pods is not a right to everything in them."""
    same_spec = " && ".join(_same("spec", field) for field in ("containers", "initContainers", "tolerations"))
    same_status = " && ".join(
        [
            *(f"object.status.?{field} == oldObject.status.?{field}" for field in ("phase", "podIP", "hostIP")),
            *(_same("status", field) for field in ("conditions", "containerStatuses")),
        ]
    )
    part = "request.?subResource.orValue('')"
    return _policy(
        "slackwater-guard-operator",
        constraints={"resourceRules": [_updates("pods", "pods/status")]},
        # Nobody else's updates (kubelets, schedulers) ever meet this policy.
        conditions={"operator": f"request.userInfo.username == '{user}'"},
        rules={
            f"{part} != '' || ({same_spec})": "the Slackwater operator may change gates and annotations of pods only",
            f"{part} != 'status' || ({same_status})": (
                "the Slackwater operator may change nominatedNodeName in the status of pods only"
            ),
        },
    )


def _policy(
    name: str, *, constraints: Manifest, rules: dict[str, str], conditions: dict[str, str] | None = None
) -> Manifest:
    """A policy of rules, each with what is said to those who break it.

    The API server converts the pod anew for conditions, for rules, for messages and for audit annotations. So a
    condition looks first whether any rule is broken: an update that breaks none, as nearly all do, costs a quarter.
    """
    conditions = (conditions or {}) | {"breaks-a-rule": "!(" + " && ".join(f"({rule})" for rule in rules) + ")"}
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": constraints,
            "matchConditions": [{"name": key, "expression": text} for key, text in conditions.items()],
            "validations": [
                {"expression": text, "message": message, "reason": "Forbidden"} for text, message in rules.items()
            ],
        },
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
