"""The framework table: which labels make a pod a driver or a task of which app. Data in YAML, extended by a ConfigMap.

The flat list of role rules made here is read twice: by the resolver, and by the generator of the admission policy. So
the API server and the operator give a pod the same role from the same labels.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slackwater.errors import InvalidInput
from slackwater.validation import parsing, refusal
from slackwater_cluster import names
from slackwater_cluster.objects.records import OwnerRef

# The table is read by people and pasted into CEL: a key or value that would need escaping there is refused.
KEY = r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
VALUE = r"^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"

Labels = Mapping[str, str]
Key = Annotated[str, Field(pattern=KEY, max_length=317)]
Value = Annotated[str, Field(pattern=VALUE, max_length=63)]


class FrameworkRow(BaseModel):
    """Base of the table's parts: unknown keys are errors, so that a typing mistake is told and not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LabelTerm(FrameworkRow):
    """A label that must be there, with one of these values; no values means any value."""

    key: Key
    values: tuple[Value, ...] = ()

    def holds(self, labels: Labels) -> bool:
        """Whether the labels satisfy this term."""
        return self.key in labels and (not self.values or labels[self.key] in self.values)


class OwnerRule(FrameworkRow):
    """What must stand among a pod's owners for its app label to be believed."""

    kind: str
    group: str | None = None
    named: bool = False  # its name is the app's
    same: bool = False  # it is a pod with the same app label
    client: bool = False  # it is a pod without the app label: the driver runs inside it and is no pod of the app


class SizeRule(FrameworkRow):
    """Where the framework's own object tells how many tasks an app will have, and how large each is."""

    kind: str
    group: str
    version: str
    plural: str
    each: str = ""  # path of a list of groups; empty: the object itself is the one group
    count: str
    times: str = ""  # a second factor of the count
    most: str = ""  # path of what bounds that factor, else the count: a Job starts no more pods than it completes
    driver: str = ""  # path of what is there only in apps with a driver; of a group: its name, a value of `drivers`
    pod: str = ""  # path of the pod spec within a group
    cpu: str = ""  # or paths of plain quantities
    request: str = ""  # path of what pods request where that is not their cores: it counts before `cpu`
    memory: str = ""  # of a heap, the Java way: overhead comes on top
    overhead: str = ""  # path of that overhead where it is stated
    factor: str = ""  # path of its share of the heap, else
    language: str = ""  # path of the language, of which that share depends where it is not stated either


