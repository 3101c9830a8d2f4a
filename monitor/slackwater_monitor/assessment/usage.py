"""Statistics per container, pod, app, namespace, user and node.

Efficiency is equation 7 of paper 000 at every level: used over reserved, summed over samples. Percentile and maximum
are those of the level's own series over windows: for containers and pods the peaks within each window, for groups of
pods, which come and go within a window, the mean over it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slackwater.estimation.calibration import sufficient
from slackwater.estimation.efficiency import Usage
from slackwater_monitor.assessment.windows import Floats, Ints, Rows

# The shares of the time a lowered request would have sufficed; 1 is the largest value ever seen.
QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)
P95, PEAK = QUANTILES.index(0.95), QUANTILES.index(1.0)


@dataclass(frozen=True, slots=True)
class UsageStatistics:
    """One thing and one kind of resource. Means are over the time it was observed."""

    used: float  # mean
    p95: float
    peak: float
    asked: float  # mean of its requests; 0 where it has none
    seconds: float  # observed
    usage: Usage  # eq. 7 over the containers that have a request
    quantiles: tuple[float, ...] = ()

    @property
    def efficiency(self) -> float | None:
        """Used over reserved; None where nothing was reserved."""
        return self.usage.efficiency


def measure(group: Ints, rows: Rows, windows: int, step: float, *, beside: bool) -> dict[int, UsageStatistics]:
    """Figures by group number. `beside`: members run side by side (a pod's containers), so their peaks add up."""
    codes, inverse = np.unique(group * windows + rows.window, return_inverse=True)
    if beside:
        series: Floats = np.bincount(inverse, rows.peak, len(codes)).astype(np.float64)
        observed = np.zeros(len(codes))
        np.maximum.at(observed, inverse, rows.seconds)
    else:
        series = np.bincount(inverse, rows.use * rows.seconds / step, len(codes)).astype(np.float64)
        observed = np.full(len(codes), float(step))
    present, first = np.unique(codes // windows, return_index=True)
    areas = _areas(np.searchsorted(present, group), rows, len(present))
    bounds = np.append(first, len(codes))
    return {
        int(number): _figures(
            series[bounds[at] : bounds[at + 1]], float(observed[bounds[at] : bounds[at + 1]].sum()), areas[:, at]
        )
        for at, number in enumerate(present.tolist())
    }


def _areas(group: Ints, rows: Rows, count: int) -> Floats:
    """Per group: Σ used, Σ used where something is asked, Σ asked; each over observed seconds."""
    used = rows.use * rows.seconds
    held = np.where(rows.asked > 0, used, 0.0)
    return np.array(
        [np.bincount(group, value, count) for value in (used, held, rows.asked * rows.seconds)], dtype=np.float64
    )


def _figures(series: Floats, seconds: float, areas: Floats) -> UsageStatistics:
    quantiles = sufficient(series, QUANTILES)
    used, held, asked = areas.tolist()
    return UsageStatistics(
        used=used / seconds,
        p95=float(quantiles[P95]),
        peak=float(quantiles[PEAK]),
        asked=asked / seconds,
        seconds=seconds,
        usage=Usage(held, asked),
        quantiles=tuple(quantiles.tolist()),
    )


@dataclass(slots=True)
class Dense:
    """Groups that are few and live long (namespaces, users, nodes): one row of windows for each."""

    group: Ints  # of each container
    count: int
    windows: int
    step: float
    used: NDArray[np.float32] = field(init=False)
    asked: NDArray[np.float32] = field(init=False)
    present: NDArray[np.bool_] = field(init=False)
    areas: Floats = field(init=False)

    def __post_init__(self) -> None:
        shape = (self.count, self.windows)
        self.used, self.asked = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        self.present, self.areas = np.zeros(shape, np.bool_), np.zeros((3, self.count))

    def add(self, rows: Rows) -> None:
        """Take in the windows of one piece."""
        chosen, share = self.group[rows.container], rows.seconds / self.step
        codes, inverse = np.unique(chosen * self.windows + rows.window, return_inverse=True)
        for target, value in ((self.used, rows.use), (self.asked, rows.asked)):
            target.reshape(-1)[codes] += np.bincount(inverse, value * share, len(codes)).astype(np.float32)
        self.present.reshape(-1)[codes] = True
        self.areas += _areas(chosen, rows, self.count)

    def figures(self) -> dict[int, UsageStatistics]:
        """Figures of every group that was ever seen."""
        made = {}
        for number in np.flatnonzero(self.present.any(axis=1)).tolist():
            seen = self.present[number]
            made[number] = _figures(
                self.used[number, seen].astype(np.float64), float(seen.sum() * self.step), self.areas[:, number]
            )
        return made
