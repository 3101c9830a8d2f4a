"""How use runs over a pod's life: means per tenth of the time between its start and its end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from slackwater_monitor.assessment.pods import PodHistory
from slackwater_monitor.assessment.windows import Floats, Index, Rows
from slackwater_monitor.history.grid import Grid

BINS = 10
# The middle of each tenth, with the ends of life.
AT = (0.0, *((number + 0.5) / BINS for number in range(BINS)), 1.0)


@dataclass(slots=True)
class LifetimeUsage:
    """Sums per container and tenth of life; containers whose start or end is unknown have none."""

    start: Floats  # Unix seconds per container; NaN where unknown
    end: Floats
    grid: Grid
    total: Floats = field(init=False)
    seconds: Floats = field(init=False)

    @classmethod
    def of(cls, people: PodHistory, index: Index, grid: Grid) -> LifetimeUsage:
        """Empty curves of all containers."""
        pods = [people.pods[namespace, name] for namespace, name, _ in index.names]
        start = np.array([pod.begun or pod.scheduled or np.nan for pod in pods], dtype=np.float64)
        end = np.array([pod.completed or np.nan for pod in pods], dtype=np.float64)
        return cls(start, end, grid)

    def __post_init__(self) -> None:
        self.total, self.seconds = np.zeros((len(self.start), BINS)), np.zeros((len(self.start), BINS))

    def add(self, rows: Rows) -> None:
        """Take in the windows of one piece, each at the tenth in which its middle lies."""
        middle = self.grid.start + (rows.window + 0.5) * self.grid.step
        start, end = self.start[rows.container], self.end[rows.container]
        lived = np.divide(middle - start, end - start, out=np.full(len(rows), np.nan), where=end > start)
        known = (lived >= 0) & (lived <= 1)
        place = rows.container[known], np.minimum((lived[known] * BINS).astype(np.int64), BINS - 1)
        np.add.at(self.total, place, (rows.use * rows.seconds)[known])
        np.add.at(self.seconds, place, rows.seconds[known])

    def means(self) -> Floats:
        """Mean use per container and tenth; NaN where nothing was seen."""
        nothing = np.full_like(self.total, np.nan)
        return np.divide(self.total, self.seconds, out=nothing, where=self.seconds > 0)


def shape(means: Floats, *, peak: bool) -> tuple[float, ...] | None:
    """The common course of several pods over AT, of mean 1 or of peak 1; None where most of life was not seen.

    Each pod counts alike, whatever its size: its course is divided by its own mean first.
    """
    means = means[np.isfinite(means).any(axis=1)]  # of a pod shorter than a window nothing may have been seen
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = means / np.nanmean(means, axis=1, keepdims=True) if len(means) else means
    usable = relative[np.isfinite(relative).any(axis=1)]
    if not len(usable):
        return None
    seen = np.asarray(np.isfinite(usable).any(axis=0))
    if seen.sum() < BINS // 2:
        return None
    course = np.array([np.nanmean(usable[:, at]) if seen[at] else np.nan for at in range(BINS)])
    course = np.interp(np.arange(BINS), np.flatnonzero(seen), course[seen])
    whole = np.concatenate((course[:1], course, course[-1:]))
    size = float(whole.max()) if peak else float(np.trapezoid(whole, AT))
    return tuple((whole / size).tolist()) if size > 0 else None
