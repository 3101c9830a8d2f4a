"""What to write into each workload: requests that sufficed, the risk they carry, and the line that sets them.

A request is lowered to what sufficed in all but a share of a container's windows, by the rule of the ledger (a value
that was seen, and that suffices for the next window too). Of several pods the one that needs most decides. Memory is
given no risk: it is all that was ever seen, and some on top, because nobody can wait for memory.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from slackwater_cluster import names
from slackwater_cluster.apps.runs import series
from slackwater_cluster.pods.quantities import as_quantity
from slackwater_monitor.assessment.assessment import Assessment
from slackwater_monitor.assessment.pods import Pod, PodHistory
from slackwater_monitor.assessment.prices import Prices
from slackwater_monitor.assessment.usage import PEAK, QUANTILES, UsageStatistics
from slackwater_monitor.assessment.windows import CPU, MEMORY

# Owners whose pods stay: they are resized, never made task pods.
SERVICES = frozenset(
    {"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Rollout", "DeploymentConfig"}
)
BATCH = frozenset({"Job", "CronJob", "Driver", "Tasks"})
# A pod that a kubelet reads from a file: its owner is its node, and the file is what one changes.
STATIC = "StaticPod"
# Pods that no template makes: each may ask for something else.
SINGLE = ("Pod", "Driver", "Tasks", STATIC)
# Kinds that `kubectl set resources` changes.
SETTABLE = frozenset({"Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "CronJob"})
MARGIN = 1.15  # of memory, on top of the most that was seen
LEAST = {CPU: 0.01, MEMORY: 16 * 1024.0**2}
WORTH = 0.05  # of a request: smaller changes are not advised
RISK = "CPU use was above it in {outside:.0f} % of the time at most; memory is {margin:.0f} % above all that was seen"
MORE = "it asks for less than it needs: with these requests it is not the first to suffer"
MIBI = 1024.0**2


@dataclass(frozen=True, slots=True)
class ContainerAdvice:
    """One container of a workload: what it asks for, what would do, and its limits."""

    name: str
    asked: Mapping[str, float]
    requests: Mapping[str, float]  # advised
    limits: Mapping[str, float] = field(default_factory=dict)
    peak: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advice:
    """One workload."""

    namespace: str
    kind: str  # of the object at the top of its owners; Pod where it has none
    name: str
    batch: bool
    pods: int
    containers: tuple[ContainerAdvice, ...]
    cores: float  # given back on average over the period; negative: more is needed
    memory: float
    risk: str
    notes: tuple[str, ...] = ()
    month: float | None = None  # US dollars a month that are given back
    yaml: str = ""
    kubectl: str = ""
    what_if: str = ""


def advise(found: Assessment, *, risk: float = 0.05, prices: Prices | None = None) -> list[Advice]:
    """Every workload whose requests are worth a change, those that give back most first."""
    share = next(at for at, each in enumerate(QUANTILES) if each >= 1 - risk - 1e-9)
    groups: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for namespace, pod, _ in {key for kind in found.levels["container"].values() for key in kind}:
        kind, name = _whose(found, namespace, pod)
        groups[namespace, kind, name].add(pod)
    made = [_advice(found, key, pods, share, prices) for key, pods in groups.items()]
    worth = [each for each in made if each is not None]
    size = {kind: found.total.get(kind) or 1.0 for kind in (CPU, MEMORY)}
    return sorted(worth, key=lambda each: (-max(each.cores / size[CPU], each.memory / size[MEMORY]), each.name))


def _whose(found: Assessment, namespace: str, pod: str) -> tuple[str, str]:
    """The object to change. Pods that a driver starts have none: they are the driver or the tasks of their app."""
    kind, name = top(found.census, namespace, pod)
    member = found.members[namespace, pod]
    if kind == "Pod" and member.role == names.DRIVER:
        return "Driver", member.family
    if kind == "Pod" and (member.role == names.TASK or found.census.pods[namespace, pod].owner[1]):
        return "Tasks", member.family
    return kind, name


def top(census: PodHistory, namespace: str, pod: str) -> tuple[str, str]:
    """Kind and name of the object a person changes: the top of the pod's owners; runs of a series count as one."""
    kind, name = census.pods[namespace, pod].owner
    if not name:
        return "Pod", series(pod)
    if kind == "Node":
        return STATIC, pod.removesuffix(f"-{name}")
    while (above := census.above.get((namespace, kind, name))) is not None:
        kind, name = above
    return kind, series(name) if kind == "Job" else name


