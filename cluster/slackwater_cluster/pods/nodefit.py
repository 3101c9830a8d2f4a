"""Whether a pod may use a node: node selector, required node affinity and taints, as kube-scheduler judges them."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from slackwater_cluster.objects.records import Constraints, NodeRecord, Requirement, Tolerated

# A taint with this effect only makes a node less liked; it refuses nobody.
_SOFT = "PreferNoSchedule"
NAME_FIELD = "metadata.name"
# Of 64 bits, as Kubernetes compares them.
_WHOLE = re.compile(r"[+-]?[0-9]{1,64}")
# Taints that Kubernetes sets and lifts by itself while the node lives. Not those of a lost one, which may never return.
_PASSING = tuple(
    Tolerated(f"node.kubernetes.io/{name}", "Exists", "", "")
    for name in ("memory-pressure", "disk-pressure", "pid-pressure", "network-unavailable")
)
# Set and lifted by people.
_CORDON = Tolerated("node.kubernetes.io/unschedulable", "Exists", "", "")


def allows(constraints: Constraints, node: NodeRecord) -> bool:
    """Whether the pod's selector, affinity and tolerations accept the node."""
    return (
        carries(node, constraints.selector)
        and _affine(constraints, node)
        and tolerates(constraints.tolerations, node.taints)
    )


def in_time(constraints: Constraints) -> Constraints:
    """The same for a pod that can wait until passing taints are lifted: pressure, a network to come."""
    return _tolerating(constraints, *_PASSING)


def shut(constraints: Constraints, node: NodeRecord) -> bool:
    """Whether the node would take the pod, were it not for a cordon or a taint that passes."""
    return not takes(constraints, node) and allows(_tolerating(constraints, *_PASSING, _CORDON), node)


def takes(constraints: Constraints, node: NodeRecord) -> bool:
    """Whether the node takes the pod now."""
    return node.open and allows(constraints, node)


def _tolerating(constraints: Constraints, *more: Tolerated) -> Constraints:
    return msgspec.structs.replace(constraints, tolerations=(*constraints.tolerations, *more))


def obstacle(constraints: Constraints, node: NodeRecord) -> str:
    """What keeps the pod off the node, in words; "" where nothing does."""
    if not carries(node, constraints.selector):
        return "node selector of the pod"
    if not _affine(constraints, node):
        return "node affinity of the pod"
    for taint in node.taints:
        if not tolerates(constraints.tolerations, [taint]):
            return f"taint {taint[0]}"
    return ""


def carries(node: NodeRecord, selector: Iterable[tuple[str, str]]) -> bool:
    """Whether a node has each of these labels."""
    return all(node.labels.get(key) == value for key, value in selector)


def tolerates(tolerations: Iterable[Tolerated], taints: Iterable[tuple[str, str, str]]) -> bool:
    """Whether every hard taint is tolerated."""
    return all(
        effect == _SOFT or any(_covers(each, key, value, effect) for each in tolerations)
        for key, value, effect in taints
    )


def _covers(toleration: Tolerated, key: str, value: str, effect: str) -> bool:
    if toleration.effect not in ("", effect):
        return False
    if toleration.key not in ("", key):
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.key == key and toleration.value == value
        case "Gt" | "Lt":
            return toleration.key == key and _compared(toleration.operator, value, toleration.value)
        case _:  # of a Kubernetes that we do not know: the scheduler judges anyway
            return True


def _compared(operator: str, value: str | None, bound: str) -> bool:
    """Whether a value is above (Gt) or below (Lt) a bound; both must be whole numbers."""
    have, limit = whole_number(value), whole_number(bound)
    if have is None or limit is None:
        return False
    return have > limit if operator == "Gt" else have < limit


def whole_number(text: str | None) -> int | None:
    """The number that a text is to Kubernetes where it compares; None where it is none."""
    found = int(text) if text is not None and _WHOLE.fullmatch(text) else None
    return found if found is not None and -(2**63) <= found < 2**63 else None


def _affine(constraints: Constraints, node: NodeRecord) -> bool:
    if constraints.terms is None:
        return True
    # A term without any requirement matches nothing, as in Kubernetes.
    return any(term and all(_holds(each, node) for each in term) for term in constraints.terms)


def _holds(requirement: Requirement, node: NodeRecord) -> bool:
    if requirement.field:
        return meets(requirement, node.name if requirement.key == NAME_FIELD else None)
    return meets(requirement, node.labels.get(requirement.key))


def meets(requirement: Requirement, found: str | None) -> bool:
    """Whether a node whose label has this value, or has no such label, meets a requirement."""
    match requirement.operator:
        case "In":
            return found is not None and found in requirement.values
        case "NotIn":
            return found is None or found not in requirement.values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt":
            return _compared(requirement.operator, found, requirement.values[0] if requirement.values else "")
        case _:
            return False
