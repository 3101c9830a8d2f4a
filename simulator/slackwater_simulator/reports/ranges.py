"""Mean, median and 95th percentile as horizontal bars, grouped: a comparison that fits a phone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from slackwater_simulator.reports.svg import Scale, duration, element, label, number, ticks, unit_of

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


def ranges(title: str, groups: Sequence[tuple[str, Sequence[Range]]]) -> str:
    """The drawing; all groups share one scale."""
    everything = [entry for _, entries in groups for entry in entries if entry.mean is not None]
    longest = max((max(entry.p95, entry.mean or 0.0) for entry in everything), default=0.0) or 1.0
    size, unit = unit_of(longest)
    x = Scale(0.0, longest, LEFT, WIDTH - RIGHT)
    count = sum(len(entries) for _, entries in groups)
    row = min(max((HEIGHT - BOTTOM - HEAD * len(groups)) / max(count, 1), THINNEST), THICKEST)
    height = HEAD * len(groups) + row * count
    parts = [_axis(x, size, unit, height)]
    top = 0.0
    for name, entries in groups:
        parts.append(f'<text class="group" x="0" y="{number(top + 15)}">{escape(name)}</text>')
        top += HEAD
        for entry in entries:
            parts.append(_row(entry, x, top, row, size, unit))
            top += row
    return element(WIDTH, height + BOTTOM, title, "".join(parts))


def _axis(x: Scale, size: float, unit: str, height: float) -> str:
    parts = []
    for value in ticks(0.0, x.high / size, 4):
        at = number(x.at(value * size))
        parts.append(f'<path class="grid" d="M{at} {number(HEAD - 4)}V{number(height + 2)}"/>')
        parts.append(f'<text class="tick mid" x="{at}" y="{number(height + 15)}">{label(value)}</text>')
    middle = number((LEFT + WIDTH - RIGHT) / 2)
    parts.append(f'<text class="name mid" x="{middle}" y="{number(height + 30)}">{unit}</text>')
    return "".join(parts)


def _row(entry: Range, x: Scale, top: float, row: float, size: float, unit: str) -> str:
    name = entry.name if len(entry.name) <= 20 else entry.name[:19] + "…"
    middle, half = top + row / 2, row * 0.34
    base = number(middle + 4)
    text = f'<text class="tick end" x="{number(LEFT - 8)}" y="{base}">{escape(name)}</text>'
    if entry.mean is None:
        return f'{text}<text class="tick none" x="{number(LEFT + 4)}" y="{base}">none finished</text>'
    zero, mean, median, p95 = (number(x.at(value)) for value in (0.0, entry.mean, entry.median, entry.p95))
    end = x.at(max(entry.p95, entry.mean))
    return (
        f'{text}<path class="whisker {entry.css}" d="M{zero} {number(middle)}H{p95}M{p95} {number(middle - 4)}v8"/>'
        f'<path class="block {entry.css}" d="M{zero} {number(middle - half)}H{mean}v{number(2 * half)}H{zero}z"/>'
        f'<path class="notch" d="M{median} {number(middle - 5)}l3.5 5l-3.5 5l-3.5 -5z"/>'
        f'<text class="value" x="{number(end + 5)}" y="{base}">{_told(entry.mean, size, unit)}</text>'
    )


def _told(seconds: float, size: float, unit: str) -> str:
    """In the unit of the axis, unless that would be a fraction of it."""
    return f"{label(seconds / size)} {unit}" if seconds >= size else duration(seconds)
