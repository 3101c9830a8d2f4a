"""Which of a round's releases are placed and written together, and how. Few enough to decide again; gangs whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from slackwater.cycle.cycle import Release
from slackwater.cycle.snapshot import Snapshot
from slackwater_cluster.watch.records import PodRecord

# How a pod is released. Placed by the extender: its node is nominated, or the filter alone brings it there.
NOMINATED, STEERED = "nominated", "steered"
LIFTED = "lifted"  # by its gate alone, as its queue says: the scheduler searches
GROWN = "grown"  # towards nodes that do not exist yet


class Handover(NamedTuple):
    """A release that is to be written."""

    pod: PodRecord
    node: str
    how: str

    @property
    def nominates(self) -> bool:
        """Whether its node is written on it; a parked pod is in the scheduler's hands already, and has to be told."""
        return self.how == NOMINATED or self.pod.parked


def batch(snapshot: Snapshot, releases: Iterable[Release], size: int) -> Sequence[Release]:
    """The first releases of a round, at least `size` of them if there are as many; a gang is never cut in two."""
    queues = {app.id: app.queue for app in snapshot.apps}
    gangs = {app.id for app in snapshot.apps if app.gang}
    chosen: list[Release] = []
    for some in _in_turn(_pieces(releases, gangs), queues):
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
    gangs = {app.id for app in snapshot.apps if app.gang}
    apps = {app.id: app.queue for app in snapshot.apps}
    chosen = {queue.name for queue in snapshot.queues if queue.nodes is not None}
    return {
        each.uid
        for each in releases
        if not (each.driver or each.avoid or each.app in gangs or apps.get(each.app, "") in chosen)
    }


def _pieces(releases: Iterable[Release], gangs: Collection[str]) -> list[list[Release]]:
    """What is released together: a gang as a whole, everything else pod by pod."""
    pieces: list[list[Release]] = []
    for each in releases:
        if pieces and each.app in gangs and pieces[-1][-1].app == each.app:
            pieces[-1].append(each)
        else:
            pieces.append([each])
    return pieces


def _in_turn(pieces: Sequence[list[Release]], queues: Mapping[str, str]) -> Iterable[list[Release]]:
    """One piece from each queue in turn: where queues share nodes, none takes all the room before the others."""
    lines: dict[str, deque[list[Release]]] = {}
    for piece in pieces:
        lines.setdefault(queues.get(piece[0].app, ""), deque()).append(piece)
    while lines:
        for name in list(lines):
            yield lines[name].popleft()
            if not lines[name]:
                del lines[name]
