"""Rumen traces of Hadoop's job history: JSON objects one after another, one per job with its maps and reduces.

A task's duration is that of its successful attempt, else of its longest. Reduces count from the end of their
shuffle; the shuffle itself is what was left to fetch after the last map. Where the trace has measured CPU and memory
(12 progress bins per attempt) it becomes the stage's usage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.charts.amounts import count
from slackwater_simulator.workload.imputation import RUMEN, MapReduce
from slackwater_simulator.workload.readers.check import UNREADABLE, problem
from slackwater_simulator.workload.readers.source import Faults, concatenated, load_text
from slackwater_simulator.workload.workload import MEBI, Driver, Job, Request, Stage, Usage, Workload

JOB = "a Rumen job with jobID, submitTime and mapTasks"
KIBI = 1024.0
Entry = Mapping[str, Any]


@dataclass(slots=True)
class Draws:
    """Durations for tasks that have no finished attempt, and how many were needed."""

    model: MapReduce
    rng: np.random.Generator
    used: int = 0

    def known(self, seconds: float | None) -> float:
        """The seconds given, or a drawn task without data where there are none."""
        if seconds is not None:
            return seconds
        self.used += 1
        return float(self.model.map_base * self.rng.lognormal(0.0, self.model.sigma))


def read(path: Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:
    """The jobs of a Rumen trace; time 0 is the first submission."""
    faults = Faults(path, skip_bad)
    draws = Draws(MapReduce(), np.random.default_rng(seed))
    jobs: list[Job] = []
    for line, entry in concatenated(load_text(path), faults):
        try:
            job = _job(entry, draws)
        except UNREADABLE as error:
            faults.bad(line, f"a job whose fields cannot be read ({error!r})", JOB)
            continue
        wrong = problem(job, 2)
        if wrong:
            faults.bad(line, *wrong)
        else:
            jobs.append(job)
    first = min((job.submit for job in jobs), default=0.0)
    return Workload(
        name=path.name,
        jobs=tuple(sorted((_shifted(job, first) for job in jobs), key=lambda job: job.submit)),
        modelled=_modelled(draws, seed),
        skipped=faults.skipped,
        notes=tuple(faults.quoted),
    )


def _modelled(draws: Draws, seed: int) -> tuple[tuple[str, str], ...]:
    model = draws.model
    entries = [("cores", "hadoop-defaults"), ("drivers", f"hadoop-defaults, {model.startup:g} s to the first ask")]
    if draws.used:
        entries.append(
            (f"durations of {count(draws.used, 'task')} without a finished attempt", f"{RUMEN} (seed {seed})")
        )
    return tuple(entries)


def _shifted(job: Job, first: float) -> Job:
    return Job(job.id, job.submit - first, job.stages, job.driver, job.user, job.queue, job.name, job.priority)


def _job(entry: Entry, draws: Draws) -> Job:
    maps, reduces = entry["mapTasks"] or [], entry.get("reduceTasks") or []
    last_map = max((float(task["finishTime"]) for task in maps if (task.get("finishTime") or -1) > 0), default=0.0)
    stages = []
    if maps:
        stages.append(_stage("map", maps, _request(entry, "jobMapMB", draws.model), draws))
    if reduces:
        stages.append(_reduces(reduces, entry, last_map, draws, bool(maps)))
    model = draws.model
    return Job(
        id=_text(entry["jobID"], "job"),
        submit=float(entry["submitTime"]) / 1e3,
        stages=tuple(stages),
        driver=Driver(model.driver, model.startup),
        user=_text(entry.get("user"), "user"),
        queue=_text(entry.get("queue"), "default"),
        name=_text(entry.get("jobName"), ""),
    )


def _text(value: object, otherwise: str) -> str:
    """A name as text; some writers put it into an object of its own."""
    if isinstance(value, Mapping):
        value = next(iter(value.values()), None)
    return str(value or otherwise)


def _request(entry: Entry, field: str, model: MapReduce) -> Request:
    """What one task asked for: its container size, else the job's heap, else Hadoop's default."""
    for name in (field, "heapMegabytes"):
        if float(entry.get(name) or 0) > 0:
            return (model.task[0], float(entry[name]) * MEBI)
    return model.task


def _stage(name: str, tasks: Sequence[Entry], request: Request, draws: Draws) -> Stage:
    chosen = [_attempt(task) for task in tasks]
    durations = np.array([draws.known(_seconds(attempt, "startTime")) for attempt in chosen])
    return Stage(
        name,
        request,
        durations,
        usage=_usage(chosen, durations, request),
        hosts=_hosts(tasks),
    )


def _reduces(tasks: Sequence[Entry], entry: Entry, last_map: float, draws: Draws, waits: bool) -> Stage:
    chosen = [_attempt(task) for task in tasks]
    request = _request(entry, "jobReduceMB", draws.model)
    since = [
        "shuffleFinished" if _seconds(attempt, "shuffleFinished") is not None else "startTime" for attempt in chosen
    ]
    durations = np.array([draws.known(_seconds(*pair)) for pair in zip(chosen, since, strict=True)])
    return Stage(
        "reduce",
        request,
        durations,
        parents=("map",) if waits else (),
        start_after=draws.model.slow_start,
        shuffle=_fetch(chosen, last_map),
        usage=_usage(chosen, durations, request),
        reduce=True,
    )


def _attempt(task: Entry) -> Entry | None:
    """The attempt that tells how long the task takes."""
    attempts: Sequence[Entry] = task.get("attempts") or ()
    good = [attempt for attempt in attempts if attempt.get("result") == "SUCCESS"]
    return max(good or attempts, key=lambda attempt: _seconds(attempt, "startTime") or 0.0, default=None)


def _seconds(attempt: Entry | None, since: str) -> float | None:
    """Seconds from a moment of the attempt to its end; None where either is unknown."""
    if attempt is None or (attempt.get(since) or -1) <= 0 or (attempt.get("finishTime") or -1) <= 0:
        return None
    return max(0.0, float(attempt["finishTime"] - attempt[since]) / 1e3)


def _fetch(attempts: Sequence[Entry | None], last_map: float) -> float:
    """Median seconds of shuffle that were left once the last map was done."""
    left = [
        max(0.0, float(attempt["shuffleFinished"]) - max(float(attempt["startTime"]), last_map)) / 1e3
        for attempt in attempts
        if attempt and (attempt.get("shuffleFinished") or -1) > 0
    ]
    return float(np.median(left)) if left else 0.0


def _hosts(tasks: Sequence[Entry]) -> tuple[tuple[str, ...], ...]:
    """Where each task's data lie; Rumen writes dots as backslash-dot."""
    hosts = tuple(
        tuple(place["layers"][-1].replace("\\", "") for place in task.get("preferredLocations") or ()) for task in tasks
    )
    return hosts if any(hosts) else ()


