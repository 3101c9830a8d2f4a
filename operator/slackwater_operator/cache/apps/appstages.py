"""The stages of an app: their levels, which of them wait on an earlier one, and parents of which no pod is there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from slackwater.cycle.snapshot import PodGroup
from slackwater.errors import SlackwaterError
from slackwater.ordering.daglevels import level_of
from slackwater_cluster import names
from slackwater_cluster.apps.resolver import own
from slackwater_cluster.pods import metadata
from slackwater_operator.cache.apps.appindex import Pod

# Dependencies between the stages of one app that are put into levels; they are looked at whenever a pod changes.
MOST_EDGES = 10_000


class AwaitedStages(NamedTuple):
    """A stage whose parents have no pod there, and when its first pod was created."""

    stage: str
    parents: frozenset[str]
    since: float


def levelled(
    groups: tuple[PodGroup, ...], pods: Sequence[Pod]
) -> tuple[tuple[PodGroup, ...], tuple[AwaitedStages, ...], list[str]]:
    """Levels of the stages (paper 003), and which groups wait on an earlier one (paper 001).

    A stage that is named as a parent counts although no pod of it is there: it may come, or have come and gone.
    """
    edges = {(parent, pod.member.stage) for pod in pods for parent in metadata.parents(own(pod.record, names.PARENTS))}
    if not edges:
        return groups, (), []
    if len(edges) > MOST_EDGES:
        told = f"{names.PARENTS}: {len(edges)} dependencies between stages; at most {MOST_EDGES} are read"
        return groups, (), [told]
    here = {group.stage for group in groups}
    try:
        levels = level_of(sorted(here | {parent for parent, _ in edges}), sorted(edges))
    except SlackwaterError as problem:
        return groups, (), [f"{names.PARENTS}: {problem}"]
    unfinished = [levels[g.stage] for g in groups if not g.driver and (g.held or g.charged or g.blocked)]
    first = min(unfinished, default=0)
    found = tuple(replace(g, level=levels[g.stage], waiting=not g.driver and levels[g.stage] > first) for g in groups)
    return found, _absent(edges, here, pods), []


def _absent(edges: Iterable[tuple[str, str]], here: Collection[str], pods: Sequence[Pod]) -> tuple[AwaitedStages, ...]:
    """Stages that name parents of which no pod is there."""
    lacking: dict[str, set[str]] = {}
    for parent, stage in edges:
        if parent not in here:
            lacking.setdefault(stage, set()).add(parent)
    first: dict[str, float] = {}
    for pod in pods:  # the oldest first
        first.setdefault(pod.member.stage, pod.record.created)
    return tuple(AwaitedStages(stage, frozenset(each), first[stage]) for stage, each in sorted(lacking.items()))
