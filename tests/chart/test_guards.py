"""What a write of a pod costs in admission: the policies of the rendered chart that it meets, one at most."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest

from slackwater_cluster.admissionpolicies.mutating import WATCHDOG_NAMESPACE
from support.builders.matching import Write, met, selects
from support.lab.chart import objects, text

NEWEST = "1.37.1"
GUARD, CHANGE = "ValidatingAdmissionPolicy", "MutatingAdmissionPolicy"
MANAGED, POLICY = "slackwater.io/managed", "slackwater.io/policy"
OPTIONS = {
    "default": (),
    "everything": ("--set=policies.first.spec.mode=enforce,policies.mine.create=false,operator.may.evict=true",),
    "webhook": ("--set=admission.mutating=webhook",),
}
PARTS = ("", "status", "resize", "ephemeralcontainers", "eviction", "binding", "exec", "attach", "portforward", "proxy")
CHANGED = ("pods", "pods/status", "pods/resize", "pods/ephemeralcontainers")
NAMESPACES = [
    {"kubernetes.io/metadata.name": name, **labels}
    for name, labels in product(
        ("team", "kube-system", "slackwater-system"),
        ({}, {MANAGED: "true"}, {MANAGED: "false"}, {MANAGED: ""}, {MANAGED: "true", POLICY: "first"}, {POLICY: "x"}),
    )
]
WRITES = [
    Write(operation, f"pods/{part}" if part else "pods", labels)
    for operation, part, labels in product(("CREATE", "UPDATE", "DELETE", "CONNECT"), PARTS, NAMESPACES)
]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_no_write_of_a_pod_meets_two_guards(options: tuple[str, ...]) -> None:
    """Each guard that a write meets costs the API server another conversion of the pod, in every namespace."""
    found = objects(NEWEST, *options)
    many = {write: names for write in WRITES if len(names := met(found, GUARD, write)) > 1}
    assert many == {}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_every_creation_and_every_change_meets_a_guard(options: tuple[str, ...]) -> None:
    """Also in namespaces that are not managed: our operator's token is bounded there, too."""
    found = objects(NEWEST, *options)
    kept = [
        write
        for write in WRITES
        if (write.operation, write.resource) in {("CREATE", "pods"), *(("UPDATE", each) for each in CHANGED)}
    ]
    assert [write for write in kept if len(met(found, GUARD, write)) != 1] == []


@pytest.mark.parametrize(
    ("labels", "binding"),
    [
        ({}, "slackwater-pods"),
        ({POLICY: "default"}, "slackwater-policy-default"),
        ({POLICY: "first"}, "slackwater-policy-first"),
        ({POLICY: "mine"}, "slackwater-policy-mine"),
        ({POLICY: "made-by-hand"}, "slackwater-pods-others"),
        ({POLICY: ""}, "slackwater-pods-others"),
    ],
    ids=["no label", "default", "of the chart", "bound only", "made by hand", "empty"],
)
def test_a_new_pod_meets_one_binding(labels: dict[str, str], binding: str) -> None:
    """Two would lower its requests twice."""
    found = objects(NEWEST, *OPTIONS["everything"])
    team = {"kubernetes.io/metadata.name": "team", MANAGED: "true"}
    assert met(found, CHANGE, Write("CREATE", "pods", {**team, **labels})) == [binding]


def test_bindings_name_the_policy_that_their_namespaces_name() -> None:
    """And only the binding for names that the chart does not know tries every SlackPolicy."""
    refs = {name: spec["paramRef"] for name, spec in bindings().items()}
    prefix = "slackwater-policy-"
    named = {name.removeprefix(prefix): ref["name"] for name, ref in refs.items() if name.startswith(prefix)}
    assert named == {"default": "default", "first": "first", "mine": "mine"}
    assert refs["slackwater-pods"]["name"] == "default"
    assert [name for name, ref in refs.items() if "selector" in ref] == ["slackwater-pods-others"]


def bindings() -> dict[str, Any]:
    """What binds the policy that changes pods, by name."""
    found = objects(NEWEST, *OPTIONS["everything"])
    return {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == f"{CHANGE}Binding"}


def test_policies_of_the_values_are_written_unless_they_are_yours() -> None:
    """`create: false` binds a SlackPolicy that somebody else writes."""
    found = objects(NEWEST, *OPTIONS["everything"])
    modes = {each["metadata"]["name"]: each["spec"]["mode"] for each in found if each["kind"] == "SlackPolicy"}
    assert modes == {"default": "observe", "first": "enforce"}


WATCHDOGS = {
    "kube-system": (),
    "rescue": ("--set=watchdog.namespace=rescue",),
    "rescue, webhook": ("--set=watchdog.namespace=rescue,admission.mutating=webhook",),
    "none": ("--set=watchdog.enabled=false,watchdog.namespace=rescue",),
}


@pytest.mark.parametrize("options", WATCHDOGS.values(), ids=WATCHDOGS)
def test_our_programs_start_wherever_the_values_put_them(options: tuple[str, ...]) -> None:
    """The guard lets them name the PriorityClass that is theirs, and no gate of ours holds them."""
    found = objects(NEWEST, *options)
    ours = {each["metadata"]["namespace"] for each in found if each["kind"] == "Deployment"}
    rules = [rule["expression"] for each in found if each["kind"] == GUARD for rule in each["spec"]["validations"]]
    reserved = [rule for rule in rules if "priorityClassName" in rule]
    assert len(reserved) == 2  # managed namespaces and all others
    for rule in reserved:
        assert allowed(rule) == {"slackwater-system", "kube-system", *ours}
    for labels in ({"kubernetes.io/metadata.name": name, MANAGED: "true"} for name in ours):
        assert met(found, CHANGE, Write("CREATE", "pods", labels)) == []
        hooks = [hook for each in found for hook in each.get("webhooks", [])]
        assert not any(selects(hook["namespaceSelector"], labels) for hook in hooks)


def allowed(rule: str) -> set[str]:
    """The namespaces that a rule lists at its end."""
    return set(re.findall(r"'([^']+)'", rule.rpartition(" in ")[2]))


@pytest.mark.parametrize("options", WATCHDOGS.values(), ids=WATCHDOGS)
def test_no_placeholder_is_left(options: tuple[str, ...]) -> None:
    """Every policy says where the programs are in this release."""
    assert WATCHDOG_NAMESPACE not in text(NEWEST, *options)
