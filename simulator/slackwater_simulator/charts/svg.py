"""Scales, ticks and the few elements of which every drawing is made, as SVG text.

Colours are CSS classes, so that one drawing suits day, night and print; there is no style attribute, because the
dashboard's security policy forbids them. Drawing units are pixels of a phone's width: text stays readable there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from slackwater_simulator.charts.amounts import rounded, unit_of

Floats = NDArray[np.float64]


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
    for limit, size, unit in ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if abs(value) >= limit:
            return rounded(value / size) + unit
    return np.format_float_positional(value, 3, fractional=False, trim="-") if abs(value) < 100 else rounded(value)


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


def path(x: Floats, y: Floats) -> str:
    """A polyline through drawing coordinates."""
    return "M" + "L".join(f"{number(a)} {number(b)}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def text(css: str, x: float, y: float, words: str) -> str:
    """Words at a place."""
    return f'<text class="{css}" x="{number(x)}" y="{number(y)}">{escape(words)}</text>'


def rectangle(css: str, x: float, y: float, width: float, height: float, words: str = "") -> str:
    """A box; its words show when the pointer rests on it."""
    place = f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
    return f'<rect class="{css}" {place}>{f"<title>{escape(words)}</title>" if words else ""}</rect>'


def time_axis(
    x: Scale,
    top: float,
    bottom: float,
    count: int = 8,
    name: str = "time, {unit}",
    marks: Sequence[tuple[float, str]] | None = None,
) -> str:
    """Lines down from top to bottom at round times, their labels, and the unit below the middle; x is in seconds.

    `marks` are moments of a clock with their labels, in place of the time that passed.
    """
    size, unit = unit_of(x.high)
    told = [(value * size, label(value)) for value in ticks(0.0, x.high / size, count)] if marks is None else marks
    parts = []
    for value, words in told:
        at = x.at(value)
        parts.append(f'<path class="grid" d="M{number(at)} {number(top)}V{number(bottom)}"/>')
        parts.append(text("tick mid", at, bottom + 13, words))
    below = name.format(unit=unit) if marks is None else "time of day, UTC"
    return "".join((*parts, text("name mid", (x.start + x.end) / 2, bottom + 28, below)))


def drawing(width: float, height: float, title: str, body: str, data: Mapping[str, str] | None = None) -> Markup:
    """A whole drawing that scales with its column and tells screen readers what it shows; `data` is for scripts."""
    box, title = f"0 0 {number(width)} {number(height)}", escape(title)
    more = "".join(f' data-{name}="{escape(value)}"' for name, value in (data or {}).items())
    return Markup(f'<svg viewBox="{box}" role="img" aria-label="{title}"{more}><title>{title}</title>{body}</svg>')  # noqa: S704 - made of the elements above
