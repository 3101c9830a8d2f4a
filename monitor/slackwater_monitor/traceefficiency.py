"""Efficiency of published traces: the same statistics as for one's own cluster, on somebody else's numbers.

Three kinds are understood: a table of request and use by job (columns req_cpu, avg_cpu, req_mem, avg_mem, window in
seconds), CPU series by job in percent of the node (run-length coded, 98x12 = twelve samples of 98), and any workload
the simulator reads that says what its tasks use.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.estimation.efficiency import Usage, together
from slackwater_monitor.assessment.windows import CPU, MEMORY, Floats
from slackwater_simulator.charts.amounts import count
from slackwater_simulator.charts.page import Page, Section, render
from slackwater_simulator.charts.table import Table
from slackwater_simulator.workload.readers.source import load_head

BY_JOB = ("win_start_s", "win_end_s", "req_cpu", "avg_cpu", "req_mem", "avg_mem")
SERIES = ("duration_s", "samples_pct_of_16_cores_30s_rle")
HEAD = 4096  # bytes in which a table names its columns
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)


@dataclass(frozen=True, slots=True)
class Efficiency:
    """One kind of resource: the whole by equation 7, and how single jobs spread."""

    whole: float  # Σ used / Σ reserved, weighted by time
    each: Floats  # of every job or job window, sorted

    def at(self, share: float) -> float:
        """The efficiency that this share of jobs stays below."""
        return float(np.quantile(self.each, share))


@dataclass(frozen=True, slots=True)
class Study:
    """What a trace says."""

    name: str
    rows: int
    what: str  # what one row is
    kinds: Mapping[str, Efficiency]

    def jsonable(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "trace": self.name,
            "rows": self.rows,
            "row": self.what,
            "efficiency": {
                kind: {"whole": each.whole, **{f"p{round(100 * share)}": each.at(share) for share in SHARES}}
                for kind, each in self.kinds.items()
            },
        }


def write(found: Study, folder: Path) -> Path:
    """A page with the table, and a JSON file; gives the page."""
    heads = ("", "whole, by time", *(f"p{round(100 * share)}" for share in SHARES))
    lines = [
        (kind, f"{100 * each.whole:.2f} %", *(f"{each.at(share):.3f}" for share in SHARES))
        for kind, each in found.kinds.items()
    ]
    table = Table("Used of requested", heads, lines, caption=f"{count(found.rows, 'row')}, each {found.what}.")
    made = Page(f"{found.name}: used of requested", "Slackwater", found.name, [Section("trace", "Efficiency", [table])])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trace.json").write_text(json.dumps(found.jsonable(), indent=1), encoding="utf-8")
    path = folder / "index.html"
    path.write_text(render(made), encoding="utf-8")
    return path


def study(path: Path) -> Study:
    """The efficiency of one trace."""
    head = load_head(path, HEAD, "--trace").partition(b"\n")[0].decode(errors="replace").strip().split(",")
    for columns, read in ((BY_JOB, _by_job), (SERIES, _series)):
        if all(column in head for column in columns):
            return read(path)
    return _workload(path)


def _refused(path: Path, trouble: str, remedy: str) -> InvalidInput:
    return InvalidInput("--trace", f"{path.name} {trouble}", remedy)


def _table(path: Path) -> dict[str, Any]:
    """All columns of a table with a row at least."""
    import duckdb  # noqa: PLC0415 - an extra: a file that is missing is told without it

    try:
        found: dict[str, Any] = duckdb.read_csv(str(path)).fetchnumpy()
    except duckdb.Error as problem:
        first = str(problem).partition("\n")[0]
        raise _refused(path, f"cannot be read as a table ({first})", "give a CSV file, plain or by gzip") from problem
    if not len(next(iter(found.values()), ())):
        raise _refused(path, "has a head and no rows", "give a trace with jobs in it")
    return found


def _by_job(path: Path) -> Study:
    """A row is a job's usage window; requests and use are fractions of the largest machine."""
    found = _table(path)
    numbers = {name: _column(path, found, name) for name in BY_JOB}
    seconds = numbers["win_end_s"] - numbers["win_start_s"]
    kinds = {
        kind: _efficiency(path, numbers[f"avg_{short}"], numbers[f"req_{short}"], seconds)
        for kind, short in ((CPU, "cpu"), (MEMORY, "mem"))
    }
    return Study(path.name, len(seconds), "a job's usage window", kinds)


