"""The ValidatingAdmissionPolicies: who may lift a gate or park a pod, what is sealed, what the operator may change.

And our definitions stay as long as the policies do: without the kind of its parameter the API server would refuse every
pod of managed namespaces after its next start.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from slackwater_cluster import names
from slackwater_cluster.admissionpolicies import cel
from slackwater_cluster.admissionpolicies.mutating import NAME as MUTATING
from slackwater_cluster.admissionpolicies.mutating import WATCHDOG_NAMESPACE, somebody_leads
from slackwater_cluster.admissionpolicies.mutating import conditions as written_conditions
from slackwater_cluster.governance import exempt
from slackwater_cluster.pods.gate import MARKS

OPERATOR = f"system:serviceaccount:{names.SYSTEM_NAMESPACE}:slackwater-operator"

DEFINITIONS = "slackwater-guard-definitions"
PLURALS = ("slackpolicies", "admissionqueues", "reservationpools", "trackedapps")

Manifest = dict[str, Any]

MAY_RELEASE = (
    f"authorizer.group('{names.GROUP}').resource('{names.RELEASE_RESOURCE}').namespace(request.namespace)"
    f".check('{names.RELEASE_VERB}').allowed()"
)
EDITS = "authorizer.group('').resource('pods').namespace(request.namespace).check('update').allowed()"
GATED = f"{{}}.spec.?schedulingGates.orValue([]).exists(g, g.name == '{names.GATE}')"
IN_MANAGED: Manifest = {"matchLabels": {names.MANAGED: "true"}}
IN_OTHERS: Manifest = {"matchExpressions": [{"key": names.MANAGED, "operator": "NotIn", "values": ["true"]}]}
# Annotations can be changed through the subresources too.
CHANGED = ("pods", "pods/status", "pods/resize", "pods/ephemeralcontainers")
# Of a pod. To compare them one by one costs an API server time in the square of their number: 10 s for 20,000, of which
# twice as many fit into a pod.
MOST_ANNOTATIONS = 1000
COMPARED = 2 * MOST_ANNOTATIONS  # to those that a pod may have the operator adds some of its own
MANY = (
    f"a pod of a managed namespace may have {MOST_ANNOTATIONS} annotations, ours among them; "
    "put long lists into a ConfigMap"
)
VERB = f"the verb '{names.RELEASE_VERB}' on {names.RELEASE_RESOURCE}.{names.GROUP}"


def guard(operator: str = OPERATOR) -> list[Manifest]:
    """The policies and their bindings. `operator` is the user name the operator appears under.

    Their matches are disjoint: a write of a pod meets one of them at most, because each that it meets costs the API
    server another conversion of the pod.
    """
    policies = [
        _updates(operator),
        _elsewhere(operator),
        _creations(),
        _priority(),
        _evictions(operator),
        _bindings(),
        _definitions(),
    ]
    return [each for policy in policies for each in (policy, _binding(policy["metadata"]["name"]))]


def _updates(operator: str) -> Manifest:
    """Every change to a pod of a managed namespace."""
    before, after = (f"{which}.metadata.?annotations.orValue({{}})" for which in ("oldObject", "object"))
    stays = f"!{GATED.format('oldObject')} || {GATED.format('object')}"
    unmarked = f"{before}[?'{names.PARKED}'] == {after}[?'{names.PARKED}']"
    # Who may lift gates is plain RBAC, by a verb of our own: the operator, and whom an administrator trusts.
    verbs = {
        f"{stays} || {MAY_RELEASE}": (
            f"the gate {names.GATE} is lifted by Slackwater; to lift it by hand you need {VERB} "
            "(slackwater release POD)"
        ),
        f"{unmarked} || {MAY_RELEASE}": (
            f"the annotation {names.PARKED} is written by Slackwater; to change it by hand you need {VERB}"
        ),
    }
    # First: what is refused for it is not looked at further. Pods that have more already stay as they are.
    stays_few = f"size({after}) <= {MOST_ANNOTATIONS} || size({after}) <= size({before})"
    few = {f"{stays_few} || !({_others(operator)})": MANY}
    sealed = {
        f"{cel.listed(names.SEALED)}.all(k, {before}[?k] == {after}[?k])": (
            "annotations slackwater.io/declared-*, admitted-role and shrunk are written at creation and never "
            "change; delete the pod and create it again"
        ),
        **_of_the_operator(operator),
    }
    bounded = _bounded(operator)
    # The rules about rights in one: each question to an authorizer costs a third of what an expression may, and asked
    # rule by rule an edit that lifts a gate and changes something else would come to three. Here it is two at most.
    rights = (
        f"(({stays}) && {unmarked}) ? ({bounded} || !{MAY_RELEASE} || {EDITS}) : "
        f"({MAY_RELEASE} && ({bounded} || {EDITS}))"
    )
    return _policy(
        "slackwater-guard",
        constraints=_constraints("UPDATE", *CHANGED, namespaces=IN_MANAGED),
        rules={**few, **verbs, **sealed, **_of_releasers(operator)},
        kept=[*few, *sealed, rights],
    )


def _elsewhere(operator: str) -> Manifest:
    """Changes to pods of all other namespaces: what bounds the operator and releasers there.

    A pod is ours to change there while it names our scheduler: gates are lifted, too, after the namespace's label was
    taken away.
    """
    ours = f"oldObject.spec.?schedulerName.orValue('') == '{names.SCHEDULER}'"
    return _policy(
        "slackwater-guard-elsewhere",
        constraints=_constraints("UPDATE", *CHANGED, namespaces=IN_OTHERS),
        rules={
            f"{_others(operator)} || {ours}": f"the Slackwater operator may change, {BOUND}",
            **_of_the_operator(operator),
            **_of_releasers(operator),
        },
    )


def _creations() -> Manifest:
    """What a creator forged is overwritten on the pods that the policy or the webhook writes to.

    Here the others are refused: those that are never written to, and all of them while the dead-man switch is off.
    """
    annotations = "object.metadata.?annotations.orValue({})"
    inside = f"!(request.namespace in {cel.listed(exempt(watchdog_namespace=WATCHDOG_NAMESPACE))})"
    written = " && ".join(f"({text})" for text in (inside, *written_conditions().values(), somebody_leads()))
    return _policy(
        "slackwater-guard-creations",
        constraints=_constraints("CREATE", "pods", namespaces=IN_MANAGED),
        rules={
            f"size({annotations}) <= {MOST_ANNOTATIONS}": MANY,
            f"!{cel.listed(names.SEALED)}.exists(k, k in {annotations}) || ({written})": (
                "annotations slackwater.io/declared-*, admitted-role and shrunk are written by Slackwater alone, and "
                "never on a pod that names its node, another scheduler or a DaemonSet, nor in namespaces that are "
                "never managed, nor while no operator leads; remove them"
            ),
            f"!('{names.PARKED}' in {annotations})": (
                f"the annotation {names.PARKED} is written by Slackwater alone; remove it"
            ),
            **_reserved_priority(),
        },
    )


def _priority() -> Manifest:
    """What is asked of new pods in all other namespaces."""
    return _policy(
        "slackwater-guard-priority",
        constraints=_constraints("CREATE", "pods", namespaces=IN_OTHERS),
        rules=_reserved_priority(),
    )


def _reserved_priority() -> dict[str, str]:
    """Above every workload and preempting: for our own programs where they run, and for the cluster's own."""
    own = cel.listed((names.SYSTEM_NAMESPACE, "kube-system", WATCHDOG_NAMESPACE))
    return {
        f"object.spec.?priorityClassName.orValue('') != '{names.CONTROL_PRIORITY}' || request.namespace in {own}": (
            f"the PriorityClass {names.CONTROL_PRIORITY} is for Slackwater's own programs; name another one"
        ),
    }


