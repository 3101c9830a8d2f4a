"""Which admission policies a write meets, worked out from their rules and selectors as an API server does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

Object = Mapping[str, Any]


class Write(NamedTuple):
    """A request that changes something of the core group, in a namespace with these labels."""

    operation: str
    resource: str  # pods, or pods/status
    labels: Mapping[str, str]


def met(objects: Sequence[Object], kind: str, write: Write) -> list[str]:
    """The names of the bindings, to policies of a kind, that a write meets."""
    policies = {each["metadata"]["name"]: each["spec"]["matchConstraints"] for each in objects if each["kind"] == kind}
    bindings = [each for each in objects if each["kind"] == f"{kind}Binding"]
    return [
        each["metadata"]["name"]
        for each in bindings
        if matches(policies[each["spec"]["policyName"]], write)
        and matches(each["spec"].get("matchResources", {}), write)
    ]


def matches(constraints: Object, write: Write) -> bool:
    """Whether constraints let a write through; what is absent constrains nothing."""
    rules = constraints.get("resourceRules")
    assert "excludeResourceRules" not in constraints, "not known here"
    assert "objectSelector" not in constraints, "not known here"
    return selects(constraints.get("namespaceSelector", {}), write.labels) and (
        rules is None or any(_covers(rule, write) for rule in rules)
    )


def _covers(rule: Object, write: Write) -> bool:
    return (
        "" in rule["apiGroups"]
        and bool({write.operation, "*"} & set(rule["operations"]))
        and bool({write.resource, "*/*", *_wildcards(write.resource)} & set(rule["resources"]))
    )


def _wildcards(resource: str) -> set[str]:
    """How else a rule may name a resource: `*` is everything but subresources."""
    whole, _, part = resource.partition("/")
    return {f"{whole}/*", f"*/{part}"} if part else {"*", f"{whole}/*"}


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a label selector takes labels."""
    exact = selector.get("matchLabels", {})
    return all(labels.get(key) == value for key, value in exact.items()) and all(
        _holds(each, labels) for each in selector.get("matchExpressions", [])
    )


def _holds(expression: Object, labels: Mapping[str, str]) -> bool:
    present, value = expression["key"] in labels, labels.get(expression["key"])
    match expression["operator"]:
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
    raise AssertionError(f"unknown operator {expression['operator']}")
