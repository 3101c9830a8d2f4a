"""Which of a round's releases are placed and written together: few enough to decide again soon, gangs whole."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence

from slackwater.cycle.cycle import Release
from slackwater.cycle.snapshot import Snapshot


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
