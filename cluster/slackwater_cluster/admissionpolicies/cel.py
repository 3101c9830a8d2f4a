"""Small pieces of CEL from which the policies are put together.

Amounts are integers (milli-cpu, bytes) and ceilings whole percents: floating point would round 0.1 × 1000 upwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from slackwater_cluster import names
from slackwater_cluster.frameworks import LabelTerm, RoleRule

CPU = "cpu"
MEMORY = "memory"


def text(value: str) -> str:
    """A string literal. Keys and values of the table hold no quote or backslash (their patterns forbid it)."""
    return f"'{value}'"


def listed(values: Iterable[str]) -> str:
    """A list of string literals."""
    return "[" + ", ".join(text(value) for value in values) + "]"


def whole(kind: str, quantity: str) -> str:
    """A quantity as an integer: milli-cpu, or bytes."""
    scale = "*1000.0" if kind == CPU else ""
    return f"int(quantity({quantity}).asApproximateFloat(){scale}+0.5)"


def request(holder: str, kind: str) -> str:
    """The request of a container (or pod), as an optional."""
    return f"{holder}.?resources.?requests[?'{kind}']"


def asked(holder: str, kind: str) -> str:
    """The request as an integer, 0 where there is none."""
    return whole(kind, f"{request(holder, kind)}.orValue('0')")


def summed(containers: str, kind: str) -> str:
    """The requests of several containers together."""
    return f"{containers}.map(c, {asked('c', kind)}).sum()"


def lowered(holder: str, kind: str) -> str:
    """N = D ÷ c, rounded up to the next milli-cpu or byte, so that nothing above zero becomes zero."""
    return _written(_divided(holder, kind), kind)


def lowered_whole(holder: str, kind: str, containers: str) -> str:
    """The same for a pod as a whole: as many units more as its containers may be rounded up, but not above D."""
    amount = whole(kind, f"{holder}.resources.requests['{kind}']")
    divided = f"{_divided(holder, kind)} + {containers} - 1"
    return _written(f"{divided} < {amount} ? {divided} : {amount}", kind)


def _divided(holder: str, kind: str) -> str:
    percent = f"params.spec.ceiling.{kind}Percent"
    amount = whole(kind, f"{holder}.resources.requests['{kind}']")
    return f"({amount}*100 + {percent} - 1) / {percent}"


def _written(amount: str, kind: str) -> str:
    unit = " + 'm'" if kind == CPU else ""
    return f"string({amount}){unit}"


def term(condition: LabelTerm) -> str:
    """One label condition over `variables.labels`."""
    if not condition.values:
        return f"{text(condition.key)} in variables.labels"
    return f"variables.labels[?{text(condition.key)}].orValue('') in {listed(condition.values)}"


def role(rules: Sequence[RoleRule]) -> str:
    """The role of a pod: its own label, the SlackPolicy's labels, then the table's rules from top to bottom."""
    own = f"variables.labels[?{text(names.ROLE)}].orValue('')"
    driver = "l.key in variables.labels && variables.labels[l.key] in l.values"
    task = "l.key in variables.labels && (size(l.values) == 0 || variables.labels[l.key] in l.values)"
    lines = [
        f"{own} != '' ? ({own} in {listed((names.DRIVER, names.TASK))} ? {own} : {text(names.UNKNOWN)})",
        f": params.spec.driverLabels.exists(l, {driver}) ? {text(names.DRIVER)}",
        f": params.spec.taskLabels.exists(l, {task}) ? {text(names.TASK)}",
    ]
    for name, group in groupby(rules, key=lambda each: each.role):
        conditions = " ||\n   ".join("(" + " && ".join(map(term, rule.terms)) + ")" for rule in group)
        lines.append(f": ({conditions}) ? {text(name)}")
    return "\n".join([*lines, f": {text(names.UNKNOWN)}"])
