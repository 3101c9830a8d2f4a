"""What an overloaded node does to its tasks: the two rules of paper 000's simulator.

CPU is compressible: tasks advance more slowly and no work is lost. Memory is not: tasks break.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from slackwater.validation import amount

Task = TypeVar("Task", bound=Hashable)


class Victims(StrEnum):
    """Who breaks when memory runs out. The paper says "all the demanding task"."""

    GROWING = "growing"  # those whose memory grew in that second
    ALL = "all"


def progress(cores: float, system: float, demands: Sequence[float]) -> float:
    """The factor by which every task advances: min(1, (NC − system) / Σ demand)."""
    wanted = sum(amount("demands", demand) for demand in demands)
    free = max(0.0, amount("cores", cores) - amount("system", system))
    return 1.0 if wanted <= free else free / wanted


def crash_victims(
    capacity: float,
    system: float,
    before: Mapping[Task, float],
    after: Mapping[Task, float],
    rule: Victims = Victims.GROWING,
) -> list[Task]:
    """The tasks that break when `system` and their memory no longer fit: none while it does.

    If nothing grew and it still does not fit (the node shrank), all break: somebody has to.
    """
    if amount("system", system) + sum(amount("after", use) for use in after.values()) <= amount("capacity", capacity):
        return []
    growing = [task for task, use in after.items() if use > before.get(task, 0.0)]
    return list(after) if rule is Victims.ALL or not growing else growing
