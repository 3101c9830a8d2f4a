"""SWIM logs: one MapReduce job a line, tab separated: id, submit s, gap s, input, shuffle and output bytes.

A line holds only bytes, so task counts, durations, requests and use come from `imputation`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.charts.amounts import count
from slackwater_simulator.workload.imputation import BORG, Floats, MapReduce, borg_levels
from slackwater_simulator.workload.readers.check import MOST_TASKS, told_apart
from slackwater_simulator.workload.readers.source import Faults, load_text, numbered
from slackwater_simulator.workload.workload import Driver, Job, Stage, Usage, Workload

FIELDS = "6 tab-separated fields: job id, submit second, gap, input, shuffle and output bytes"


def read(path: Path, *, seed: int = 0, skip_bad: bool = False, model: MapReduce | None = None) -> Workload:
    """The jobs of a SWIM log, each with a driver, maps, and reduces where something is shuffled."""
    model = model or MapReduce()
    faults = Faults(path, skip_bad)
    names, numbers = _columns(path, faults, model)
    jobs = _jobs(names, numbers, model, np.random.default_rng(seed))
    return Workload(
        name=path.name,
        jobs=jobs,
        modelled=(*model.describe(seed), ("usage", f"{BORG} (seed {seed})")),
        skipped=faults.skipped,
        notes=tuple(faults.quoted),
    )


def _columns(path: Path, faults: Faults, model: MapReduce) -> tuple[list[str], Floats]:
    """Job ids, and one row of submit second, input and shuffle bytes per job, in order of submission."""
    names: list[str] = []
    rows: list[tuple[float, float, float]] = []
    for number, line in numbered(load_text(path)):
        fields = line.split("\t")
        if len(fields) != 6:
            faults.bad(number, count(len(fields), "field"), FIELDS)
            continue
        try:
            values = [float(text) for text in fields[1:]]
        except ValueError:
            faults.bad(number, f"{line.strip()[:60]!r} has a field that is not a number", FIELDS)
            continue
        if not all(0 <= value < float("inf") for value in values):
            faults.bad(number, "a negative or infinite number", FIELDS)
            continue
        if not told_apart(np.array(values[0])):
            faults.bad(number, f"submitted at {values[0]:g}, where seconds cannot be told apart", FIELDS)
            continue
        if max(values[2] / model.split, values[3] / model.fetch) > MOST_TASKS:
            faults.bad(number, f"bytes of more than {MOST_TASKS:,} tasks", FIELDS)
            continue
        names.append(fields[0])
        rows.append((values[0], values[2], values[3]))
    table = np.array(rows, dtype=np.float64).reshape(-1, 3)
    order = np.argsort(table[:, 0], kind="stable")
    return [names[index] for index in order], table[order]


def _jobs(names: list[str], rows: Floats, model: MapReduce, rng: np.random.Generator) -> tuple[Job, ...]:
    read_bytes, shuffled = rows[:, 1], rows[:, 2]
    maps, reduces = model.maps(read_bytes), model.reduces(shuffled)
    share = shuffled / np.maximum(reduces, 1)
    map_times = model.durations(model.map_base, read_bytes / maps, maps, rng)
    reduce_times = model.durations(model.reduce_base, share, reduces, rng)
    cpu, memory = borg_levels(1 + maps + reduces, rng)
    fetch = (share / model.bandwidth).tolist()
    jobs: list[Job] = []
    m = r = u = 0  # how far the flat arrays are used up
    for index, (a, b) in enumerate(zip(maps.tolist(), reduces.tolist(), strict=True)):
        driver = Driver(model.driver, model.startup, Usage(cpu[u : u + 1], memory[u : u + 1]))
        stages = [_stage("map", map_times[m : m + a], cpu[u + 1 : u + 1 + a], memory[u + 1 : u + 1 + a], model)]
        m, u = m + a, u + 1 + a
        if b:
            stages.append(_reduce(reduce_times[r : r + b], cpu[u : u + b], memory[u : u + b], model, fetch[index]))
            r, u = r + b, u + b
        jobs.append(Job(names[index], float(rows[index, 0]), tuple(stages), driver))
    return tuple(jobs)


def _stage(name: str, times: NDArray[np.float64], cpu: Floats, memory: Floats, model: MapReduce) -> Stage:
    return Stage(name, model.task, times, usage=Usage(cpu, memory))


def _reduce(times: Floats, cpu: Floats, memory: Floats, model: MapReduce, fetch: float) -> Stage:
    return Stage(
        "reduce",
        model.task,
        times,
        parents=("map",),
        start_after=model.slow_start,
        shuffle=fetch,
        usage=Usage(cpu, memory),
        reduce=True,
    )
