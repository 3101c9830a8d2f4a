"""Curves over a grid, such as what is requested and used over time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from slackwater_simulator.charts import timeaxis
from slackwater_simulator.charts.amounts import seconds as duration
from slackwater_simulator.charts.svg import Floats, Scale, drawing, label, number, path, text, ticks

WIDTH, HEIGHT = 460.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 12.0, 12.0, 36.0


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its colour class, its points, and whether the ground below it is filled."""

    css: str
    x: Floats
    y: Floats
    filled: bool = False
    name: str = ""  # told by the pointer; empty: not told

    @property
    def top(self) -> float:
        """The largest value; 0 of none."""
        return float(self.y.max(initial=0.0))


def known(css: str, x: Floats, y: Floats, *, filled: bool = False, name: str = "") -> Line:
    """A line over the moments at which its value is known."""
    seen = np.isfinite(y)
    return Line(css, x[seen], y[seen], filled=filled, name=name)


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
    begin: float = 0.0,
    end: float | None = None,
    top: float | None = None,
    limit: float | None = None,
    name: str = "time, {unit}",
    since: float | None = None,
) -> Markup:
    """A chart whose x is seconds since a beginning, drawn in the unit a person would use.

    `since` is that beginning in Unix seconds: then the axis tells the time of day.
    """
    last = max(max((float(line.x[-1]) for line in lines if len(line.x)), default=0.0) if end is None else end, 1e-9)
    highest = max(limit or 0.0, *(line.top for line in lines)) or 1.0
    if since is None:
        marks, unit = timeaxis.passed(begin, last)
        axis = Axis(begin, last, marks, name.format(unit=unit))
    else:
        marks = [(at - since, words) for at, words in timeaxis.clock(since + begin, since + last)]
        axis = Axis(begin, last, marks, name)
    told = hover(lines, y_name, since) if any(line.name for line in lines) else ""
    return _drawn(title, lines, axis, y_name, highest if top is None else top, limit, told)


@dataclass(frozen=True, slots=True)
class Axis:
    """The horizontal axis: its ends, its labelled places, and what it is called."""

    low: float
    high: float
    marks: Sequence[tuple[float, str]]
    name: str


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
    axis = Axis(0.0, x_max, [(value, label(value)) for value in ticks(0.0, x_max, 5)], x_name)
    return _drawn(title, lines, axis, y_name, y_max, limit)


def _drawn(
    title: str, lines: Sequence[Line], axis: Axis, y_name: str, y_max: float, limit: float | None, told: str = ""
) -> Markup:
    x, y = Scale(axis.low, axis.high, LEFT, WIDTH - RIGHT), Scale(0.0, y_max * 1.04, HEIGHT - BOTTOM, TOP)
    parts = [_grid(x, y, axis, y_name), *(_curve(line, x, y) for line in lines)]
    if limit is not None:
        parts.append(f'<path class="limit" d="M{number(LEFT)} {number(y.at(limit))}H{number(WIDTH - RIGHT)}"/>')
    frame = {
        "low": axis.low,
        "high": axis.high,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "top": TOP,
        "bottom": HEIGHT - BOTTOM,
    }
    data = {"hover": told, "frame": json.dumps(frame)} if told else {}
    return drawing(WIDTH, HEIGHT, title, "".join(parts), data)


def hover(lines: Sequence[Line], unit: str, since: float | None, points: int = 150) -> str:
    """What a pointer tells: moments with their names, and the value of every named line there, as JSON."""
    named = [line for line in lines if line.name and len(line.x)]
    every = np.unique(np.concatenate([line.x for line in named])) if named else np.zeros(0)
    at = (
        every[np.unique(np.linspace(0, len(every) - 1, min(points, len(every))).astype(np.int64))]
        if len(every)
        else every
    )
    values = [np.interp(at, line.x, line.y, left=np.nan, right=np.nan) for line in named]
    return json.dumps(
        {
            "x": [round(float(each), 1) for each in at],
            "at": [duration(float(each)) if since is None else timeaxis.exactly(since + float(each)) for each in at],
            "unit": unit,
            "lines": [
                [line.name, ["–" if np.isnan(each) else label(float(f"{each:.3g}")) for each in column]]
                for line, column in zip(named, values, strict=True)
            ],
        },
        ensure_ascii=False,
    )


def _grid(x: Scale, y: Scale, axis: Axis, y_name: str) -> str:
    parts = [text("name", LEFT, TOP - 2, y_name)]
    for value in ticks(y.low, y.high, 4):
        at = y.at(value)
        parts.append(f'<path class="grid" d="M{number(LEFT)} {number(at)}H{number(WIDTH - RIGHT)}"/>')
        parts.append(text("tick end", LEFT - 6, at + 4, label(value)))
    parts.extend(text("tick mid", x.at(place), HEIGHT - BOTTOM + 15, words) for place, words in axis.marks)
    return "".join((*parts, text("name mid", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, axis.name)))


def _curve(line: Line, x: Scale, y: Scale) -> str:
    if not len(line.x):
        return ""
    across, up = x(line.x), y(line.y)
    drawn = path(across, up)
    ground = f"L{number(across[-1])} {number(y.start)}L{number(across[0])} {number(y.start)}Z"
    area = f'<path class="area {line.css}" d="{drawn}{ground}"/>' if line.filled else ""
    return f'{area}<path class="line {line.css}" d="{drawn}"/>'
