"""How large an app will be before its tasks exist.

Asked in this order: the annotations slackwater.io/tasks, task-cpu and task-memory of any of its pods; the framework's
own object; earlier runs of an app of that name. If none knows, the app counts as large.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from slackwater.errors import InvalidInput
from slackwater.resources import CPU, MEMORY, NOTHING, Resources, times
from slackwater_cluster import names
from slackwater_cluster.frameworks import SizeRule
from slackwater_cluster.objects import wire
from slackwater_cluster.pods import metadata
from slackwater_cluster.pods.quantities import parse_quantity
from slackwater_cluster.pods.requests import few_kinds, native

ANNOUNCED = "annotation"  # the source of a size that pods state
HISTORY = "history"  # the source of a size that an earlier run of the app's name had

# A typing mistake of three digits too many must not become a demand that closes the pool for everyone.
MOST_TASKS = 1_000_000

# Spark adds this to the memory of an executor where nothing else is said: a tenth, where it starts Python or R two
# fifths, at least 384 MiB.
OVERHEAD = 0.1
OVERHEAD_BESIDE_JAVA = 0.4
LEAST_OVERHEAD = 384 * 2**20


@dataclass(frozen=True, slots=True)
class AppSize:
    """So many tasks, each declaring so much."""

    tasks: int
    request: Resources
    source: str  # annotation, resource or history


class StatedSize(NamedTuple):
    """What a framework's object says of its app; None each, where it does not say."""

    size: AppSize | None = None
    driver: bool | None = None  # whether there will be one


def announced(annotations: Mapping[str, str]) -> AppSize | None:
    """The size its user states on a pod; raises InvalidInput when the statement cannot be read."""
    if names.TASKS not in annotations:
        return None
    text = annotations[names.TASKS]
    tasks = metadata.count(text)
    if tasks is None or tasks > MOST_TASKS:
        problem = f"{metadata.shortened(text)} is not a count of tasks"
        raise InvalidInput(names.TASKS, problem, f"write a whole number up to {MOST_TASKS}")
    amounts = {CPU: annotations.get(names.TASK_CPU, "0"), MEMORY: annotations.get(names.TASK_MEMORY, "0")}
    return AppSize(tasks, Resources({kind: parse_quantity(value) for kind, value in amounts.items()}), ANNOUNCED)


def from_object(rule: SizeRule, body: Mapping[str, Any], drivers: Collection[str] = ()) -> AppSize | None:
    """The size a framework's object states; None when it leaves the count to the framework.

    `drivers` are names of groups that are drivers, and no tasks.
    """
    listed = [each for each in _groups(rule, body) if not _is_driver(rule, each, drivers)]
    groups = [group for group in (_group(rule, each) for each in listed) if group]
    tasks = sum(count for count, _ in groups)
    if not tasks:
        return None
    # One mean task stands for groups of different sizes: the sum over all is what pools and admission need. It is made
    # in one pass: an object has room for thousands of groups, each of which may ask for other kinds.
    whole = few_kinds(times((request, count) for count, request in groups))
    return AppSize(min(tasks, MOST_TASKS), whole * (1 / tasks), "resource")


def has_driver(rule: SizeRule, body: Mapping[str, Any], drivers: Collection[str] = ()) -> bool | None:
    """Whether the object speaks of a driver; None where its framework's row does not say how it would."""
    if not rule.driver:
        return None
    if not rule.each:
        return at(body, rule.driver) is not None
    return any(_is_driver(rule, each, drivers) for each in _groups(rule, body))


def _is_driver(rule: SizeRule, group: Mapping[str, Any], drivers: Collection[str]) -> bool:
    return bool(rule.each and rule.driver) and at(group, rule.driver) in drivers


def _groups(rule: SizeRule, body: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    groups = at(body, rule.each) if rule.each else [body]
    return [group for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []


def _group(rule: SizeRule, group: Mapping[str, Any]) -> tuple[int, Resources] | None:
    count = at(group, rule.count)
    factor = at(group, rule.times) if rule.times else 1
    # A replica count left out means one, as in every workload kind; a total that is left out is the framework's secret.
    count = 1 if count is None and rule.each else count
    factor = 1 if factor is None else factor
    if not (isinstance(count, int) and isinstance(factor, int) and count > 0 and factor > 0):
        return None
    most = at(group, rule.most) if rule.most else None
    if isinstance(most, int):
        count, factor = (count, min(factor, most)) if rule.times else (min(count, most), factor)
    return (count * factor, _request(rule, group)) if count * factor > 0 else None


def _request(rule: SizeRule, group: Mapping[str, Any]) -> Resources:
    if rule.pod:
        spec = at(group, rule.pod)
        return _pod_request(rule, spec) if isinstance(spec, dict) else NOTHING
    asked, memory = at(group, rule.request) if rule.request else None, at(group, rule.memory)
    cores = at(group, rule.cpu) if asked is None else asked
    return Resources(
        cpu=parse_quantity(str(cores)) if cores is not None else 0.0,
        memory=_spark_request(rule, group, str(memory)) if memory is not None else 0.0,
    )


def _pod_request(rule: SizeRule, spec: Mapping[str, Any]) -> Resources:
    try:
        return native(wire.Pod(spec=msgspec.convert(spec, wire.PodSpec)))
    except msgspec.ValidationError as problem:
        raise InvalidInput(f"{rule.kind} {rule.pod}", str(problem), "write a pod template there") from problem


def _spark_request(rule: SizeRule, group: Mapping[str, Any], memory: str) -> float:
    """What an executor pod asks for: its heap, and the overhead that is stated or that Spark adds by itself."""
    heap, overhead, factor = spark_memory(rule.memory, memory), at(group, rule.overhead), at(group, rule.factor)
    if overhead is not None:
        return heap + spark_memory(rule.overhead, str(overhead))
    usual = OVERHEAD_BESIDE_JAVA if at(group, rule.language) in ("Python", "R") else OVERHEAD
    return heap + max((usual if factor is None else parse_quantity(str(factor))) * heap, LEAST_OVERHEAD)


def spark_memory(field: str, text: str) -> float:
    """An amount written the Java way: 4g is 4 GiB, and a number alone is MiB."""
    match = re.fullmatch(r"([0-9]{1,15})([kmgt]?)(b?)", text.strip().lower())
    if not match:
        raise InvalidInput(field, f"{metadata.shortened(text)} is not a Java memory size", "write it like 512m or 4g")
    number, prefix, byte = match.groups()
    power = "kmgt".index(prefix or "m") + 1 if prefix or not byte else 0
    return float(number) * float(1024**power)


def at(body: Any, path: str) -> Any:
    """The value at a dotted path, or None where the path ends early."""
    for step in path.split("."):
        if not isinstance(body, Mapping):
            return None
        body = body.get(step)
    return body
