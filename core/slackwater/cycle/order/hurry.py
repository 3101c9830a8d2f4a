"""HaSTE's urgency at the gate (paper 001): how much an app's next pods hurry, while a round picks some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slackwater.cycle.snapshot import App, PodGroup
from slackwater.ordering.urgency import Stage, urgency
from slackwater.roles import Role


class AppUrgency:
    """One app: how far the groups of its leading stage are, and those that wait on it, with what was picked.

    `unit` is one unit's share of the nodes, by kind.
    """

    def __init__(self, app: App, unit: Mapping[str, float]) -> None:
        self._leading: dict[str, Stage] = {}
        self._waiting: dict[str, Stage] = {}
        for group in app.groups:
            if group.role is not Role.DRIVER:
                self._side(group)[group.key] = _stage(group, 0, _size(group, unit))

    def _side(self, group: PodGroup) -> dict[str, Stage]:
        return self._waiting if group.waiting else self._leading

    def pick(self, group: PodGroup, picked: int) -> None:
        """So many pods of the group were picked in this round: they count as assigned and occupying."""
        side = self._side(group)
        side[group.key] = _stage(group, picked, side[group.key].size)

    def of(self, groups: Sequence[PodGroup]) -> list[float]:
        """The urgency of each group."""
        found = urgency(_merged([*self._leading.values()]), [*self._waiting.values()])
        return [found.waiting if group.waiting else found.leading for group in groups]


def _size(group: PodGroup, unit: Mapping[str, float]) -> float:
    """R of the paper: one pod's share of the nodes, summed over kinds."""
    return float(sum(value * unit.get(kind, 0.0) for kind, value in group.request.items()))


def _stage(group: PodGroup, picked: int, size: float) -> Stage:
    return Stage(
        total=group.total,
        assigned=group.charged + group.finished + picked,
        occupying=group.charged + picked,
        size=size,
        finished=group.finished,
    )


def _merged(stages: Sequence[Stage]) -> Stage:
    """Several groups of one leading stage as one, with the mean size weighted by what occupies."""
    if len(stages) == 1:
        return stages[0]
    occupying = sum(stage.occupying for stage in stages)
    held = sum(stage.occupying * stage.size for stage in stages)
    return Stage(
        total=sum(stage.total for stage in stages),
        assigned=sum(stage.assigned for stage in stages),
        occupying=occupying,
        size=held / occupying if occupying else 0.0,
        finished=sum(stage.finished for stage in stages),
    )
