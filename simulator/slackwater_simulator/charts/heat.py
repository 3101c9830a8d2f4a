"""How full nodes are: a square each at one moment, or a strip each over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup, escape
from numpy.typing import NDArray

from slackwater_simulator.charts.svg import Floats, Scale, drawing, number, text, time_axis

SHADES = 10
SIDE, ACROSS, NARROWEST = 26.0, 35, 460.0
WIDTH, LEFT, RIGHT, BOTTOM, EDGE = 960.0, 84.0, 8.0, 34.0, 5.0
STRIP, NAMES = 11.0, 10


@dataclass(frozen=True, slots=True)
class Square:
    """One node: the share of it that is in use (None where it cannot be known), and whether it takes pods."""

    words: str
    share: float | None
    open: bool = True
    stale: bool = False


def shade(share: float | None) -> str:
    """One of ten classes, or the class for the unknown."""
    if share is None or math.isnan(share):
        return "unknown"
    return f"h{min(int(min(max(share, 0.0), 1.0) * SHADES), SHADES - 1)}"


def squares(title: str, nodes: Sequence[Square]) -> Markup:
    """One square per node, darker the fuller; a cross marks nodes that take no pods."""
    parts = [_square(node, at % ACROSS * SIDE, at // ACROSS * SIDE) for at, node in enumerate(nodes)]
    width = max(min(len(nodes), ACROSS) * SIDE, NARROWEST)
    return drawing(width, -(-len(nodes) // ACROSS) * SIDE, title, "".join(parts))


def _square(node: Square, x: float, y: float) -> str:
    arm = SIDE - 14
    cross = "" if node.open else f'<path class="cross" d="M{x + 6} {y + 6}l{arm} {arm}m0 -{arm}l-{arm} {arm}"/>'
    side = number(SIDE - 3)
    return (
        f'<g><title>{escape(node.words)}</title><rect class="cell {shade(node.share)}{" stale" if node.stale else ""}" '
        f'x="{number(x + 1)}" y="{number(y + 1)}" width="{side}" height="{side}" rx="4"/>{cross}</g>'
    )


def strips(title: str, names: Sequence[str], share: Floats, end: float) -> Markup:
    """One strip per row of shares, from 0 to `end` seconds: the darker, the fuller. About ten strips are named."""
    height = EDGE + len(share) * STRIP
    parts = [time_axis(Scale(0.0, end, LEFT, WIDTH - RIGHT), EDGE, height)]
    named = range(0, len(share), max(1, len(share) // NAMES))
    parts.extend(text("tick end", LEFT - 8, EDGE + row * STRIP + 9, names[row]) for row in named)
    level = np.ceil(np.clip(share, 0.0, 1.0) * SHADES).astype(np.int64)
    parts.extend(_cells(level, value) for value in range(1, SHADES + 1))
    return drawing(WIDTH, height + BOTTOM, title, "".join(parts))


def _cells(level: NDArray[np.int64], value: int) -> str:
    """All cells of one level as one path; neighbours in a strip become one box."""
    width = (WIDTH - LEFT - RIGHT) / level.shape[1]
    boxes = []
    for row, chosen in enumerate(level == value):
        steps = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False])).astype(np.int8)))
        top = number(EDGE + row * STRIP)
        for begin, stop in steps.reshape(-1, 2).tolist():
            wide = number((stop - begin) * width)
            boxes.append(f"M{number(LEFT + begin * width)} {top}h{wide}v{number(STRIP - 1)}h-{wide}z")
    return f'<path class="h{value - 1}" d="{"".join(boxes)}"/>' if boxes else ""
