"""Curves over a grid, such as what is requested and used over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from markupsafe import Markup

from slackwater_simulator.charts.svg import Floats, Scale, drawing, label, number, path, text, ticks, unit_of

WIDTH, HEIGHT = 460.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 12.0, 12.0, 36.0


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its colour class, its points, and whether the ground below it is filled."""

    css: str
    x: Floats
    y: Floats
    filled: bool = False

    @property
    def top(self) -> float:
        """The largest value; 0 of none."""
        return float(self.y.max(initial=0.0))


def known(css: str, x: Floats, y: Floats, *, filled: bool = False) -> Line:
    """A line over the moments at which its value is known."""
    seen = np.isfinite(y)
    return Line(css, x[seen], y[seen], filled=filled)


def cumulative(values: Floats, points: int = 200) -> tuple[Floats, Floats]:
    """Values and the share of all that are at most that large."""
    finite = np.sort(values[np.isfinite(values)])
    if not len(finite):
        return np.zeros(0), np.zeros(0)
    share = np.linspace(0.0, 1.0, min(points, len(finite) + 1))
    return np.quantile(finite, share), share


def over_time(
    title: str,
    lines: Sequence[Line],
    y_name: str,
    *,
    end: float | None = None,
    top: float | None = None,
    limit: float | None = None,
    name: str = "time, {unit}",
) -> Markup:
    """A chart whose x is seconds since a beginning, drawn in the unit a person would use."""
    last = max(max((float(line.x[-1]) for line in lines if len(line.x)), default=0.0) if end is None else end, 1e-9)
    size, unit = unit_of(last)
    highest = max(limit or 0.0, *(line.top for line in lines)) or 1.0
    scaled = [replace(line, x=line.x / size) for line in lines]
    y_max = highest if top is None else top
    return chart(title, scaled, name.format(unit=unit), y_name, x_max=last / size, y_max=y_max, limit=limit)


def chart(
    title: str,
    lines: Sequence[Line],
    x_name: str,
    y_name: str,
    *,
    x_max: float,
    y_max: float,
    limit: float | None = None,
) -> Markup:
    """Curves over a grid; `limit` draws a dashed line across, such as the cluster's capacity."""
    x, y = Scale(0.0, x_max, LEFT, WIDTH - RIGHT), Scale(0.0, y_max * 1.04, HEIGHT - BOTTOM, TOP)
    parts = [_grid(x, y, x_name, y_name), *(_curve(line, x, y) for line in lines)]
    if limit is not None:
        parts.append(f'<path class="limit" d="M{number(LEFT)} {number(y.at(limit))}H{number(WIDTH - RIGHT)}"/>')
    return drawing(WIDTH, HEIGHT, title, "".join(parts))


def _grid(x: Scale, y: Scale, x_name: str, y_name: str) -> str:
    parts = [text("name", LEFT, TOP - 2, y_name)]
    for value in ticks(y.low, y.high, 4):
        at = y.at(value)
        parts.append(f'<path class="grid" d="M{number(LEFT)} {number(at)}H{number(WIDTH - RIGHT)}"/>')
        parts.append(text("tick end", LEFT - 6, at + 4, label(value)))
    parts.extend(text("tick mid", x.at(value), HEIGHT - BOTTOM + 15, label(value)) for value in ticks(x.low, x.high, 5))
    return "".join((*parts, text("name mid", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, x_name)))


def _curve(line: Line, x: Scale, y: Scale) -> str:
    if not len(line.x):
        return ""
    across, up = x(line.x), y(line.y)
    drawn = path(across, up)
    ground = f"L{number(across[-1])} {number(y.start)}L{number(across[0])} {number(y.start)}Z"
    area = f'<path class="area {line.css}" d="{drawn}{ground}"/>' if line.filled else ""
    return f'{area}<path class="line {line.css}" d="{drawn}"/>'
