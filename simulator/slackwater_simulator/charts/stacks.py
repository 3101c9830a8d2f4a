"""Stacked horizontal bars: what each whole is made of, all on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slackwater_simulator.charts.svg import Scale, drawing, label, number, rectangle, text, ticks

WIDTH, LEFT, RIGHT = 920.0, 134.0, 62.0
TOP, ROW, BOTTOM = 6.0, 34.0, 34.0
LONGEST_NAME = 20


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a bar: its colour class, how much it is, and what it is."""

    css: str
    value: float
    words: str


@dataclass(frozen=True, slots=True)
class Stack:
    """One bar."""

    name: str
    parts: Sequence[Part]

    @property
    def total(self) -> float:
        """Where it ends."""
        return sum(part.value for part in self.parts)


def stacks(title: str, rows: Sequence[Stack], unit: str) -> Markup:
    """The drawing: a bar per row, its sum behind it."""
    x = Scale(0.0, max((row.total for row in rows), default=0.0) or 1.0, LEFT, WIDTH - RIGHT)
    bottom = TOP + ROW * len(rows)
    parts = []
    for value in ticks(0.0, x.high, 8):
        at = number(x.at(value))
        parts.append(f'<path class="grid" d="M{at} {number(TOP)}V{number(bottom)}"/>')
        parts.append(text("tick mid", x.at(value), bottom + 13, label(value)))
    parts.append(text("name mid", (LEFT + WIDTH - RIGHT) / 2, bottom + 28, unit))
    for index, row in enumerate(rows):
        parts.append(_row(row, x, TOP + ROW * index, unit))
    return drawing(WIDTH, bottom + BOTTOM, title, "".join(parts))


def _row(row: Stack, x: Scale, top: float, unit: str) -> str:
    name = row.name if len(row.name) <= LONGEST_NAME else row.name[: LONGEST_NAME - 1] + "…"
    drawn, reached = [text("tick end", LEFT - 8, top + ROW / 2 + 4, name)], 0.0
    for part in row.parts:
        if part.value > 0:
            left, right = x.at(reached), x.at(reached + part.value)
            words = f"{part.words}: {label(part.value)} {unit}"
            drawn.append(rectangle(f"block {part.css}", left, top + 5, right - left, ROW - 10, words))
            reached += part.value
    return "".join((*drawn, text("value", x.at(reached) + 5, top + ROW / 2 + 4, label(reached))))