def _same(*fields: str) -> str:
    """Whether an update leaves fields as they were, or absent."""
    return " && ".join(f"{_field('object', each)} == {_field('oldObject', each)}" for each in fields)


def _field(holder: str, path: str) -> str:
    """A field as an optional, so that absent ones can be compared too."""
    first, *rest = path.split(".")
    return f"{holder}.?{'.?'.join([first, *rest])}"


def _same_annotations(but: str = f"k.startsWith('{names.PREFIX}')") -> str:
    """Whether an update leaves all annotations as they were, but for some; ours unless told."""
    both = ("object", "oldObject")
    before, after = (f"{which}.metadata.?annotations.orValue({{}})" for which in reversed(both))
    few = " && ".join(f"size({each}) <= {COMPARED}" for each in (before, after))
    return f"{few} && {after}.all(k, {but} || {before}[?k] == {after}[?k]) && {before}.all(k, {but} || k in {after})"


def _same_gates() -> str:
    """Whether an update leaves the gates of others as they were: a queue of another system holds its pods by them."""
    before, after = (
        f"{which}.spec.?schedulingGates.orValue([]).filter(g, g.name != '{names.GATE}')"
        for which in ("oldObject", "object")
    )
    return f"{before} == {after}"


METADATA = ("metadata.labels", "metadata.ownerReferences", "metadata.finalizers")
# What the API server would let an update of a pod change, but for gates; selectors and affinity while a pod is gated.
SPEC = (
    "spec.containers",
    "spec.initContainers",
    "spec.ephemeralContainers",
    "spec.tolerations",
    "spec.activeDeadlineSeconds",
    "spec.terminationGracePeriodSeconds",
    "spec.nodeSelector",
    "spec.affinity",
)
STATUS = (
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.hostIP",
    "status.conditions",
    "status.containerStatuses",
    "status.initContainerStatuses",
    "status.ephemeralContainerStatuses",
    "status.startTime",
    "status.qosClass",
    "status.message",
    "status.reason",
    "status.resourceClaimStatuses",
)
BOUND = "in pods of managed namespaces, our gate and slackwater.io/ annotations only"
PART = "request.?subResource.orValue('')"


