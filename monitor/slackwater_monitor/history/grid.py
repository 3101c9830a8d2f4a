"""The time axis: equal windows on round moments, so that two runs ask the same questions and share their answers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from slackwater.errors import InvalidInput

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
# Windows per period that a percentile and a chart can live on; a step is chosen so that there are about this many.
WINDOWS = 2016  # a week of five minutes
MOST = 100_000  # memory and questions grow with their number
LONGEST = 10 * 366 * 86_400  # seconds; with the longest of these steps fewer windows than MOST
FEW = 2  # samples in every window, so that jitter leaves none without
STEPS = (15, 30, 60, 120, 300, 600, 900, 1800, 3600)


@dataclass(frozen=True, slots=True)
class Grid:
    """Windows (start + k·step, start + (k+1)·step], k = 0 … count − 1. Unix seconds."""

    start: int
    step: int
    count: int

    @property
    def end(self) -> int:
        """The end of the last window."""
        return self.start + self.step * self.count

    def index(self, moment: float) -> int:
        """The window that ends at a moment of the grid."""
        return round((moment - self.start) / self.step) - 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """Windows in a row, asked for at once: they end at `first`, first + step … `last`. `whole` ones never change."""

    first: int
    last: int
    step: int
    whole: bool

    @property
    def seconds(self) -> int:
        """How long the chunk is."""
        return self.last - self.first + self.step

    def halves(self) -> tuple[Chunk, Chunk]:
        """Two chunks that together ask the same."""
        middle = self.first + (self.last - self.first) // self.step // 2 * self.step
        return (Chunk(self.first, middle, self.step, False), Chunk(middle + self.step, self.last, self.step, False))


def duration(field: str, text: str) -> int:
    """Seconds of `90s`, `15m`, `6h`, `7d` or `2w`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text.strip(), re.ASCII)
    if found is None or float(found[1]) <= 0:
        raise InvalidInput(field, f"{text!r:.40} is not a time span", "write for example 90m, 12h, 7d or 2w")
    seconds = float(found[1]) * UNITS[found[2]]
    if seconds > LONGEST:
        raise InvalidInput(field, f"{text!r:.40} is longer than ten years", "ask for less, such as 90d or 52w")
    return max(1, round(seconds))


def grid(end: float, since: int, step: int | None) -> Grid:
    """The windows that cover the last `since` seconds before `end`, on round moments."""
    size = step or next((step for step in STEPS if since <= step * WINDOWS), STEPS[-1])
    count = max(1, math.ceil(since / size))
    if count > MOST:
        trouble = f"{size} s would cut the period into {count:,} windows, of which {MOST:,} are allowed"
        raise InvalidInput("--step", trouble, f"use --step {math.ceil(since / MOST)}s or more, or leave it out")
    last = math.floor(end / size) * size
    return Grid(last - count * size, size, count)


def fitted(windows: Grid, sample: float, *, stated: bool) -> Grid:
    """Windows of a few samples each, given the seconds between samples: refused where the step was stated.

    A window without a sample counts as one in which nothing ran, and a counter says nothing after it.
    """
    least = 0.9 * FEW * sample  # scrapes are not quite even
    if windows.step >= least:
        return windows
    size = next((step for step in STEPS if step >= least), math.ceil(FEW * sample))
    if stated:
        trouble = f"use is sampled every {sample:g} s, so many windows of {windows.step} s would be empty"
        raise InvalidInput("--step", trouble, f"use --step {size}s or more, or leave it out")
    return grid(windows.end, windows.end - windows.start, size)


def chunks(windows: Grid, points: int) -> Iterator[Chunk]:
    """The grid in pieces of `points` windows that begin at multiples of their length: the same for every run."""
    length = points * windows.step
    begin = windows.start // length * length
    while begin < windows.end:
        last = min(begin + length, windows.end)
        first = max(begin, windows.start) + windows.step
        whole = begin >= windows.start and begin + length <= windows.end
        yield Chunk(first, last, windows.step, whole)
        begin += length
