"""The Standard Workload Format of the Parallel Workloads Archive: 18 numbers a line, −1 where unknown.

A job of n processors becomes a gang of n one-core tasks without a driver. Where the log knows no memory the request
is 0: nothing is made up.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.charts.amounts import count
from slackwater_simulator.workload.readers.check import MOST_TASKS, told_apart
from slackwater_simulator.workload.readers.source import Faults, load_bytes, numbered, without_collector
from slackwater_simulator.workload.workload import Job, Stage, Workload

FIELDS = "the 18 numbers of the Standard Workload Format"
KIBI = 1024.0
# Columns, from 0.
ID, SUBMIT, RUN, USED_PROCS, USED_MEMORY, ASKED_PROCS, ASKED_TIME, ASKED_MEMORY = 0, 1, 3, 4, 6, 7, 8, 9
STATUS, USER, QUEUE = 10, 11, 14
# A job that was checkpointed has a line for the whole of it, of one of the first, and further lines for its parts.
WHOLE, PARTS = (0.0, 1.0), (2.0, 3.0, 4.0)


@dataclass(frozen=True, slots=True)
class Rows:
    """The lines that became numbers."""

    table: NDArray[np.float64]
    dropped: int  # jobs cancelled before they ran: no run time, no processors
    parts: int  # lines about parts of checkpointed jobs


def read(path: Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:  # noqa: ARG001 - readers share a signature
    """The jobs of an SWF log in order of submission; jobs that never ran are left out and counted in a note."""
    faults = Faults(path, skip_bad)
    rows = _usable(_table(load_bytes(path), faults))
    jobs = _jobs(rows.table)
    notes = list(faults.quoted)
    if rows.dropped:
        notes.append(f"{count(rows.dropped, 'job')} without run time or processors left out")
    if rows.parts:
        notes.append(f"{count(rows.parts, 'line')} about parts of checkpointed jobs left out: each job is played once")
    return Workload(name=path.name, jobs=jobs, skipped=faults.skipped, notes=tuple(notes))


def _table(content: bytes, faults: Faults) -> NDArray[np.float64]:
    """All lines as one array: in one go if none is broken, else line by line to find out which."""
    try:
        with warnings.catch_warnings(action="ignore"):  # a log of comments only is no reason to warn
            table = np.loadtxt(io.BytesIO(content), comments=";", ndmin=2)
    except ValueError:
        table = _by_line(content.decode("utf-8", errors="replace"), faults)
    if table.size and (table.shape[1] != 18 or not _plausible(table).all()):
        table = _by_line(content.decode("utf-8", errors="replace"), faults)
    return table.reshape(-1, 18)


def _by_line(text: str, faults: Faults) -> NDArray[np.float64]:
    rows: list[list[float]] = []
    for number, line in numbered(text):
        content = line.split(";", 1)[0].split()
        if not content:
            continue
        try:
            row = [float(field) for field in content]
        except ValueError:
            faults.bad(number, f"{line.strip()[:60]!r} has a field that is not a number", FIELDS)
            continue
        if len(row) != 18:
            faults.bad(number, count(len(row), "field"), FIELDS)
        elif not _plausible(np.array([row]))[0]:
            faults.bad(number, "a number that is infinite, or no submit time or processor count can be", FIELDS)
        else:
            rows.append(row)
    return np.array(rows, dtype=np.float64)


def _plausible(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Lines whose numbers are finite, that are submitted at 0 or later and ask for whole processors, not millions."""
    procs = table[:, (USED_PROCS, ASKED_PROCS)]
    counted = ((procs <= MOST_TASKS) & (procs == np.floor(procs))).all(axis=1)
    # A later part of a job need not say when that was submitted.
    submitted = (table[:, SUBMIT] >= 0) | np.isin(table[:, STATUS], PARTS)
    told = told_apart(table[:, SUBMIT] + np.maximum(table[:, RUN], 0.0))
    return np.asarray(np.isfinite(table).all(axis=1) & submitted & told & counted)


def _parts(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Lines about a part of a job that the log also has as a whole, or that do not say when it was submitted."""
    whole = table[np.isin(table[:, STATUS], WHOLE), ID]
    told = np.isin(table[:, ID], whole) | (table[:, SUBMIT] < 0)
    return np.asarray(np.isin(table[:, STATUS], PARTS) & told)


def _usable(lines: NDArray[np.float64]) -> Rows:
    parts = _parts(lines)
    table = lines[~parts]
    procs = np.where(table[:, USED_PROCS] > 0, table[:, USED_PROCS], table[:, ASKED_PROCS])
    ran = (table[:, RUN] >= 0) & (procs > 0)
    kept = table[ran]
    kept[:, USED_PROCS] = procs[ran]
    return Rows(kept[np.argsort(kept[:, SUBMIT], kind="stable")], int((~ran).sum()), int(parts.sum()))


def _jobs(table: NDArray[np.float64]) -> tuple[Job, ...]:
    memory = np.maximum(np.where(table[:, ASKED_MEMORY] > 0, table[:, ASKED_MEMORY], table[:, USED_MEMORY]), 0) * KIBI
    users = {number: f"user{int(number)}" for number in np.unique(table[:, USER]).tolist()}
    queues = {number: f"queue{int(number)}" if number >= 0 else "default" for number in np.unique(table[:, QUEUE])}
    columns = (
        table[:, ID].astype(np.int64),
        table[:, SUBMIT],
        table[:, USER],
        table[:, QUEUE],
        table[:, USED_PROCS].astype(np.int64),
        np.maximum(table[:, ASKED_TIME], 0.0),
    )
    with without_collector():
        return tuple(
            Job(str(number), submit, stages, None, users[user], queues[queue], gang=count > 1, estimate=estimate)
            for stages, number, submit, user, queue, count, estimate in zip(
                _stages(table, memory), *(column.tolist() for column in columns), strict=True
            )
        )


def _stages(table: NDArray[np.float64], memory: NDArray[np.float64]) -> Iterator[tuple[Stage]]:
    """The one stage of each job. Jobs of equal shape share it: a third of the memory on a log of 188,041 jobs."""
    known: dict[tuple[float, float, float], tuple[Stage]] = {}
    for procs, run, bytes_ in zip(table[:, USED_PROCS].tolist(), table[:, RUN].tolist(), memory.tolist(), strict=True):
        key = (procs, run, bytes_)
        if key not in known:
            known[key] = (Stage("run", (1.0, bytes_), np.full(int(procs), run)),)
        yield known[key]
