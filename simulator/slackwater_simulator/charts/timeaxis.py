"""Time axes: round moments with their labels, as time passed or as the clock on the wall."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from slackwater_simulator.charts.svg import label, ticks, unit_of

# Steps between two labels of a clock, in seconds.
STEPS = (1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
DAY = 86400.0


def passed(begin: float, end: float, count: int = 5) -> tuple[list[tuple[float, str]], str]:
    """Round moments in seconds since a beginning, with labels in the unit a person would use, and that unit."""
    size, unit = unit_of(end)
    return [(value * size, label(value)) for value in ticks(begin / size, end / size, count)], unit


def clock(begin: float, end: float, count: int = 6) -> list[tuple[float, str]]:
    """Round moments of the day (UTC) between two moments in Unix seconds; midnight is told by its date."""
    step = next((step for step in STEPS if (end - begin) / step <= count), STEPS[-1])
    found = [index * step for index in range(math.ceil(begin / step), math.floor(end / step) + 1)]
    return [(float(at), _said(at, step)) for at in found]


def _said(at: float, step: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    if at % DAY == 0:
        return f"{moment:%-d %b}"
    return f"{moment:%H:%M:%S}" if step < 60 else f"{moment:%H:%M}"


def exactly(at: float) -> str:
    """A moment as a pointer tells it."""
    return f"{datetime.fromtimestamp(at, UTC):%-d %b %H:%M:%S} UTC"
