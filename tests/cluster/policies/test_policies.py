"""The admission policies: committed as generated, and made from the same rules the resolver reads."""

from pathlib import Path

import pytest
import yaml

from slackwater_cluster import names
from slackwater_cluster.apps.frameworks import LabelTerm, builtin
from slackwater_cluster.policies import cel, guard, mutating
from slackwater_cluster.policies.__main__ import files

ROOT = Path(__file__).parents[3]
FILES = files()


@pytest.mark.parametrize("name", sorted(FILES))
def test_committed_policies_are_the_generated_ones(name: str) -> None:
    """The chart's policies say what the table says."""
    assert (ROOT / "helm" / "slackwater" / "files" / name).read_text(encoding="utf-8") == FILES[name]


def test_every_role_rule_stands_in_the_policy() -> None:
    """Each label and value of the table is in the expression that gives roles."""
    expression = cel.role(builtin().rules())
    for rule in builtin().rules():
        assert " && ".join(map(cel.term, rule.terms)) in expression


@pytest.mark.parametrize(
    ("term", "expression"),
    [
        (LabelTerm(key="a"), "'a' in variables.labels"),
        (LabelTerm(key="a", values=("x", "y")), "variables.labels[?'a'].orValue('') in ['x', 'y']"),
    ],
    ids=["any value", "some values"],
)
def test_terms_in_cel(term: LabelTerm, expression: str) -> None:
    """A label condition reads the same in CEL."""
    assert cel.term(term) == expression


def test_sealed_annotations_are_the_ones_the_policy_writes() -> None:
    """What is written at creation is what may not change."""
    written = yaml.safe_dump(mutating(builtin().rules()))
    sealed = yaml.safe_dump(guard())
    for annotation in names.SEALED:
        assert annotation in written
        assert annotation in sealed
    assert names.PARKED in sealed


def test_leaving_takes_every_guard_along() -> None:
    """One that stayed would refuse what the uninstall page says next: to delete the definitions."""
    chart = ROOT / "helm" / "slackwater"
    hook = (chart / "files" / "hooks" / "leave.py").read_text(encoding="utf-8")
    role = (chart / "templates" / "hooks" / "leave.yaml").read_text(encoding="utf-8")
    for each in guard():
        assert f'"{each["metadata"]["name"]}",' in hook
        assert f"- {each['metadata']['name']}\n" in role


def test_operator_guard_names_its_user() -> None:
    """The chart can say under which name its operator appears."""
    assert "system:serviceaccount:here:me" in yaml.safe_dump(guard("system:serviceaccount:here:me"))