def _advice(
    found: Assessment, key: tuple[str, str, str], pods: set[str], share: int, prices: Prices | None
) -> Advice | None:
    namespace, kind, name = key
    containers = _containers(found, key, pods, share)
    changed = [each for each in containers if _differs(each)]
    if not changed:
        return None
    back = _given_back(found, key, pods, {each.name: each for each in changed})
    roles = [found.members[namespace, pod].role for pod in pods] if kind not in SERVICES else []
    file = f"{name.rpartition('/')[2]}.jsonl.gz"
    more = [MORE] if min(back.values()) < 0 else []
    notes = (*_notes(changed), *_scaled(found, namespace, kind, name), *more)
    return Advice(
        namespace,
        kind,
        name,
        kind in BATCH or names.TASK in roles or names.DRIVER in roles,
        len(pods),
        tuple(containers),
        back[CPU],
        back[MEMORY],
        risk=RISK.format(outside=100 * (1 - QUANTILES[share]), margin=100 * (MARGIN - 1)),
        notes=(*notes, *_batch_note(namespace, len(pods), roles.count(names.TASK))),
        month=prices.month(back[CPU], back[MEMORY]) if prices else None,
        yaml=_yaml(kind, changed),
        kubectl=_kubectl(namespace, kind, name, changed),
        what_if=f"slackwater export {file} --namespace {namespace} && slackwater what-if {file}",
    )


def _containers(found: Assessment, key: tuple[str, str, str], pods: set[str], share: int) -> list[ContainerAdvice]:
    """By container name; the pod that needs most decides. Of a template, the newest pod shows what it asks for."""
    namespace, owner, _ = key
    made: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    newest: dict[tuple[str, str], tuple[float, float]] = {}
    for kind in (CPU, MEMORY):
        for (_, name, container), each in _own(found, kind, namespace, pods):
            into = made[container]
            pod = found.census.pods[namespace, name]
            shown = (0.0 if owner in SINGLE else pod.created, _asked(pod, container, kind, each))
            if shown >= newest.get((container, kind), shown):
                newest[container, kind] = shown
                into["asked"][kind], into["limits"][kind] = shown[1], pod.limits.get((container, kind), math.inf)
            for field_name, value in (("requests", _wanted(kind, each, share)), ("peak", each.peak)):
                into[field_name][kind] = max(into[field_name].get(kind, 0.0), value)
    return [
        ContainerAdvice(name, dict(each["asked"]), _bound(each), _limits(each), dict(each["peak"]))
        for name, each in sorted(made.items())
    ]