def _usage(attempts: Sequence[Entry | None], durations: NDArray[np.float64], request: Request) -> Usage | None:
    """Measured use, if every attempt of the stage has it: mean CPU and peak memory, and their mean course."""
    measured = (
        [_bins(attempt, "cpuUsages") for attempt in attempts],
        [_bins(each, "physMemKbytes") for each in attempts],
    )
    lengths = {len(bins) for kind in measured for bins in kind}
    if lengths in (set(), {0}) or len(lengths) > 1:
        return None
    cpu, memory = np.array(measured[0]) / 1e3, np.array(measured[1]) * KIBI
    if not (np.isfinite(cpu).all() and np.isfinite(memory).all()):
        raise ValueError("use that is not a finite number")
    peak = memory.max(axis=1)
    total = cpu.sum(axis=1)
    bins = cpu.shape[1]
    return Usage(
        cpu=total / np.maximum(durations, 1e-3) / request[0],
        memory=peak / request[1],
        at=tuple(((np.arange(bins) + 0.5) / bins).tolist()),
        cpu_shape=tuple((cpu * bins / np.maximum(total, 1e-9)[:, None]).mean(axis=0).tolist()),
        memory_shape=tuple((memory / np.maximum(peak, 1.0)[:, None]).mean(axis=0).tolist()),
    )


def _bins(attempt: Entry | None, field: str) -> list[float]:
    """What was measured over an attempt's life; nothing where a part of it is not known (Rumen writes −1)."""
    bins = [float(value) for value in (attempt or {}).get(field) or ()]
    return [] if any(value < 0 for value in bins) else bins