class Framework(FrameworkRow):
    """One row of the table."""

    name: str = Field(pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", max_length=63)
    app: tuple[Key, ...] = Field(min_length=1)
    title: tuple[Key, ...] = ()
    makers: tuple[str, ...] = ()  # kinds of owners
    when: tuple[LabelTerm, ...] = ()
    drivers: tuple[LabelTerm, ...] = ()
    tasks: tuple[LabelTerm, ...] = ()
    stage: tuple[str, ...] = ()
    owners: tuple[OwnerRule, ...] = ()
    bare: tuple[Literal["driver", "task"], ...] = ()
    headless: bool = False
    coordinator: str = ""
    size: SizeRule | None = None

    def claims(self, labels: Labels) -> bool:
        """Whether a pod with these labels says it belongs to this framework."""
        return all(key in labels for key in self.app) and all(term.holds(labels) for term in self.when)

    def identity(self, labels: Labels) -> str:
        """The app's name, as the labels give it."""
        return "/".join(labels[key] for key in self.app)

    def title_of(self, labels: Labels) -> str:
        """The name that people gave the app and that its runs share, if the labels tell it."""
        return next((labels[key] for key in self.title if labels.get(key)), "")

    def maker_of(self, owners: Sequence[OwnerRef]) -> str:
        """The name of the highest owner that makes such apps anew for each run, if there is one; nearest first."""
        return next((owner.name for owner in reversed(owners) if owner.kind in self.makers), "")

    def stage_of(self, labels: Labels) -> str:
        """The stage the labels name, if any."""
        return next((labels[key] for key in self.stage if key in labels), "")

    @property
    def driver_names(self) -> frozenset[str]:
        """The values of labels that make a pod a driver."""
        return frozenset(value for term in self.drivers for value in term.values)

    @property
    def has_driver(self) -> bool:
        """Whether apps of this framework have a driver, as a rule; with a coordinator only those that name one."""
        return bool(self.drivers) and not (self.headless or self.coordinator)


@dataclass(frozen=True, slots=True)
class RoleRule:
    """All terms hold → the pod has this role. The first rule that holds decides."""

    framework: str
    terms: tuple[LabelTerm, ...]
    role: str

    def holds(self, labels: Labels) -> bool:
        """Whether every term holds."""
        return all(term.holds(labels) for term in self.terms)


class FrameworkTable(FrameworkRow):
    """The framework table."""

    frameworks: tuple[Framework, ...]
    coarse: tuple[str, ...] = ()  # kinds of owners that are no app themselves

    def claimed(self, labels: Labels) -> Framework | None:
        """The first framework whose labels the pod carries."""
        return next((row for row in self.frameworks if row.claims(labels)), None)

    def named(self, name: str) -> Framework | None:
        """The row of this name."""
        return next((row for row in self.frameworks if row.name == name), None)

    def rules(self) -> tuple[RoleRule, ...]:
        """Who is a driver and who a task, by labels alone, in order."""
        return tuple(rule for row in self.frameworks for rule in _rules(row))

    def extended(self, rows: Iterable[Framework]) -> FrameworkTable:
        """The table with more rows before its own; a row of the same name takes the place of the old one."""
        added = tuple(rows)
        replaced = {row.name for row in added}
        kept = (row for row in self.frameworks if row.name not in replaced)
        return FrameworkTable(frameworks=(*added, *kept), coarse=self.coarse)


def _rules(row: Framework) -> list[RoleRule]:
    """The row's drivers, its tasks, and that who it claims and is neither has no role: no later row gives one."""
    claim = (*(LabelTerm(key=key) for key in row.app), *row.when)
    rules = [
        RoleRule(row.name, _without_repeats((*claim, term)), role)
        for role, terms in ((names.DRIVER, row.drivers), (names.TASK, row.tasks))
        for term in terms
    ]
    others = RoleRule(row.name, _without_repeats(claim), names.UNKNOWN)
    # A row that names no roles leaves them to the next; one whose rule asks for no more than its claim has no others.
    complete = not rules or any(set(rule.terms) == set(others.terms) for rule in rules)
    return rules if complete else [*rules, others]


def _without_repeats(terms: Sequence[LabelTerm]) -> tuple[LabelTerm, ...]:
    """Drop "key is there" where another term already asks for a value of that key, and exact repeats."""
    valued = {term.key for term in terms if term.values}
    return tuple(dict.fromkeys(term for term in terms if term.values or term.key not in valued))


@cache
def builtin() -> FrameworkTable:
    """The table that ships with Slackwater."""
    text = resources.files("slackwater_cluster").joinpath("frameworks.yaml").read_text(encoding="utf-8")
    return FrameworkTable.model_validate(yaml.safe_load(text))


def extension(data: Mapping[str, str], source: str) -> tuple[tuple[Framework, ...], tuple[InvalidInput, ...]]:
    """The rows of a user's ConfigMap. A bad entry is reported and left out; the others count."""
    rows: list[Framework] = []
    problems: list[InvalidInput] = []
    for key in sorted(data):
        try:
            rows.extend(_parsed(data[key], f"{source}[{key}]"))
        except InvalidInput as problem:
            problems.append(problem)
    return tuple(rows), tuple(problems)


class ExtendedTable:
    """The framework table with the rows of users' ConfigMaps, as they come, change and go."""

    def __init__(self) -> None:
        self._maps: dict[str, Mapping[str, str]] = {}
        self.rows: tuple[Framework, ...] = ()  # those of users
        self.problems: tuple[InvalidInput, ...] = ()  # entries that were left out
        self.table = builtin()

    def set(self, maps: Mapping[str, Mapping[str, str]]) -> None:
        """Take over the data of ConfigMaps, by name."""
        self._maps.update(maps)
        self._read()

    def drop(self, gone: Iterable[str]) -> None:
        """Forget ConfigMaps."""
        for name in gone:
            self._maps.pop(name, None)
        self._read()

    def _read(self) -> None:
        found = [extension(data, name) for name, data in sorted(self._maps.items())]
        self.rows = tuple(row for rows, _ in found for row in rows)
        self.problems = tuple(problem for _, problems in found for problem in problems)
        self.table = builtin().extended(self.rows)


def _parsed(text: str, field: str) -> tuple[Framework, ...]:
    with parsing(field, "this cannot be read as YAML", "write a list under the key frameworks"):
        content = yaml.safe_load(text)
    try:
        return FrameworkTable.model_validate(content).frameworks
    except ValidationError as problem:
        where, wrong = refusal(problem.errors())
        remedy = "see docs/reference/frameworks.md for the fields"
        raise InvalidInput(f"{field}.{where or 'frameworks'}", wrong, remedy) from problem


def role_by_labels(labels: Labels, rules: Iterable[RoleRule]) -> str:
    """The role the admission policy gives a pod: its own word, else the first rule that holds."""
    explicit = labels.get(names.ROLE, "")
    if explicit:
        return explicit if explicit in (names.DRIVER, names.TASK) else names.UNKNOWN
    return next((rule.role for rule in rules if rule.holds(labels)), names.UNKNOWN)


def policy_rules(
    drivers: Iterable[tuple[str, Sequence[str]]], tasks: Iterable[tuple[str, Sequence[str]]]
) -> tuple[RoleRule, ...]:
    """The role labels of a SlackPolicy as rules: drivers before tasks, as the admission policy reads them."""
    both = ((names.DRIVER, drivers), (names.TASK, tasks))
    return tuple(
        # The API server has checked them against the SlackPolicy's own schema.
        RoleRule("policy", (LabelTerm.model_construct(key=key, values=tuple(values)),), role)
        for role, labels in both
        for key, values in labels
    )
