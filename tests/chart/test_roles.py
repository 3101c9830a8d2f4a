"""The roles are exactly what docs/reference/rbac.md explains, and hold nothing a security review would refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from support.lab.chart import LIVE, ROOT, objects

EVERYTHING = (
    "--set=monitor.enabled=true,prometheus.url=http://prometheus",
    "--set=operator.may.resize=true,operator.may.evict=true,admission.mutating=webhook",
)
PAGE = ROOT / "docs" / "reference" / "rbac.md"
HEADING = re.compile(r"^#+ ((?:Cluster)?Role slackwater-\S+)$")

# Group, resources, names, verbs.
Right = tuple[str, frozenset[str], frozenset[str], frozenset[str]]


def roles(*options: str) -> dict[str, list[dict[str, Any]]]:
    """The rules of every role, by kind and name."""
    return {
        f"{each['kind']} {each['metadata']['name']}": each["rules"]
        for each in objects("1.37.0", *LIVE, *options)
        if each["kind"] in ("Role", "ClusterRole")
    }


def granted() -> dict[str, set[Right]]:
    """What the chart grants with every switch on."""
    return {name: {right(rule) for rule in rules} for name, rules in roles(*EVERYTHING).items()}


def right(rule: dict[str, Any]) -> Right:
    """One rule, without the order of its words."""
    (group,) = rule["apiGroups"]
    return (
        group or "core",
        frozenset(rule["resources"]),
        frozenset(rule.get("resourceNames", ())),
        frozenset(rule["verbs"]),
    )


def explained() -> dict[str, set[Right]]:
    """What the page explains."""
    found: dict[str, set[Right]] = {}
    for role, cells in rows():
        group, resources, names, verbs, why = cells
        assert why, f"{role}: {resources} has no reason"
        found.setdefault(role, set()).add((group, words(resources), words(names), words(verbs)))
    return found


def rows() -> Iterator[tuple[str, list[str]]]:
    """The table rows under each role's heading."""
    role = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        role = heading[1] if (heading := HEADING.match(line)) else role
        if line.startswith("|") and not line.startswith(("|---", "| Group")):
            yield role, [cell.strip() for cell in line.strip("|").split("|")]


def words(cell: str) -> frozenset[str]:
    """The words of one cell."""
    return frozenset(word for word in cell.split(", ") if word)


def test_every_right_is_explained_and_nothing_else() -> None:
    """Role by role, right by right."""
    assert explained() == granted()


def test_no_role_has_a_wildcard() -> None:
    """A star grants what does not exist yet."""
    for name, rules in roles(*EVERYTHING).items():
        for rule in rules:
            assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"], name


def test_nobody_reads_secrets_changes_nodes_or_enters_pods() -> None:
    """The three rights a security review looks for first."""
    for name, rights in granted().items():
        for _, resources, _, verbs in rights:
            assert not resources & {"secrets", "pods/exec", "pods/attach", "serviceaccounts/token"}, name
            assert not ("nodes" in resources and verbs - {"get", "list", "watch"}), name
            assert not ("pods" in resources and verbs & {"create", "delete", "deletecollection", "update"}), name
            assert not verbs & {"impersonate", "escalate", "bind"}, name


def test_optional_rights_are_off() -> None:
    """Resize and eviction come only when asked for."""
    resources = {name for rule in roles()["ClusterRole slackwater-operator"] for name in rule["resources"]}
    assert not resources & {"pods/resize", "pods/eviction"}


def test_the_extender_only_reads() -> None:
    """All it creates are questions about tokens."""
    for rule in roles()["ClusterRole slackwater-extender"]:
        assert set(rule["verbs"]) <= {"list", "watch"} or rule["resources"] == ["tokenreviews"]


def test_nobody_becomes_a_releaser_without_the_guard() -> None:
    """Nothing would bound the right to patch every pod of a cluster; all other roles stay."""
    assert set(roles()) - set(roles("--set=admission.guard=false")) == {"ClusterRole slackwater-releaser"}
