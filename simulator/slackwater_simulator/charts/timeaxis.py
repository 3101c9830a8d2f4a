"""Time axes: round moments with their labels, as time passed or as the clock on the wall."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from slackwater_simulator.charts.amounts import unit_of
from slackwater_simulator.charts.svg import label, ticks

# Steps between two labels of a clock, in seconds.
STEPS = (1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800)
# Beyond those, in months.
MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 12000)
DAY = 86400.0


def passed(begin: float, end: float, count: int = 5) -> tuple[list[tuple[float, str]], str]:
    """Round moments in seconds since a beginning, with labels in the unit a person would use, and that unit."""
    size, unit = unit_of(end)
    return [(value * size, label(value)) for value in ticks(begin / size, end / size, count)], unit


def clock(begin: float, end: float, count: int = 6) -> list[tuple[float, str]]:
    """Round moments (UTC) between two moments in Unix seconds; midnight is told by its date, a long time by months."""
    step = next((step for step in STEPS if (end - begin) / step <= count), None)
    if step is None:
        return _months(begin, end, count)
    found = [index * step for index in range(math.ceil(begin / step), math.floor(end / step) + 1)]
    return [(float(at), _said(at, step)) for at in found]


def _months(begin: float, end: float, count: int) -> list[tuple[float, str]]:
    """The first days of every so many months, or of every so many years."""
    dates = (datetime.fromtimestamp(at, UTC) for at in (begin, end))
    first, last = (12 * date.year + date.month - 1 for date in dates)
    step = next((step for step in MONTHS if (last - first) / step <= count), MONTHS[-1])
    found = [datetime(at // 12, at % 12 + 1, 1, tzinfo=UTC) for at in range(-(-first // step) * step, last + 1, step)]
    words = "%Y" if step % 12 == 0 else "%b %Y"
    return [(each.timestamp(), each.strftime(words)) for each in found if each.timestamp() >= begin]


def _said(at: float, step: float) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    if at % DAY == 0:
        return f"{moment:%-d %b}"
    return f"{moment:%H:%M:%S}" if step < 60 else f"{moment:%H:%M}"


def exactly(at: float) -> str:
    """A moment as a pointer tells it."""
    return f"{datetime.fromtimestamp(at, UTC):%-d %b %H:%M:%S} UTC"