def _column(path: Path, found: Mapping[str, Any], name: str) -> Floats:
    """A column of numbers, none of them missing."""
    cells = np.ma.asarray(found[name])
    if cells.dtype.kind in "iuf" and not np.ma.is_masked(cells) and np.isfinite(cells).all():
        return np.asarray(cells, dtype=np.float64)
    numbers: list[float] = []
    for row, cell in enumerate(cells.tolist(), start=1):
        number = _number(cell)
        if number is None:
            held = "nothing" if cell is None else f"{cell!r:.40}"
            trouble = f"has {held} in column {name} of row {row}"
            raise _refused(path, trouble, "write a number there, or leave the row out")
        numbers.append(number)
    return np.array(numbers, dtype=np.float64)


def _number(cell: object) -> float | None:
    """A finite number; none where the cell holds something else."""
    try:
        number = float(str(cell))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _efficiency(path: Path, used: Floats, reserved: Floats, seconds: Floats) -> Efficiency:
    known = reserved > 0
    if not known.any():
        raise _refused(path, "has no row that requests anything", "give a trace with requests")
    used, reserved, seconds = used[known], reserved[known], seconds[known]
    whole = Usage(float(used @ seconds), float(reserved @ seconds)).efficiency
    return Efficiency(whole or 0.0, np.sort(used / reserved))


def _series(path: Path) -> Study:
    """A row is a job that had its node to itself; samples are percent of the node, every 30 s."""
    found = _table(path)
    usages = [_run_lengths(path, row, text) for row, text in enumerate(found[SERIES[1]].tolist(), start=1)]
    each = np.sort([usage.efficiency or 0.0 for usage in usages])
    return Study(path.name, len(usages), "a job", {CPU: Efficiency(together(usages).efficiency or 0.0, each)})


def _run_lengths(path: Path, row: int, text: object) -> Usage:
    used = count = 0.0
    for part in str(text).split() if text is not None else ():
        value, _, times = part.partition("x")
        percent, length = _number(value), _number(times or 1)
        if percent is None or length is None or percent < 0 or length < 0:
            trouble = f"has the sample {part!r:.40} in row {row}"
            raise _refused(path, trouble, "write percent, or percent x how often: 98 or 98x12")
        used += percent / 100 * length
        count += length
    return Usage(used, count)


def _workload(path: Path) -> Study:
    """Any trace of the simulator whose tasks say what they use."""
    from slackwater_simulator.workload.readers.formats import open_workload  # noqa: PLC0415 - only this kind needs it

    workload = open_workload(path)
    jobs: dict[str, list[Usage]] = {CPU: [], MEMORY: []}
    for job in workload.jobs:
        stages = [stage for stage in job.stages if stage.usage is not None]
        for kind, measure in MEASURES.items():
            usage = together(measure(stage) for stage in stages)
            if usage.reserved > 0:
                jobs[kind].append(usage)
    if not any(jobs.values()):
        raise InvalidInput("--trace", f"{path.name} does not say what its tasks use", "give a trace with usage")
    kinds = {
        kind: Efficiency(together(found).efficiency or 0.0, np.sort([each.efficiency or 0.0 for each in found]))
        for kind, found in jobs.items()
        if found
    }
    return Study(workload.name or path.name, len(workload.jobs), "a job", kinds)


def _cpu(stage: Any) -> Usage:
    usage, reserved = stage.usage, stage.request[0] * stage.durations
    course = np.trapezoid(usage.cpu_shape, usage.at)
    return Usage(float((reserved * usage.cpu).sum() * course), float(reserved.sum()))


def _memory(stage: Any) -> Usage:
    usage, reserved = stage.usage, stage.request[1] * stage.durations
    course = np.trapezoid(usage.memory_shape, usage.at)
    return Usage(float((reserved * usage.memory).sum() * course), float(reserved.sum()))


MEASURES: Mapping[str, Callable[[Any], Usage]] = {CPU: _cpu, MEMORY: _memory}
