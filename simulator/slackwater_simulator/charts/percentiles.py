"""Mean, median and 95th percentile as horizontal bars, grouped: a comparison that fits a phone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slackwater_simulator.charts.amounts import seconds as duration
from slackwater_simulator.charts.amounts import unit_of
from slackwater_simulator.charts.svg import Scale, drawing, label, number, text, time_axis

WIDTH, LEFT, RIGHT = 460.0, 134.0, 62.0
HEAD, BOTTOM = 22.0, 34.0
# Rows share the height of a neighbouring chart, within what still looks like a bar.
HEIGHT, THINNEST, THICKEST = 230.0, 19.0, 44.0


@dataclass(frozen=True, slots=True)
class Range:
    """One bar; without a mean there is nothing to show."""

    name: str
    css: str
    mean: float | None
    median: float
    p95: float

    @property
    def longest(self) -> float:
        """Where it ends."""
        return 0.0 if self.mean is None else max(self.p95, self.mean)


def ranges(title: str, groups: Sequence[tuple[str, Sequence[Range]]]) -> Markup:
    """The drawing; all groups share one scale."""
    count = sum(len(entries) for _, entries in groups)
    longest = max((entry.longest for _, entries in groups for entry in entries), default=0.0) or 1.0
    x = Scale(0.0, longest, LEFT, WIDTH - RIGHT)
    row = min(max((HEIGHT - BOTTOM - HEAD * len(groups)) / max(count, 1), THINNEST), THICKEST)
    height = HEAD * len(groups) + row * count
    parts, top = [time_axis(x, HEAD - 4, height + 2, 4, "{unit}")], 0.0
    for name, entries in groups:
        parts.append(text("group", 0, top + 15, name))
        top += HEAD
        for entry in entries:
            parts.append(_row(entry, x, top, row))
            top += row
    return drawing(WIDTH, height + BOTTOM, title, "".join(parts))


def _row(entry: Range, x: Scale, top: float, row: float) -> str:
    name = entry.name if len(entry.name) <= 20 else entry.name[:19] + "…"
    middle, half = top + row / 2, row * 0.34
    words = text("tick end", LEFT - 8, middle + 4, name)
    if entry.mean is None:
        return words + text("tick none", LEFT + 4, middle + 4, "none finished")
    zero, mean, median, p95 = (number(x.at(value)) for value in (0.0, entry.mean, entry.median, entry.p95))
    return (
        f'{words}<path class="whisker {entry.css}" d="M{zero} {number(middle)}H{p95}M{p95} {number(middle - 4)}v8"/>'
        f'<path class="block {entry.css}" d="M{zero} {number(middle - half)}H{mean}v{number(2 * half)}H{zero}z"/>'
        f'<path class="notch" d="M{median} {number(middle - 5)}l3.5 5l-3.5 5l-3.5 -5z"/>'
        + text("value", x.at(entry.longest) + 5, middle + 4, _mean(entry.mean, x.high))
    )


def _mean(value: float, longest: float) -> str:
    """In the unit of the axis, unless that would be a fraction of it."""
    size, unit = unit_of(longest)
    return f"{label(value / size)} {unit}" if value >= size else duration(value)
