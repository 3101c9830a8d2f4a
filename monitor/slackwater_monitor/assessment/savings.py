"""Where to begin: the recurring apps whose requests exceed their use by most, as a share of the cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from slackwater_cluster import names
from slackwater_monitor.assessment.owners import Member
from slackwater_monitor.assessment.usage import P95, UsageStatistics
from slackwater_monitor.assessment.windows import CPU, MEMORY, Container

SHOWN = 10
GIBI = 1024.0**3


@dataclass(frozen=True, slots=True)
class Place:
    """The task pods of a recurring app, or its other pods, worth starting with."""

    namespace: str
    app: str
    pods: int
    tasks: bool  # task pods: a label on the namespace is enough; else their owners must lower or resize
    cpu: float  # mean cores over the period that its containers asked for and never needed, 95 % of the time
    memory: float  # bytes
    share: float  # the larger of its parts of the cluster
    sentence: str


@dataclass(slots=True)
class _Sum:
    pods: set[str] = field(default_factory=set)
    back: dict[str, float] = field(default_factory=lambda: {CPU: 0.0, MEMORY: 0.0})
    asked: dict[str, float] = field(default_factory=lambda: {CPU: 0.0, MEMORY: 0.0})


def places(
    found: Mapping[str, Mapping[Container, UsageStatistics]],
    members: Mapping[tuple[str, str], Member],
    total: Mapping[str, float],
    period: float,
) -> list[Place]:
    """The best ten. `found` holds the containers' figures by kind, `total` the cluster's size."""
    sums: dict[tuple[str, str, bool], _Sum] = defaultdict(_Sum)
    for kind, figures in found.items():
        for (namespace, pod, _), each in figures.items():
            member = members[namespace, pod]
            place = sums[namespace, member.family, member.role == names.TASK]
            place.pods.add(pod)
            if each.asked > 0:
                place.back[kind] += max(0.0, each.asked - each.quantiles[P95]) * each.seconds / period
                place.asked[kind] += each.asked * each.seconds / period
    ranked = sorted((_place(key, each, total) for key, each in sums.items()), key=lambda place: -place.share)
    return [place for place in ranked[:SHOWN] if place.share > 0]


def _place(key: tuple[str, str, bool], each: _Sum, total: Mapping[str, float]) -> Place:
    namespace, app, tasks = key
    share = max((each.back[kind] / total[kind] for kind in (CPU, MEMORY) if total.get(kind, 0) > 0), default=0.0)
    said = _sentence(each, tasks)
    return Place(namespace, app, len(each.pods), tasks, each.back[CPU], each.back[MEMORY], share, said)


def _sentence(each: _Sum, tasks: bool) -> str:
    parts = [
        f"{each.back[kind] / unit:.1f} of {each.asked[kind] / unit:.1f} {name}"
        for kind, unit, name in ((CPU, 1.0, "cores"), (MEMORY, GIBI, "GiB"))
        if each.asked[kind] > 0
    ]
    how = (
        "task pods: label the namespace slackwater.io/managed=true"
        if tasks
        else "they are not task pods: lower their requests (--advice shows what to write)"
    )
    return f"asks on average for {' and '.join(parts)} that it did not need 95 % of the time; {how}"
