"""Efficiency of published traces: the same statistics as for one's own cluster, on somebody else's numbers.

Three kinds are understood: a table of request and use by job (columns req_cpu, avg_cpu, req_mem, avg_mem, window in
seconds), CPU series by job in percent of the node (run-length coded, 98x12 = twelve samples of 98), and any workload
the simulator reads that says what its tasks use.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from slackwater.errors import InvalidInput
from slackwater.estimation.efficiency import Usage, together
from slackwater_monitor.assessment.windows import CPU, MEMORY, Floats
from slackwater_simulator.charts.page import Page, Section, render
from slackwater_simulator.charts.table import Table

BY_JOB = ("win_start_s", "win_end_s", "req_cpu", "avg_cpu", "req_mem", "avg_mem")
SERIES = ("duration_s", "samples_pct_of_16_cores_30s_rle")
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

    def plain(self) -> dict[str, Any]:
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
    heads = ("", "whole (eq. 7, by time)", *(f"p{round(100 * share)}" for share in SHARES))
    lines = [
        (kind, f"{100 * each.whole:.2f} %", *(f"{each.at(share):.3f}" for share in SHARES))
        for kind, each in found.kinds.items()
    ]
    table = Table("Used of requested", heads, lines, caption=f"{found.rows:,} rows, each {found.what}.")
    made = Page(f"{found.name}: used of requested", "Slackwater", found.name, [Section("trace", "Efficiency", [table])])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trace.json").write_text(json.dumps(found.plain(), indent=1), encoding="utf-8")
    path = folder / "index.html"
    path.write_text(render(made), encoding="utf-8")
    return path


def study(path: Path) -> Study:
    """The efficiency of one trace."""
    if not path.is_file():
        raise InvalidInput("--trace", f"there is no file {path}", "give the path of a trace")
    head = _head(path)
    for columns, read in ((BY_JOB, _by_job), (SERIES, _series)):
        if all(column in head for column in columns):
            return read(path)
    return _workload(path)


def _head(path: Path) -> list[str]:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    with gzip.open(path) if zipped else path.open("rb") as file:
        return file.readline(4096).decode(errors="replace").strip().split(",")


def _by_job(path: Path) -> Study:
    """A row is a job's usage window; requests and use are fractions of the largest machine."""
    found = duckdb.read_csv(str(path)).fetchnumpy()
    seconds = _column(found, "win_end_s") - _column(found, "win_start_s")
    kinds = {
        kind: _efficiency(_column(found, f"avg_{short}"), _column(found, f"req_{short}"), seconds)
        for kind, short in ((CPU, "cpu"), (MEMORY, "mem"))
    }
    return Study(path.name, len(seconds), "a job's usage window", kinds)


def _column(found: Mapping[str, Any], name: str) -> Floats:
    return np.asarray(found[name], dtype=np.float64)


def _efficiency(used: Floats, reserved: Floats, seconds: Floats) -> Efficiency:
    known = reserved > 0
    used, reserved, seconds = used[known], reserved[known], seconds[known]
    whole = Usage(float(used @ seconds), float(reserved @ seconds)).efficiency
    return Efficiency(whole or 0.0, np.sort(used / reserved))


def _series(path: Path) -> Study:
    """A row is a job that had its node to itself; samples are percent of the node, every 30 s."""
    found = duckdb.read_csv(str(path)).fetchnumpy()
    usages = [_run_lengths(text) for text in found[SERIES[1]].tolist()]
    each = np.sort([usage.efficiency or 0.0 for usage in usages])
    return Study(path.name, len(usages), "a job", {CPU: Efficiency(together(usages).efficiency or 0.0, each)})


def _run_lengths(text: str) -> Usage:
    used = count = 0.0
    for part in str(text).split():
        value, _, times = part.partition("x")
        used += float(value) / 100 * float(times or 1)
        count += float(times or 1)
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
