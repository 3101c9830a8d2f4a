"""Which stage of a job should go first, so that its reduces neither starve nor idle (paper 001).

Three rules of the authors: (i) the further its maps, the more urgent the rest of them; (ii) the more its reduces
hold, the more urgent the maps they wait for; (iii) its reduces are more urgent than its maps exactly while their
share of what the job runs is below the progress of the maps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slackwater.validation import amount


@dataclass(frozen=True, slots=True)
class Stage:
    """How far one stage of a job is. `size` is one task's share of a node, summed over kinds (R in the paper)."""

    total: float
    assigned: float
    occupying: float
    size: float
    finished: float = 0.0

    def __post_init__(self) -> None:
        numbers = (self.total, self.assigned, self.occupying, self.size, self.finished)
        if not (min(numbers) >= 0 and math.isfinite(sum(numbers))):  # NaN fails both
            for field in ("total", "assigned", "occupying", "size", "finished"):
                amount(f"stage.{field}", getattr(self, field))

    @property
    def progress(self) -> float:
        """Share of tasks assigned: p = A/T, and 1 for a stage without tasks."""
        return progress(self.assigned, self.total)


def progress(assigned: float, total: float) -> float:
    """Share of tasks assigned."""
    return min(1.0, assigned / total) if total > 0 else 1.0


class Urgency(NamedTuple):
    """The urgency of the leading stage (maps) and of what waits for it (reduces)."""

    leading: float
    waiting: float


def urgency(leading: Stage, waiting: Sequence[Stage]) -> Urgency:
    """U^m = p·A^r·R^r and U^r = U^m·p/occ, with occ = O^r·R^r / (O^m·R^m + O^r·R^r) (paper 001, reconstructed).

    Zero rule: nothing assigned (A^r = 0) makes both 0, nothing occupying (O^r = 0) makes U^r 0. A floor of one task
    instead was measured to be harmful (papers: makespan 647 s against 371 s).
    """
    assigned = sum(stage.assigned * stage.size for stage in waiting)
    held = sum(stage.occupying * stage.size for stage in waiting)
    return urgency_of(leading.progress, leading.occupying * leading.size, assigned, held)


def urgency_of(progress: float, maps: float, assigned: float, held: float) -> Urgency:
    """The same of numbers that were checked before: p, O^m·R^m, A^r·R^r and O^r·R^r."""
    hurry = progress * assigned
    if held <= 0:
        return Urgency(hurry, 0.0)
    occupancy = held / (maps + held)
    return Urgency(hurry, hurry * progress / occupancy)


def stage_urgencies(stages: Sequence[Stage]) -> tuple[float, ...]:
    """The urgency of each stage of a job of many stages, in their order.

    Maps are read as the earliest unfinished stage, reduces as the stages after it; finished stages get 0. An
    iterative job passes the counters of its current iteration only.
    """
    lead = next((i for i, stage in enumerate(stages) if stage.finished < stage.total), None)
    if lead is None:
        return (0.0,) * len(stages)
    found = urgency(stages[lead], stages[lead + 1 :])
    return (0.0,) * lead + (found.leading,) + (found.waiting,) * (len(stages) - lead - 1)
