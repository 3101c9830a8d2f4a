"""The MutatingAdmissionPolicy: scheduler, gate, declared requests, role; and lower requests for known tasks.

It runs inside the API server, so there is no webhook that could be down. `ApplyConfiguration` only: on 1.36 a JSONPatch
whose value is a list of objects makes the API server panic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slackwater_cluster import names
from slackwater_cluster.apps.frameworks import RoleRule
from slackwater_cluster.governance import exempt
from slackwater_cluster.policies import cel

NAME = "slackwater-pods"
OTHERS = f"{NAME}-others"
# The role and its binding that let the operator's account hold pods. Without the binding no pod is changed any more.
HOLDING = "slackwater-holding"
OPERATOR_ACCOUNT = "slackwater-operator"
HOLD_VERB = "hold"
DAEMONS = ("system:serviceaccount:kube-system:daemon-set-controller", "system:kube-controller-manager")
# Whether a pod's creator wrote what only we may write.
FORGED = f"{cel.listed(names.SEALED)}.exists(k, k in object.metadata.?annotations.orValue({{}}))"

Manifest = dict[str, Any]


def mutating(rules: Sequence[RoleRule]) -> list[Manifest]:
    """The policy and its bindings."""
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": NAME},
        "spec": {
            # Ignore would let pods in that are neither gated nor shrunk, and nobody would notice.
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "paramKind": {"apiVersion": names.API_VERSION, "kind": "SlackPolicy"},
            "matchConstraints": match(),
            "matchConditions": [
                {"name": name, "expression": text}
                for name, text in (conditions() | {"somebody-leads": somebody_leads()}).items()
            ],
            "variables": [{"name": name, "expression": text} for name, text in _variables(rules)],
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": _mutation()}}],
        },
    }
    return [*holding(), policy, *bindings()]


def bindings() -> list[Manifest]:
    """Which SlackPolicy a namespace's pods meet; no namespace is matched by two of them.

    Each SlackPolicy that a binding finds costs the API server an evaluation of the whole policy for each new pod. So a
    namespace without the label meets `default` alone, and one that names a policy meets that one, where the chart knows
    it (it adds a binding for each of its values `policies`). Policies that were made by hand are found by the last
    binding, which tries all of them; the variable `mine` lets one act.
    """
    label = {"key": names.POLICY}
    known = [names.DEFAULT_POLICY]
    by_name = {"name": names.DEFAULT_POLICY}
    return [
        _binding(NAME, [{**label, "operator": "DoesNotExist"}], by_name),
        _binding(f"slackwater-policy-{names.DEFAULT_POLICY}", [{**label, "operator": "In", "values": known}], by_name),
        _binding(
            OTHERS,
            [{**label, "operator": "Exists"}, {**label, "operator": "NotIn", "values": known}],
            {"selector": {}},
        ),
    ]


def _binding(name: str, namespaces: list[Manifest], policies: Manifest) -> Manifest:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": NAME,
            "paramRef": {**policies, "parameterNotFoundAction": "Allow"},
            "matchResources": {"namespaceSelector": {"matchExpressions": namespaces}},
        },
    }


def holding() -> list[Manifest]:
    """The dead-man switch, in plain RBAC: CEL has no clock, so a watchdog empties this binding when nobody leads."""
    rbac = "rbac.authorization.k8s.io"
    account = {"kind": "ServiceAccount", "name": OPERATOR_ACCOUNT, "namespace": names.SYSTEM_NAMESPACE}
    return [
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": HOLDING},
            "rules": [{"apiGroups": [names.GROUP], "resources": [names.RELEASE_RESOURCE], "verbs": [HOLD_VERB]}],
        },
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": HOLDING},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": HOLDING},
            "subjects": [account],
        },
    ]


def match() -> Manifest:
    """Creations of pods in managed namespaces, but for those that are never managed."""
    return {
        "namespaceSelector": {
            "matchExpressions": [
                {"key": names.MANAGED, "operator": "In", "values": ["true"]},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(exempt())},
            ]
        },
        "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
    }


def somebody_leads() -> str:
    """Whether the dead-man switch is on."""
    account = f"authorizer.serviceAccount('{names.SYSTEM_NAMESPACE}', '{OPERATOR_ACCOUNT}')"
    return f"{account}.group('{names.GROUP}').resource('{names.RELEASE_RESOURCE}').check('{HOLD_VERB}').allowed()"


def conditions() -> dict[str, str]:
    """Which pods the policy writes to; the guard refuses its annotations on all others."""
    return {
        "only-stock-or-our-scheduler": (
            f"object.spec.?schedulerName.orValue('default-scheduler') in ['default-scheduler', '{names.SCHEDULER}']"
        ),
        # A gate beside spec.nodeName is refused by validation.
        "not-bound-at-creation": "object.spec.?nodeName.orValue('') == ''",
        "not-mirror": "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({}))",
        # Anyone could write an owner reference; only the controller is believed.
        "not-from-a-daemonset": (
            f"!(request.userInfo.username in {cel.listed(DAEMONS)} && "
            "object.metadata.?ownerReferences.orValue([])"
            ".exists(o, o.kind == 'DaemonSet' && o.?controller.orValue(false)))"
        ),
    }


def _variables(rules: Sequence[RoleRule]) -> list[tuple[str, str]]:
    policy = f"namespaceObject.metadata.?labels[?'{names.POLICY}'].orValue('{names.DEFAULT_POLICY}')"
    return [
        # namespaceObject is empty in matchConditions, so the choice of the policy stands here.
        ("mine", f"{policy} == params.metadata.name"),
        ("enforce", "variables.mine && params.spec.mode == 'enforce'"),
        ("labels", "object.metadata.?labels.orValue({})"),
        # In mode observe a pod stays as it is, unless its creator forged what only this policy may write.
        ("forged", FORGED),
        ("acts", "variables.mine && (params.spec.mode != 'observe' || variables.forged)"),
        ("role", cel.role(rules)),
        ("shrink", f"variables.enforce && variables.role == '{names.TASK}'"),
        ("podLevel", "has(object.spec.resources) && has(object.spec.resources.requests)"),
        ("inits", "object.spec.?initContainers.orValue([])"),
        ("sidecars", "variables.inits.filter(c, c.?restartPolicy.orValue('') == 'Always')"),
        *(each for kind in (cel.CPU, cel.MEMORY) for each in _sizes(kind)),
    ]


def _sizes(kind: str) -> list[tuple[str, str]]:
    """D of one kind: what the scheduler would count for the pod as its creator wrote it."""
    name = kind.capitalize()
    overhead = cel.whole(kind, f"object.spec.?overhead[?'{kind}'].orValue('0')")
    pod_level = cel.whole(kind, f"object.spec.resources.requests['{kind}']")
    larger = f"size(variables.inits) > 0 && variables.init{name} > variables.main{name}"
    return [
        (f"side{name}", cel.summed("variables.sidecars", kind)),
        (f"main{name}", f"{cel.summed('object.spec.containers', kind)} + variables.side{name}"),
        # An init container runs beside the sidecars declared before it; counting all of them is never too small.
        (
            f"init{name}",
            (
                "variables.inits.map(c, c.?restartPolicy.orValue('') == 'Always' ? 0 : "
                f"{cel.asked('c', kind)} + variables.side{name}).max()"
            ),
        ),
        # spec.resources, where present, replaces the sum of the containers.
        (
            f"declared{name}",
            (
                f"{overhead} + ({cel.request('object.spec', kind)}.hasValue() ? {pod_level} : "
                f"({larger} ? variables.init{name} : variables.main{name}))"
            ),
        ),
    ]


def _mutation() -> str:
    """Everything in one patch: each further one costs the API server another merge of the whole pod."""
    ceiling = "string(params.spec.ceiling.cpuPercent) + '/' + string(params.spec.ceiling.memoryPercent)"
    return f"""!variables.acts ? Object{{}} : Object{{
  metadata: Object.metadata{{annotations: {{
    '{names.DECLARED_CPU}': string(variables.declaredCpu) + 'm',
    '{names.DECLARED_MEMORY}': string(variables.declaredMemory),
    '{names.ADMITTED_ROLE}': variables.role,
    '{names.SHRUNK}': variables.shrink ? {ceiling} : '100/100'
  }}}},
  spec: Object.spec{{
{_fields()}
  }}
}}"""


def _fields() -> str:
    """What changes in the spec, as optional fields: one that is absent leaves the pod's own as it is."""
    fields = {
        "schedulerName": ("params.spec.mode != 'observe'", f"'{names.SCHEDULER}'"),
        "schedulingGates": ("variables.enforce", f"[Object.spec.schedulingGates{{name: '{names.GATE}'}}]"),
        "containers": ("variables.shrink", _containers("containers")),
        "initContainers": ("variables.shrink && size(variables.inits) > 0", _containers("initContainers")),
        "resources": ("variables.shrink && variables.podLevel", _pod_level()),
    }
    return ",\n".join(
        f"    ?{name}: {condition} ? optional.of({value}) : optional.none()"
        for name, (condition, value) in fields.items()
    )


def _containers(field: str) -> str:
    """The containers, or the init containers and sidecars, of a task with lower requests."""
    kind = f"Object.spec.{field}"
    requests = cel.lowered_requests("c").replace("\n", "\n      ")
    return f"""object.spec.{field}.map(c, {kind}{{name: c.name, resources: {kind}.resources{{requests:
      {requests}}}}})"""


def _pod_level() -> str:
    """Lower pod-level requests too: the sum of the containers must stay within them, and the scheduler reads these."""
    requests = cel.lowered_requests("object.spec").replace("\n", "\n      ")
    return f"""Object.spec.resources{{requests:
      {requests}}}"""
