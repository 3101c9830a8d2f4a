"""Scales, ticks and charts as SVG text. Colours are CSS classes, so that one drawing suits day, night and print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# Drawing units are pixels of a phone's width, so that text stays readable there; desktops show charts side by side.
WIDTH, HEIGHT = 460.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 50.0, 12.0, 12.0, 36.0
UNITS = ((300.0, 1.0, "s"), (3 * 3600.0, 60.0, "min"), (3 * 86400.0, 3600.0, "h"), (math.inf, 86400.0, "days"))


@dataclass(frozen=True, slots=True)
class Line:
    """One curve: its colour class, its points, and whether the ground below it is filled."""

    css: str
    x: Floats
    y: Floats
    filled: bool = False


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map from values to drawing units."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, values: Floats) -> Floats:
        """Where values lie; what is outside is drawn on the border."""
        span = self.high - self.low or 1.0
        return np.asarray(
            self.start + (np.clip(values, self.low, self.high) - self.low) / span * (self.end - self.start)
        )

    def at(self, value: float) -> float:
        """Where one value lies."""
        return float(self(np.array([value]))[0])


def number(value: float) -> str:
    """A coordinate with one decimal, as short as possible."""
    return f"{value:.1f}".removesuffix(".0")


def label(value: float) -> str:
    """A tick label: 1,500,000 becomes 1.5M."""
    for limit, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit:
            scaled = value / (1e3 if unit == "k" else limit)
            return f"{scaled:.3g}{unit}"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round values between low and high, about as many as asked for."""
    span = high - low
    if not span > 0:
        return [low]
    raw = span / count
    power = 10.0 ** math.floor(math.log10(raw))
    # A little finer rather than much coarser: two ticks on a tall axis say too little.
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= 0.7 * raw)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def unit_of(horizon: float) -> tuple[float, str]:
    """Seconds per unit and the unit's name, for a time axis of that length."""
    return next((size, name) for limit, size, name in UNITS if horizon <= limit)


def duration(seconds: float) -> str:
    """A time in the unit a person would use: 8 s, 3.9 min, 2.1 h."""
    size, name = unit_of(seconds)
    return f"{label(seconds / size)} {name}"


def path(x: Floats, y: Floats) -> str:
    """A polyline through drawing coordinates."""
    return "M" + "L".join(f"{number(a)} {number(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def element(width: float, height: float, title: str, body: str) -> str:
    """A drawing that scales with its column and tells screen readers what it shows."""
    box = f"0 0 {number(width)} {number(height)}"
    return f'<svg viewBox="{box}" role="img" aria-label="{escape(title)}"><title>{escape(title)}</title>{body}</svg>'


def chart(
    title: str,
    lines: Sequence[Line],
    x_name: str,
    y_name: str,
    *,
    x_max: float,
    y_max: float,
    limit: float | None = None,
) -> str:
    """Curves over a grid; `limit` draws a dashed line across, such as the cluster's capacity."""
    x, y = Scale(0.0, x_max, LEFT, WIDTH - RIGHT), Scale(0.0, y_max * 1.04, HEIGHT - BOTTOM, TOP)
    parts = [_grid(x, y, x_name, y_name)]
    parts.extend(_curve(line, x, y) for line in lines)
    if limit is not None:
        across = number(y.at(limit))
        parts.append(f'<path class="limit" d="M{number(LEFT)} {across}H{number(WIDTH - RIGHT)}"/>')
    return element(WIDTH, HEIGHT, title, "".join(parts))


def _grid(x: Scale, y: Scale, x_name: str, y_name: str) -> str:
    parts = [f'<text class="name" x="{number(LEFT)}" y="{number(TOP - 2)}">{escape(y_name)}</text>']
    for value in ticks(y.low, y.high, 4):
        at = y.at(value)
        parts.append(f'<path class="grid" d="M{number(LEFT)} {number(at)}H{number(WIDTH - RIGHT)}"/>')
        parts.append(f'<text class="tick end" x="{number(LEFT - 6)}" y="{number(at + 4)}">{label(value)}</text>')
    for value in ticks(x.low, x.high, 5):
        at = x.at(value)
        parts.append(
            f'<text class="tick mid" x="{number(at)}" y="{number(HEIGHT - BOTTOM + 15)}">{label(value)}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text class="name mid" x="{number(middle)}" y="{number(HEIGHT - 4)}">{escape(x_name)}</text>')
    return "".join(parts)


def _curve(line: Line, x: Scale, y: Scale) -> str:
    if not len(line.x):
        return ""
    across, up = x(line.x), y(line.y)
    drawn = path(across, up)
    ground = f"L{number(across[-1])} {number(y.start)}L{number(across[0])} {number(y.start)}Z"
    area = f'<path class="area {line.css}" d="{drawn}{ground}"/>' if line.filled else ""
    return f'{area}<path class="line {line.css}" d="{drawn}"/>'
