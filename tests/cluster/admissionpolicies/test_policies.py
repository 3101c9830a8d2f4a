"""The admission policies: committed as generated, and made from the same rules the resolver reads."""

import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml

from slackwater_cluster import names
from slackwater_cluster.admissionpolicies import cel, guard, mutating
from slackwater_cluster.admissionpolicies.__main__ import files
from slackwater_cluster.admissionpolicies.guard import EDITS, MAY_RELEASE
from slackwater_cluster.frameworks import LabelTerm, builtin

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


# An authorizer's answer costs 350,000 of the 1,000,000 that an expression may cost; the rest costs little.
MOST_QUESTIONS = 2


GUARDS = {each["metadata"]["name"]: each["spec"] for each in guard() if "validations" in each["spec"]}


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_asks_the_authorizer_twice_at_most_and_looks_at_what_breaks_a_rule(name: str) -> None:
    """In every case: its condition is true just where one of its rules is broken."""
    rules = [each["expression"] for each in GUARDS[name]["validations"]]
    parts = sorted({plain_part(rule) for rule in rules}, key=len, reverse=True)
    called = {part: f"p{number}" for number, part in enumerate(parts)}
    broken = in_python(GUARDS[name]["matchConditions"][0]["expression"], called)
    kept = [in_python(rule, called) for rule in rules]
    for may, edits, *others in product((False, True), repeat=len(parts) + 2):
        scene = Scene(dict(zip(called.values(), others, strict=True)), may, edits)
        assert scene.says(broken) == (not all(scene.says(rule) for rule in kept))


class Scene:
    """What is so in one case."""

    def __init__(self, parts: dict[str, bool], may: bool, edits: bool) -> None:
        self._questions = 0
        self._names: dict[str, Any] = {**parts, "may": lambda: self._asked(may), "edits": lambda: self._asked(edits)}

    def _asked(self, answer: bool) -> bool:
        self._questions += 1
        return answer

    def says(self, expression: str) -> bool:
        """Its value, for few questions."""
        self._questions = 0
        value = bool(eval(expression, self._names))
        assert self._questions <= MOST_QUESTIONS, expression
        return value


def plain_part(rule: str) -> str:
    """What a rule says beside its questions to the authorizer, which come last."""
    return rule.removesuffix(f" || !{MAY_RELEASE} || {EDITS}").removesuffix(f" || {MAY_RELEASE}")


def in_python(text: str, called: dict[str, str]) -> str:
    """An expression of CEL over known parts as one of Python."""
    for part, name in {**called, MAY_RELEASE: "may()", EDITS: "edits()"}.items():
        text = text.replace(part, name)
    text = text.replace("!", " not ").replace("&&", "and").replace("||", "or").strip()
    return re.sub(r"\((\(\(\w+\) and \w+\)) \? (.*) : (.*)\)\)$", r"((\2) if \1 else (\3)))", text)
