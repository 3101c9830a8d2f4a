"""Every policy by name: what it does, in which worlds it lives, and where its class is (loaded when asked for)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from slackwater.errors import InvalidInput, UnknownName
from slackwater.validation import alike, once
from slackwater_simulator.workload.yamlfile import value

YARN = ("yarn", "ideal")
# Packages register policies of their own under this group of entry points: name = "module:Class".
ENTRY_POINTS = "slackwater.policies"
NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)  # what an option may be given to


@dataclass(frozen=True, slots=True)
class Policy:
    """A line of the list. `factory` is `module:Class`; the class takes the policy's own options as keywords.

    `elsewhere` names another class for some worlds, where the same policy works in another rhythm.
    """

    description: str
    factory: str
    worlds: tuple[str, ...] = YARN
    elsewhere: Mapping[str, str] = field(default_factory=dict)


_POLICIES = "slackwater_simulator.policies"
POLICIES: dict[str, Policy] = {
    "fifo": Policy(
        "YARN's FIFO: jobs by arrival; a job whose next container does not fit is passed over",
        f"{_POLICIES}.hadoop.fifo:Fifo",
    ),
    "capacity": Policy(
        "YARN's Capacity: queue tree, user limits, share for drivers", f"{_POLICIES}.hadoop.capacity:Capacity"
    ),
    "fair": Policy(
        "YARN's Fair: queues and jobs share equally, by memory or (ordering=drf) dominant share",
        f"{_POLICIES}.hadoop.fair:Fair",
    ),
    "drf": Policy("dominant resource fairness between jobs, without queues", f"{_POLICIES}.batch.drf:Drf"),
    "ffd-dp": Policy(
        "first-fit-decreasing by dot product: the request that fits the node's free vector best",
        f"{_POLICIES}.batch.ffddp:FfdDp",
    ),
    "first-fit": Policy(
        "strict FIFO, each task on the first node it fits; the head of the queue blocks all others",
        f"{_POLICIES}.batch.firstfit:FirstFit",
        ("ideal",),
    ),
    "fcfs": Policy(
        "strict FIFO, whole jobs: all tasks of a stage at once or none", f"{_POLICIES}.batch.gang:Fcfs", ("ideal",)
    ),
    "small-first-backfill": Policy(
        "whole jobs, the smallest that fits first", f"{_POLICIES}.batch.gang:SmallFirst", ("ideal",)
    ),
    "easy": Policy(
        "EASY backfilling: FIFO with one reservation for the head, others may overtake if they do not delay it",
        f"{_POLICIES}.batch.easy:Easy",
        ("ideal",),
    ),
}

POLICIES |= {
    "kube": Policy(
        "the stock kube-scheduler: requests decide, least allocated node first",
        f"{_POLICIES}.kubescheduler:Stock",
        ("kubernetes",),
    ),
    "kube-most": Policy(
        "the stock kube-scheduler, most allocated node first", f"{_POLICIES}.kubescheduler:Most", ("kubernetes",)
    ),
    "oracle": Policy(
        "clairvoyant: knows what every task will use and packs by that, in order of submission",
        f"{_POLICIES}.oracle:Oracle",
        ("kubernetes", "ideal"),
    ),
    "slackwater": Policy(
        "the whole composition: measured room, admission, pools, order",
        f"{_POLICIES}.slackwater.kubernetes:SlackwaterOnKubernetes",
        ("kubernetes", "yarn"),
        {"yarn": f"{_POLICIES}.slackwater.yarn:SlackwaterOnYarn"},
    ),
}

# The papers, each alone.
POLICIES |= {
    "estimation": Policy(
        "000: FIFO into the room that measurement leaves (alpha, mode=capped or printed, allowance)",
        f"{_POLICIES}.papers.estimation:Estimation",
    ),
    "haste": Policy(
        "001: fills a node by fitness and urgency, at the cold start by knapsack", f"{_POLICIES}.papers.haste:Haste"
    ),
    "haste-a": Policy(
        "001: HaSTE with late rounds of iterative jobs pulled forward", f"{_POLICIES}.papers.haste:HasteA"
    ),
    "admission": Policy(
        "002: drivers wait at a gate until enough is left for tasks; base=fair, fifo … decides behind it",
        f"{_POLICIES}.papers.admission:Admission",
    ),
    "static-reservation": Policy(
        "a fixed number of cores (reserve=) kept for tasks, in front of base=fair, fifo …",
        f"{_POLICIES}.papers.static:Static",
    ),
    "dress": Policy(
        "004: two pools of slots for small and large jobs, whose border follows demand; whole jobs",
        f"{_POLICIES}.papers.dress:Dress",
        ("ideal",),
    ),
    "replay": Policy(
        "whole jobs at the seconds a script gives (starts={job: second})",
        f"{_POLICIES}.batch.replay:Replay",
        ("ideal",),
    ),
    "network": Policy(
        "003: levels of a task graph near their data and away from busy links (key=literal or earliest_start)",
        "slackwater_simulator.worlds.transfers.policies:Network",
        ("transfer",),
    ),
    "nearest": Policy(
        "what 003 calls YARN: the nearest node to the task before that has a free slot",
        "slackwater_simulator.worlds.transfers.policies:Nearest",
        ("transfer",),
    ),
}


def policies() -> dict[str, str]:
    """Name → one line of what it does; installed packages add theirs by the entry point group `slackwater.policies`."""
    return {name: policy.description for name, policy in (POLICIES | _installed()).items()}


def worlds_of(text: str) -> tuple[str, ...]:
    """The worlds that a policy, written with or without options, lives in."""
    return find(text.partition("?")[0]).worlds


def find(name: str) -> Policy:
    """The policy of that name: one of ours, one of an installed package, or a class given as `module:Class`."""
    if name in POLICIES:
        return POLICIES[name]
    if ":" in name:
        return _own(name, name)
    installed = _installed()
    if name not in installed:
        raise UnknownName("policy", name, POLICIES | installed)
    return installed[name]


@cache
def _installed() -> dict[str, Policy]:
    return {point.name: _own(point.name, point.value) for point in entry_points(group=ENTRY_POINTS)}


def _own(name: str, factory: str) -> Policy:
    """A policy of somebody else: its docstring describes it, and its `worlds`, if it has any, say where it lives."""
    made = _loaded(name, factory)
    worlds = getattr(made, "worlds", YARN)
    worlds = (worlds,) if isinstance(worlds, str) else worlds
    if not isinstance(worlds, list | tuple) or not worlds or not all(isinstance(world, str) for world in worlds):
        raise InvalidInput(f"policy {name}", f"its worlds are {worlds!r}", 'write names, such as worlds = ("yarn",)')
    needed = _missing(made, tuple(worlds))
    if needed:
        raise InvalidInput(f"policy {name}", "is no policy", f"write module:Class of a class that {needed}")
    described = (inspect.getdoc(made) or f"{factory}").splitlines()[0]
    return Policy(described, factory, tuple(worlds))


def _loaded(name: str, factory: str) -> object:
    """What the module calls so."""
    module, _, attribute = factory.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)  # an installed command does not look there by itself
    remedy = "write module:Class of a module that Python finds, without folder and .py"
    if not all(part.isidentifier() for part in module.split(".")):
        raise InvalidInput(f"policy {name}", f"{module!r} is not the name of a module", remedy)
    try:
        return getattr(import_module(module), attribute)
    except Exception as problem:  # a module of somebody else may fail in any way
        words = str(problem) or type(problem).__name__
        raise InvalidInput(f"policy {name}", f"cannot be loaded: {words}", remedy) from problem


def _missing(made: object, worlds: tuple[str, ...]) -> str:
    """What the class lacks to live in these worlds; empty if nothing."""
    from slackwater_simulator.policies.base import Scheduler  # noqa: PLC0415 - only policies of others are judged by it

    if "transfer" in worlds and not hasattr(made, "place"):
        return "has a method place"
    if inspect.isclass(made) and set(worlds) == {"transfer"}:
        return ""
    if not (inspect.isclass(made) and issubclass(made, Scheduler)):
        return "derives from slackwater_simulator.policies.base.Scheduler"
    swept = "yarn" not in worlds and made.sweep is not Scheduler.sweep
    return "" if swept or made.beat is not Scheduler.beat else "has a method beat"


def variant(text: str) -> tuple[str, dict[str, Any]]:
    """A policy as a person writes it, with options of its own: `slackwater?pools=false&alpha=0.2`.

    Values are read as YAML: numbers, `true`, words and lists.
    """
    name, _, query = text.partition("?")
    find(name)
    pairs = parse_qsl(query, keep_blank_values=True)
    if query.count("=") < max(len(pairs), query.count("&") + bool(query)):
        raise InvalidInput(f"policy {name}", f"{query!r} are not options", f"write {name}?option=value&option=value")
    once(f"policy {name}", (option for option, _ in pairs))
    return name, {option: value(text, f"policy {name}, {option}") for option, text in pairs}


def create(name: str, world: str, options: dict[str, Any]) -> Any:
    """A fresh instance of the policy for that world."""
    policy = find(name)
    if world not in policy.worlds:
        raise InvalidInput(
            "policy", f"{name} does not exist in the world {world!r}", f"use world {' or '.join(policy.worlds)}"
        )
    module, _, factory = policy.elsewhere.get(world, policy.factory).partition(":")
    made = getattr(import_module(module), factory)
    accepted = _options(made)
    for option in options:
        if accepted is not None and option not in accepted:
            raise UnknownName(f"option of policy {name}", option, accepted)
    for each in inspect.signature(made).parameters.values():
        if each.kind is each.POSITIONAL_ONLY and each.default is each.empty:
            raise InvalidInput(f"policy {name}", f"{each.name} has no name for options", "take options by keyword")
        if each.kind in NAMED and each.default is each.empty and each.name not in options:
            raise InvalidInput(f"policy {name}", f"{each.name} is missing", f"write {name}?{each.name}=…")
        if each.name in options and each.default is not inspect.Parameter.empty:
            _check(each, options[each.name])
    return made(**options)


def _check(option: inspect.Parameter, value: Any) -> None:
    """Refuse a value of another kind than the default; where the class takes several, a list of such values is fine."""
    several = "Sequence[" in str(option.annotation) and isinstance(value, list | tuple)
    for each in value if several else (value,):
        alike(option.name, each, option.default)


def _options(made: type) -> list[str] | None:
    """The options a policy takes by name; None where it takes any and judges them itself."""
    taken = inspect.signature(made).parameters.values()
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in taken):
        return None
    return [one.name for one in taken]
