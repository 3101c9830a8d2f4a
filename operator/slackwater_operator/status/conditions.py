"""What is wrong with a custom resource beyond what its schema can see: other objects, nodes, limits. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from slackwater.cycle.appverdicts import singular
from slackwater.errors import InvalidInput
from slackwater_cluster.customresources import SlackPolicySpec
from slackwater_cluster.frameworks import Framework
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects import wire
from slackwater_cluster.pods.quantities import parse_quantity

READY = "Ready"
SOUND = "AsWritten"
MOST_OF_ONE = 5  # warnings about one namespace: there is room for a hundred in a status


@dataclass(frozen=True, slots=True)
class ConditionSet:
    """Whether an object is as its owner may expect, and if not, why and what to do."""

    ready: bool
    reason: str = SOUND
    message: str = "in force as written"
    warnings: tuple[str, ...] = ()


def judge(kind: str, name: str, governing: Governance, nodes: Iterable[Mapping[str, str]] = ()) -> ConditionSet:
    """Judge one object; `nodes` are the labels of all nodes."""
    broken = governing.broken.get((kind, name))
    if broken:
        return ConditionSet(False, "Invalid", f"{broken}; what was valid before stays in force")
    if kind == "AdmissionQueue":
        return _queue(name, governing, nodes)
    if kind == "ReservationPool":
        return _pool(name, governing)
    return _policy(name, governing)


def _queue(name: str, governing: Governance, nodes: Iterable[Mapping[str, str]]) -> ConditionSet:
    spec = governing.queues[name]
    for namespace in spec.namespaces:
        rivals = [other for other, queue in sorted(governing.queues.items()) if namespace in queue.namespaces]
        if rivals[0] != name:
            return ConditionSet(
                False,
                "Conflict",
                f"namespace {namespace} is served by queue {rivals[0]}, which names it too; name it once",
            )
    rest = [other for other, queue in sorted(governing.queues.items()) if not queue.namespaces]
    if not spec.namespaces and rest[0] != name:
        return ConditionSet(
            False, "Conflict", f"queue {rest[0]} already takes all other namespaces; name the namespaces of this one"
        )
    wanted = spec.node_selector.items()
    if spec.node_selector and not any(wanted <= labels.items() for labels in nodes):
        return ConditionSet(False, "NoNodes", "no node carries the labels of nodeSelector; every app here waits")
    return ConditionSet(True)


def _pool(name: str, governing: Governance) -> ConditionSet:
    queue = governing.pools[name].queue
    if queue not in governing.queue_names():
        return ConditionSet(False, "UnknownQueue", f"there is no AdmissionQueue {queue}; create it or name another one")
    first = governing.pool_of(queue)
    if first != name:
        return ConditionSet(
            False, "Conflict", f"pool {first} already shares the nodes of queue {queue}; delete one of them"
        )
    return ConditionSet(True)


def _policy(name: str, governing: Governance) -> ConditionSet:
    users = [each for each in governing.managed_namespaces() if governing.namespaces[each].policy == name]
    if not users:
        return ConditionSet(True, "Unused", "no managed namespace follows this policy yet")
    return ConditionSet(True, SOUND, singular(f"in force in {len(users)} namespaces"))


def limits(
    spec: SlackPolicySpec,
    ranges: Iterable[wire.LimitRange],
    quotas: Iterable[wire.ResourceQuota],
    managed: Collection[str],
) -> tuple[str, ...]:
    """LimitRanges that will refuse lowered requests, and quotas that will count them; a few of each namespace."""
    factors = {"cpu": spec.ceiling.cpu_percent / 100, "memory": spec.ceiling.memory_percent / 100}
    mine, found = frozenset(managed), defaultdict[str, set[str]](set)
    words: list[tuple[wire.Meta, Iterable[str]]] = [(each.metadata, _range(each, factors)) for each in ranges]
    words += [(each.metadata, _quota(each, factors)) for each in quotas]
    for meta, warnings in words:
        if (namespace := meta.namespace or "") in mine:
            with suppress(InvalidInput):  # a ratio that is no number: no API server takes it
                found[namespace].update(islice(warnings, max(0, MOST_OF_ONE - len(found[namespace]))))
    return tuple(sorted(chain.from_iterable(found.values())))


def _range(each: wire.LimitRange, factors: Mapping[str, float]) -> Iterable[str]:
    where = f"LimitRange {each.metadata.namespace}/{each.metadata.name}"
    for item in (each.spec.limits if each.spec else None) or ():
        for kind, factor in factors.items():
            least, ratio = ((amounts or {}).get(kind) for amounts in (item.min, item.max_limit_request_ratio))
            if least is not None and factor > 1:
                yield (
                    f"{where} refuses {kind} requests below {least}: a task that declares less than "
                    f"{factor:g} × {least} is lowered below it and refused; lower min, or the ceiling"
                )
            if ratio is not None and factor > 1:
                yield (
                    f"{where} allows limits of {ratio} × request for {kind}: a task whose {kind} limit is more than "
                    f"{parse_quantity(str(ratio)) / factor:.3g} × what it declares is refused; raise the ratio, or "
                    f"lower the ceiling"
                )


def _quota(each: wire.ResourceQuota, factors: Mapping[str, float]) -> Iterable[str]:
    where = f"ResourceQuota {each.metadata.namespace}/{each.metadata.name}"
    hard = (each.spec.hard if each.spec else None) or {}
    for kind, factor in factors.items():
        if factor > 1 and (f"requests.{kind}" in hard or kind in hard):
            yield f"{where} counts lowered requests: up to {factor:g} times the declared {kind} fits into it"


def unlisted(rows: Iterable[Framework], spec: SlackPolicySpec) -> tuple[str, ...]:
    """Role labels of a user's frameworks that the admission policy does not know."""
    known = {(label.key, value) for label in spec.driver_labels for value in label.values}
    known |= {(label.key, value) for label in spec.task_labels for value in (label.values or [""])}
    return tuple(
        f"framework {row.name} calls {term.key} a role label, but this policy's {field} do not: its pods keep their "
        f"requests; add the label there"
        for row in rows
        for field, terms in (("driverLabels", row.drivers), ("taskLabels", row.tasks))
        for term in terms
        if not any((term.key, value) in known or (term.key, "") in known for value in (term.values or ("",)))
    )


def conditions(
    before: object, judged: ConditionSet, generation: int, now: str, kind: str = READY
) -> list[dict[str, Any]]:
    """The object's conditions with ours brought up to date; the time moves only when the status does."""
    status = "True" if judged.ready else "False"
    kept = written_conditions(before)
    old = next((each for each in kept if each.get("type") == kind), {})
    since = old.get("lastTransitionTime", now) if old.get("status") == status else now
    mine = {
        "type": kind,
        "status": status,
        "reason": judged.reason,
        "message": judged.message,
        "lastTransitionTime": since,
        "observedGeneration": generation,
    }
    return [*(dict(each) for each in kept if each.get("type") != kind), mine]


def written_conditions(before: object) -> list[Mapping[str, Any]]:
    """The conditions that an object carries. What is none, whoever wrote it, goes with our next write."""
    return [each for each in before if isinstance(each, Mapping)] if isinstance(before, list) else []
