"""HaSTE's urgency at the gate (paper 001): how much an app's next pods hurry, while a round picks some of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slackwater.cycle.snapshot import App, PodGroup
from slackwater.ordering.stageurgency import Urgency, progress, urgency_of
from slackwater.resources import Resources
from slackwater.validation import amount


class AppUrgency:
    """One app: how far the groups of its leading stage are, and those that wait on it, with what was picked.

    `size` tells R of the paper: one pod's share of the nodes, by what it requests (`pod_size`).
    """

    def __init__(self, app: App, size: Callable[[Resources], float]) -> None:
        # What a round does not change of each is looked at once.
        self._tasks = [
            (group.key, group.waiting, group.charged, group.total, group.finished, size(group.request))
            for group in app.groups
            if not group.driver
        ]
        self._picked: dict[str, int] = {}

    def pick(self, group: PodGroup, picked: int) -> None:
        """So many pods of the group were picked in this round: they count as assigned and occupying."""
        self._picked[group.key] = picked

    # Several groups of the leading stage count as one:  R^m = Σ O·R ÷ Σ O
    def now(self) -> Urgency:
        """The urgency of the leading stage, and of what waits on it."""
        leading = total = done = occupying = 0
        maps = assigned = held = 0.0
        for key, waiting, charged, pods, finished, size in self._tasks:
            here = charged + self._picked.get(key, 0)
            if waiting:
                assigned += (here + finished) * size
                held += here * size
            else:
                leading += 1
                total += pods
                done += here + finished
                occupying += here
                maps += here * size
        if leading > 1 and occupying:
            maps = occupying * (maps / occupying)
        return urgency_of(progress(done, total), maps, assigned, held)


def pod_size(request: Resources, unit: Mapping[str, float]) -> float:
    """R: the share summed over kinds. `unit` is one unit's share of the nodes, by kind."""
    return amount("size", sum([value * unit.get(kind, 0.0) for kind, value in request.items()]))
