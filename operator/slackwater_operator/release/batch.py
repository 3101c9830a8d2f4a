"""Which of a round's releases are placed and written together, and how. Few enough to decide again; gangs whole."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from slackwater.cycle.cycle import Release
from slackwater.cycle.snapshot import Snapshot
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.clients.extenderclient import PlacementWish

# How a pod is released. Placed by the extender: its node is nominated, or the filter alone brings it there.
NOMINATED, STEERED = "nominated", "steered"
LIFTED = "lifted"  # by its gate alone, as its queue says: the scheduler searches
GROWN = "grown"  # towards nodes that do not exist yet


class Handover(NamedTuple):
    """A release that is to be written."""

    pod: PodRecord
    node: str
    how: str
    gang: bool = False  # it goes with others, or not at all

    @property
    def nominates(self) -> bool:
        """Whether its node is written on it; a parked pod is in the scheduler's hands already, and has to be told."""
        return self.how == NOMINATED or self.pod.parked


def batch(releases: Iterable[Release], size: int) -> Sequence[Release]:
    """The first releases of a round, at least `size` of them if there are as many; a gang is never cut in two."""
    chosen: list[Release] = []
    for some in _in_turn(_pieces(releases)):
        if len(chosen) >= size:
            break
        chosen += some
    return chosen


def steerable(snapshot: Snapshot, releases: Iterable[Release]) -> set[str]:
    """Pods that need no nomination where the extender's filter answers with their node alone (decision 0024).

    An extender that is started anew has forgotten their nodes, and lets them search. That may cost a gang its
    wholeness, and takes drivers and pods of a queue with nodes of its own where they must not go: these are nominated.
    Whoever asks must also leave out pods that the scheduler could place by lowered requests if nobody answers it.
    """
    chosen = {queue.name for queue in snapshot.queues if queue.nodes is not None}
    return {each.uid for each in releases if not (each.driver or each.avoid or each.gang or each.queue in chosen)}


def beside(chosen: Iterable[Release], wishes: Iterable[PlacementWish], refused: Container[str]) -> list[PlacementWish]:
    """Pods of gangs of which one was refused, each with the node where the round found room for it beside the others.

    Placement looks at one pod after the other: of pods of several sizes it may give one the node that another needs.
    """
    gangs = {each.uid: each for each in chosen if each.gang}
    broken = {each.app for each in gangs.values() if each.uid in refused}
    apart = {each.app for each in gangs.values() if not each.node}
    found = {uid: each.node for uid, each in gangs.items() if each.app in broken - apart}
    alone = {node: (node,) for node in found.values()}  # listed once for all pods that share them
    return [replace(each, nodes=alone[found[each.uid]]) for each in wishes if each.uid in found]


def moves(cache: OperatorCache, pods: Iterable[tuple[PodRecord, str]]) -> list[PlacementWish]:
    """Pods that were released before, each with a node that it must not get again, as questions for another one."""
    nodes = functools.cache(cache.queue_nodes)
    return [
        PlacementWish(
            pod.uid,
            submitted=pod.created,
            nodes=nodes(cache.governing.queue_of(pod.namespace)),
            avoid=(avoid,) if avoid else (),
        )
        for pod, avoid in pods
    ]


def _pieces(releases: Iterable[Release]) -> list[list[Release]]:
    """What is released together: a gang as a whole, everything else pod by pod."""
    pieces: list[list[Release]] = []
    for each in releases:
        if pieces and each.gang and pieces[-1][-1].app == each.app:
            pieces[-1].append(each)
        else:
            pieces.append([each])
    return pieces


def _in_turn(pieces: Sequence[list[Release]]) -> Iterable[list[Release]]:
    """One piece from each queue in turn: where queues share nodes, none takes all the room before the others."""
    lines: dict[str, deque[list[Release]]] = {}
    for piece in pieces:
        lines.setdefault(piece[0].queue, deque()).append(piece)
    while lines:
        for name in list(lines):
            yield lines[name].popleft()
            if not lines[name]:
                del lines[name]
