"""Usage series from a file: one line per series, its samples in percent of the request, five minutes apart.

Two layouts are read, plain or gzipped: lines of equally many numbers, and the SURF week (a header, then one job per
line with samples of 30 s in run lengths: 98x12 is twelve samples of 98).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater_simulator.charts.amounts import count
from slackwater_simulator.workload.readers.source import load_text

Floats = NDArray[np.float32]

STEP = 300.0  # seconds between samples
FEWEST = 10  # series, and samples of each: fewer make no bench
RUN_LENGTH_HEADER = "samples_pct_of_16_cores_30s_rle"
MOST = 1e9  # percent; more is no measurement, and sums of float32 would be infinite
SHOWN = 20  # characters that are quoted of what is no number: with another separator that is the whole line
RAW_STEP = 30.0  # seconds between the samples of that layout
MOST_SAMPLES = 1_051_200  # of a line there: a year; a damaged count would take all memory


@dataclass(frozen=True, slots=True)
class UsageSeries:
    """What was read: series × sample in percent of the request."""

    name: str
    samples: Floats
    lives: NDArray[np.int64] | None = None  # samples of each series, where it is the life of one task; None: cut freely

    @property
    def memory(self) -> bool:
        """Whether its name says that it is memory."""
        return about_memory(self.name)


def about_memory(name: str) -> bool:
    """Whether a name says that it is memory, which cannot be given back by waiting; so do a generator's shapes."""
    return "memory" in name.lower() or "shape=" in name


def read(path: Path) -> UsageSeries:
    """The series of a file, or an error that names the line."""
    lines = load_text(path, "series").splitlines()
    rows = _run_lengths(path, lines) if lines and RUN_LENGTH_HEADER in lines[0] else _plain(path, lines)
    if len(rows) < FEWEST or rows.shape[1] < FEWEST:
        problem = f"{len(rows)} series of {rows.shape[1]} samples are too few"
        raise InvalidInput(path.name, problem, f"give at least {FEWEST} series of {FEWEST} samples each")
    return UsageSeries(path.name, rows)


def _plain(path: Path, lines: list[str]) -> Floats:
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        rows.append(_numbers(path, number, line))
        if len(rows[-1]) != len(rows[0]):
            problem = f"line {number} has {len(rows[-1])} samples where the first line has {len(rows[0])}"
            raise InvalidInput(path.name, problem, "give equally many samples in every line")
    return np.array(rows, np.float32).reshape(len(rows), len(rows[0]) if rows else 0)


def _numbers(path: Path, number: int, line: str) -> list[float]:
    row: list[float] = []
    for cell in line.split(","):
        try:
            row.append(float(cell))
        except ValueError as error:
            shown = cell if len(cell) <= SHOWN else f"{cell[:SHOWN]}…"
            problem = f"{shown!r} is not a number"
            raise InvalidInput(f"{path.name}, line {number}", problem, "write percentages between commas") from error
    return _measured(path, number, row)


def _measured(path: Path, number: int, row: list[float]) -> list[float]:
    """The same samples, or an error where one cannot have been measured."""
    if not all(0 <= value <= MOST for value in row):
        problem = f"a sample is not a number from 0 to {MOST:g}"
        raise InvalidInput(f"{path.name}, line {number}", problem, "write percentages")
    return row


def _run_lengths(path: Path, lines: list[str]) -> Floats:
    """The SURF week, as means of five minutes, put end to end and cut into days: its jobs last minutes to days."""
    levels: list[Floats] = []
    per_step = int(STEP / RAW_STEP)
    for number, line in enumerate(lines[1:], 2):
        if not line.strip():
            continue
        try:
            shown, counts = _runs(line.split(","))
        except ValueError as error:
            remedy = "write id,submit,duration,VALUExCOUNT …"
            raise InvalidInput(f"{path.name}, line {number}", str(error), remedy) from error
        values = np.repeat(_measured(path, number, shown), counts)
        whole = len(values) // per_step * per_step
        levels.append(values[:whole].reshape(-1, per_step).mean(axis=1).astype(np.float32))
    day = int(86_400 / STEP)
    return np.array([row[:day] for row in levels if len(row) >= day], np.float32).reshape(-1, day)


def _runs(cells: list[str]) -> tuple[list[float], list[int]]:
    """The samples of a line and how often each follows; ValueError with what is wrong with them."""
    if len(cells) < 4:
        raise ValueError(count(len(cells), "field"))
    shown: list[float] = []
    counts: list[int] = []
    for run in cells[3].split():
        value, _, times = run.partition("x")
        try:
            shown.append(float(value))
            counts.append(int(times or 1))
        except ValueError as error:
            raise ValueError(f"{run[:SHOWN]!r} is no run of samples") from error
        if not 0 <= counts[-1] <= MOST_SAMPLES:
            raise ValueError(f"a run of {counts[-1]} samples")
    if sum(counts) > MOST_SAMPLES:
        raise ValueError(f"{sum(counts)} samples")
    return shown, counts
