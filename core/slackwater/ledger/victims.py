"""Relief of a node whose memory nears its limit: one task that outgrew what it declared is given up, on request.

    near:    used ≥ percent ÷ 100 × allocatable
    outgrew: used > declared

Whoever keeps to its word stays, whatever its neighbours do. One at a time: while a pod of the node is on its way out,
and until the node was measured after that, the peak may be over already. A sample's own time is compared with ours;
a source whose clock is behind makes relief later, never earlier, and no sample counts twice whichever clock is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slackwater.validation import amount, finite

# Kubelet evicts by itself at 100 MiB below capacity: some per cent above the allowance (87.5), some below the end.
PERCENT = 95.0


@dataclass(frozen=True, slots=True)
class NodeMemory:
    """A node's memory in bytes, as last measured. `at` is the sample's own time."""

    allocatable: float
    used: float
    at: float
    stale: bool = False


@dataclass(frozen=True, slots=True)
class RunningTask:
    """A task that may be asked to leave, from the percentage on that its queue names.

    `controlled`: something would bring it back.
    """

    uid: str
    started: float
    used: float
    declared: float
    controlled: bool
    percent: float = PERCENT


@dataclass(frozen=True, slots=True)
class PressureWatch:
    """Whether a pod of the node is on its way out, and since when a sample tells of the node without it."""

    since: float
    leaving: bool = False


def observe(watch: PressureWatch, now: float, *, leaving: bool) -> PressureWatch:
    """Look once. A pod that was leaving and no longer is has ended by now."""
    finite("now", now)
    return PressureWatch(max(watch.since, now), leaving) if leaving or watch.leaving else watch


def tried(watch: PressureWatch, memory: NodeMemory, *, leaves: bool) -> PressureWatch:
    """Somebody was asked to leave, and does or does not; either way the next one needs another sample."""
    return PressureWatch(max(watch.since, memory.at), leaves)


def near(memory: NodeMemory, percent: float = PERCENT) -> bool:
    """Whether so much is used of what pods may use. A node that offers none cannot be near to it."""
    limit = amount("allocatable", memory.allocatable) * amount("percent", percent) / 100
    return limit > 0 and amount("used", memory.used) >= limit


def victim(watch: PressureWatch, memory: NodeMemory, tasks: Iterable[RunningTask]) -> RunningTask | None:
    """The youngest task with a controller that uses more than it declared, which loses the least work; often nobody."""
    if memory.stale or watch.leaving or not memory.at > watch.since:
        return None
    grown = (task for task in tasks if _outgrew(task, memory) and task.controlled and near(memory, task.percent))
    return max(grown, key=lambda task: (task.started, task.uid), default=None)


def _outgrew(task: RunningTask, memory: NodeMemory) -> bool:
    """A use from before its start is that of another pod of its name (a StatefulSet's)."""
    return task.used > task.declared and task.started < memory.at
