"""The MutatingAdmissionPolicy: scheduler, gate, declared requests, role; and lower requests for known tasks.

It runs inside the API server, so there is no webhook that could be down. It writes one JSON patch: `ApplyConfiguration`
would turn the whole pod into a typed value and back for the sake of a few fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slackwater_cluster import names
from slackwater_cluster.admissionpolicies import cel
from slackwater_cluster.frameworks import RoleRule
from slackwater_cluster.governance import exempt

NAME = "slackwater-pods"
OTHERS = f"{NAME}-others"
# The role and its binding that let the operator's account hold pods. Without the binding no pod is changed any more.
HOLDING = "slackwater-holding"
OPERATOR_ACCOUNT = "slackwater-operator"
HOLD_VERB = "hold"
# Stands for the namespace of the watchdog until the chart puts it in (value `watchdog.namespace`); as it is, with
# capitals, no namespace can have this name.
WATCHDOG_NAMESPACE = "WATCHDOG-NAMESPACE"
DAEMONS = ("system:serviceaccount:kube-system:daemon-set-controller", "system:kube-controller-manager")
# Whether a pod's creator wrote what only we may write.
FORGED = f"{cel.listed(names.SEALED)}.exists(k, k in object.metadata.?annotations.orValue({{}}))"

OPEN_GATE = "params.?status.?openGate.orValue(false)"
# Whether a pod asks for more than room.
ALWAYS_HELD = (
    f"{cel.listed(names.ALWAYS_HELD)}.exists(k, "
    "k in variables.labels || k in object.metadata.?annotations.orValue({}))"
)

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
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _mutation()}}],
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
    """Creations of pods in managed namespaces, but for those that are never managed.

    Nor in the watchdog's: it must start, or start anew elsewhere, while nobody is there to lift a gate.
    """
    never = list(exempt(watchdog_namespace=WATCHDOG_NAMESPACE))
    return {
        "namespaceSelector": {
            "matchExpressions": [
                {"key": names.MANAGED, "operator": "In", "values": ["true"]},
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": never},
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
        # While the gate is open, a task that asks for nothing but room comes without one.
        ("gated", f"variables.enforce && !({OPEN_GATE} && variables.shrink && !{ALWAYS_HELD})"),
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
    """Everything in one JSON patch: each further one costs the API server another copy of the whole pod."""
    parts = (
        _annotations(),
        _when("params.spec.mode != 'observe'", f"[{_add('/spec/schedulerName', cel.text(names.SCHEDULER))}]"),
        _when("variables.gated", _gates()),
        _when("variables.shrink", "\n  + ".join(_lowered())),
    )
    return "variables.acts ?\n" + "\n+ ".join(parts) + "\n: []"


def _annotations() -> str:
    """The sealed annotations: over those that a creator forged, beside all others."""
    ceiling = "string(params.spec.ceiling.cpuPercent) + '/' + string(params.spec.ceiling.memoryPercent)"
    sealed = {
        names.DECLARED_CPU: "string(variables.declaredCpu) + 'm'",
        names.DECLARED_MEMORY: "string(variables.declaredMemory)",
        names.ADMITTED_ROLE: "variables.role",
        names.SHRUNK: f"variables.shrink ? {ceiling} : '100/100'",
    }
    path = "/metadata/annotations"
    whole = ",\n  ".join(f"{cel.text(key)}: {value}" for key, value in sealed.items())
    single = ",\n  ".join(_add(f"{path}/{_escaped(key)}", value) for key, value in sealed.items())
    first = _add(path, f"{{\n  {whole}}}")
    return f"(has(object.metadata.annotations) ? [\n  {single}]\n: [{first}])"


def _gates() -> str:
    """Ours after those of others; one that the creator wrote keeps its place.

    As maps: a list of `Object{}` as the value of a JSON patch makes the API server of 1.36 panic.
    """
    path, ours = "/spec/schedulingGates", f"{{'name': {cel.text(names.GATE)}}}"
    present = f"object.spec.schedulingGates.exists(g, g.name == {cel.text(names.GATE)})"
    further = f"({present} ? [] : [{_add(f'{path}/-', ours)}])"
    return f"(has(object.spec.schedulingGates) ? {further} : [{_add(path, f'[{ours}]')}])"


def _lowered() -> list[str]:
    """Lower requests of every container, and of the pod itself: the sum of the containers must stay within them."""
    kinds = (cel.CPU, cel.MEMORY)
    containers = [_each(field, kind) for field in ("object.spec.containers", "variables.inits") for kind in kinds]
    return containers + [_pod_level(kind) for kind in kinds]


def _each(field: str, kind: str) -> str:
    """One kind of all containers, or of all init containers and sidecars, that request it."""
    path = f"'/spec/{FIELDS[field]}/' + string(i) + '/resources/requests/{kind}'"
    operation = _operation(path, cel.lowered("c", kind))
    return f"{field}.transformList(i, c, {cel.request('c', kind)}.hasValue(), {operation})"


FIELDS = {"object.spec.containers": "containers", "variables.inits": "initContainers"}


def _pod_level(kind: str) -> str:
    containers = "size(object.spec.containers) + size(variables.inits)"
    operation = _add(f"/spec/resources/requests/{kind}", cel.lowered_whole("object.spec", kind, containers))
    return _when(f"{cel.request('object.spec', kind)}.hasValue()", f"[{operation}]")


def _when(condition: str, operations: str) -> str:
    return f"({condition} ? {operations} : [])"


def _add(path: str, value: str) -> str:
    return _operation(cel.text(path), value)


def _operation(path: str, value: str) -> str:
    """In a JSON patch `add` replaces a field that is there."""
    return f"JSONPatch{{op: 'add', path: {path}, value: {value}}}"


def _escaped(key: str) -> str:
    """A key as part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")