def _bound(each: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Requests that an API server takes: none above its limit, in the whole steps in which they are written."""
    return {kind: min(value, _whole(kind, each["limits"][kind])) for kind, value in each["requests"].items()}


def _whole(kind: str, limit: float) -> float:
    return math.floor(limit / MIBI) * MIBI if kind == MEMORY and math.isfinite(limit) else limit


def _limits(each: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    return {kind: limit for kind, limit in each["limits"].items() if math.isfinite(limit)}


def _asked(pod: Pod, container: str, kind: str, each: UsageStatistics) -> float:
    """What a container asked for last; where Slackwater lowered its pod, its part of what the pod declares."""
    asked = pod.requests.get((container, kind), each.asked)
    whole = sum(value for (_, what), value in pod.requests.items() if what == kind)
    return asked * max(pod.declared.get(kind, whole) / whole, 1.0) if whole > 0 else asked


def _own(
    found: Assessment, kind: str, namespace: str, pods: set[str]
) -> list[tuple[tuple[str, str, str], UsageStatistics]]:
    """Its containers, without those that only prepare a pod: their requests stand elsewhere and seldom count."""
    figures = found.levels["container"].get(kind, {})
    return [
        ((key[0], key[1], key[2]), each)
        for key, each in figures.items()
        if key[0] == namespace and key[1] in pods and key[2] not in found.census.pods[key[0], key[1]].initial
    ]


def _wanted(kind: str, each: UsageStatistics, share: int) -> float:
    value = each.quantiles[PEAK] * MARGIN if kind == MEMORY else each.quantiles[share]
    step = MIBI if kind == MEMORY else 0.01
    return max(LEAST[kind], math.ceil(value / step - 1e-9) * step)


def _differs(each: ContainerAdvice) -> bool:
    """Whether it should ask for something else; or would, if its limit let it."""
    return any(
        abs(each.requests[kind] - asked) > WORTH * max(asked, LEAST[kind]) or _limited(each, kind)
        for kind, asked in each.asked.items()
    )


def _limited(each: ContainerAdvice, kind: str) -> bool:
    return each.requests[kind] >= _whole(kind, each.limits.get(kind, math.inf))


def _given_back(
    found: Assessment, key: tuple[str, str, str], pods: set[str], changed: Mapping[str, ContainerAdvice]
) -> dict[str, float]:
    """The mean over the period, had all pods of a template asked for what its newest pod asks for."""
    namespace, owner, _ = key
    period = float(found.grid.step * found.grid.count)
    back = {CPU: 0.0, MEMORY: 0.0}
    for kind in back:
        for (_, pod, name), each in _own(found, kind, namespace, pods):
            if name in changed:
                own = _asked(found.census.pods[namespace, pod], name, kind, each)
                asked = own if owner in SINGLE else changed[name].asked[kind]
                back[kind] += (asked - changed[name].requests[kind]) * each.seconds / period
    return back


def _notes(containers: list[ContainerAdvice]) -> list[str]:
    """What limits have to do with it."""
    told = []
    for each in containers:
        for kind, limit in each.limits.items():
            if _limited(each, kind):
                told.append(f"{each.name}: it needs all of its {kind} limit, maybe more; raise the limit as well")
            elif each.peak.get(kind, 0.0) >= 0.98 * limit:
                told.append(f"{each.name}: its use reaches its {kind} limit, so it may need more than was seen")
            if each.asked.get(kind) == limit and not _limited(each, kind):
                told.append(
                    f"{each.name}: {kind} request and limit are equal; a lower request ends QoS class Guaranteed"
                )
    return told


def _scaled(found: Assessment, namespace: str, kind: str, name: str) -> list[str]:
    scaler = found.census.scalers.get((namespace, kind, name))
    if scaler is None:
        return []
    return [
        f"HorizontalPodAutoscaler {scaler} scales it: where it aims at a share of requests, change its target as well"
    ]


def _batch_note(namespace: str, pods: int, tasks: int) -> tuple[str, ...]:
    """That requests of its task pods can be lowered for it; those of drivers never are."""
    if not tasks:
        return ()
    one = tasks == 1
    some = f"{tasks:,} of {pods:,} pods {'is a task pod: for it' if one else 'are task pods: for these'},"
    whom = "task pods:" if tasks == pods else some
    return (f"{whom} with the label {names.MANAGED}=true on namespace {namespace} nothing needs to be rewritten",)


def _requests(each: ContainerAdvice) -> list[tuple[str, str]]:
    """The advised requests by kind, as Kubernetes writes them."""
    return [(kind, as_quantity(kind, value, mebibytes=True)) for kind, value in sorted(each.requests.items())]


def _yaml(kind: str, containers: list[ContainerAdvice]) -> str:
    """A patch of the object: the pod template where there is one."""
    path = {
        **dict.fromkeys(SINGLE, ("spec",)),
        "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    }.get(kind, ("spec", "template", "spec"))
    lines = [f"{'  ' * depth}{step}:" for depth, step in enumerate(path)]
    inner = "  " * len(path)
    lines.append(f"{inner}containers:")
    for each in containers:
        asked = ", ".join(f"{what}: {text}" for what, text in _requests(each))
        lines += [f"{inner}- name: {each.name}", f"{inner}  resources:", f"{inner}    requests: {{{asked}}}"]
    return "\n".join(lines)


def _kubectl(namespace: str, kind: str, name: str, containers: list[ContainerAdvice]) -> str:
    """The line that sets it; empty where the object must be written anew."""
    if kind not in SETTABLE:
        return ""
    lines = [
        f"kubectl -n {namespace} set resources {kind.lower()}/{name} -c {each.name} --requests="
        + ",".join(f"{what}={text}" for what, text in _requests(each))
        for each in containers
    ]
    return "\n".join(lines)
