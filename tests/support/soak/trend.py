"""Whether a series of measurements is flat: its slope, and how much more the last part has than the one before it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

Series = Sequence[tuple[float, float]]  # seconds, value


def slope(series: Series) -> float:
    """What it rises by in an hour, by least squares; 0 for fewer than three measurements."""
    if len(series) < 3:
        return 0.0
    times, values = np.array(series).T
    return float(np.polyfit(times / 3600.0, values, 1)[0])


def rise(series: Series) -> float:
    """Mean of the last half − mean of the half before it. One peak more or less does not decide it."""
    middle = len(series) // 2
    if not middle:
        return 0.0
    return fmean(value for _, value in series[middle:]) - fmean(value for _, value in series[:middle])


def flat(series: Series, share: float, slack: float) -> bool:
    """Whether the last half is larger by less than a share of the first one, or by less than the slack."""
    middle = len(series) // 2
    return not middle or rise(series) <= max(slack, share * fmean(value for _, value in series[:middle]))