def _others(operator: str) -> str:
    """Whether somebody else writes; kubelets and schedulers, who write most, are let go here."""
    return f"request.userInfo.username != '{operator}'"


def _of_the_operator(user: str) -> dict[str, str]:
    """What the operator itself may change, so that its right to patch pods is not a right to everything in them."""
    others = _others(user)
    return {
        f"{others} || ({_same(*METADATA)} && {_same_annotations()})": f"the Slackwater operator may change, {BOUND}",
        f"{others} || {PART} in ['status', 'resize'] || ({_same(*SPEC)} && {_same_gates()})": (
            f"the Slackwater operator may change, {BOUND}"
        ),
        f"{others} || {PART} != 'status' || ({_same(*STATUS)})": (
            "the Slackwater operator may change nominatedNodeName in the status of pods only"
        ),
    }


def _bounded(operator: str) -> str:
    """Whether an update changes nothing but what releasers may; the operator and the subresources have other rules."""
    marks = f"k in {cel.listed(MARKS)}"
    same = f"{_same(*METADATA, *SPEC)} && {_same_gates()} && {_same_annotations(marks)}"
    return f"request.userInfo.username == '{operator}' || {PART} != '' || ({same})"


def _of_releasers(operator: str) -> dict[str, str]:
    """People with the role `slackwater-releaser`, and programs that lift gates: their right to patch pods is bounded.

    They are known by what they may: lift gates, and patch pods, but not update them, as those may who edit pods anyway.
    """
    # Rights are looked at last, because an authorizer may be asked far away.
    return {
        f"{_bounded(operator)} || !{MAY_RELEASE} || {EDITS}": (
            f"who may lift gates may change, in pods, our gate and {' and '.join(MARKS)} only"
        ),
    }


def _evictions(user: str) -> Manifest:
    """Where the operator was given the right to evict, it evicts from managed namespaces only."""
    return _policy(
        "slackwater-guard-evictions",
        constraints=_constraints("CREATE", "pods/eviction", namespaces=IN_OTHERS),
        rules={_others(user): "the Slackwater operator may evict pods of managed namespaces only"},
    )


def _bindings() -> Manifest:
    """The API server merges the annotations of a Binding into its pod, and asks no admission about that update.

    Kube-scheduler binds every pod, always without annotations: then nothing is looked for.
    """
    ours = cel.listed((*names.SEALED, names.PARKED))
    return _policy(
        "slackwater-guard-bindings",
        constraints=_constraints("CREATE", "pods/binding", "bindings", namespaces=IN_MANAGED),
        rules={
            f"!has(object.metadata.annotations) || !{ours}.exists(k, k in object.metadata.annotations)": (
                "a binding must not carry annotations slackwater.io/declared-*, admitted-role, shrunk or parked: they "
                "would overwrite those of the pod; remove them"
            )
        },
    )


def _definitions() -> Manifest:
    """Deleting a definition deletes all of its objects, too. Leaving the cluster takes this policy along first."""
    rule = {
        "apiGroups": ["apiextensions.k8s.io"],
        "apiVersions": ["v1"],
        "operations": ["DELETE"],
        "resources": ["customresourcedefinitions"],
        "resourceNames": [f"{plural}.{names.GROUP}" for plural in PLURALS],
    }
    message = (
        "Slackwater's definitions are in use: after its next start the API server would refuse every pod of managed "
        f"namespaces; uninstall Slackwater first, or delete the MutatingAdmissionPolicy {MUTATING} and then the "
        f"ValidatingAdmissionPolicy {DEFINITIONS}"
    )
    return _policy(DEFINITIONS, constraints={"resourceRules": [rule]}, rules={"false": message})


def _policy(name: str, *, constraints: Manifest, rules: dict[str, str], kept: Iterable[str] = ()) -> Manifest:
    """A policy of rules, each with what is said to those who break it.

    The API server converts the pod anew for conditions, for rules, for messages and for audit annotations. So a
    condition looks first whether any rule is broken: an update that breaks none, as nearly all do, costs a quarter.
    `kept` says the same as all rules together, where that can be had for less.
    """
    broken = "!(" + " && ".join(f"({rule})" for rule in kept or rules) + ")"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": constraints,
            "matchConditions": [{"name": "breaks-a-rule", "expression": broken}],
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


def _constraints(operation: str, *resources: str, namespaces: Manifest) -> Manifest:
    """An operation on pods, or parts of them, in some namespaces."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": [operation], "resources": list(resources)}
    return {"namespaceSelector": namespaces, "resourceRules": [rule]}
