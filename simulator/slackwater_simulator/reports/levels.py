"""Numbers behind the figures: levels over time and cumulative shares, read off an outcome's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.results.metrics import requests, since
from slackwater_simulator.results.outcome import Outcome, holding
from slackwater_simulator.results.status import DONE, DRIVER
from slackwater_simulator.workload.workload import Job, Usage

Floats = NDArray[np.float64]
BINS = 240


def horizon(outcome: Outcome) -> float:
    """The last moment anything happened."""
    moments = [outcome.jobs.submit, outcome.jobs.end, outcome.containers.released]
    last = max(
        (float(np.nanmax(values)) for values in moments if len(values) and not np.isnan(values).all()), default=0.0
    )
    return max(last, outcome.stalled_at if outcome.deadlock else 0.0, 1e-9)


def edges(outcome: Outcome, end: float) -> Floats:
    """The borders of the time bins, from the first submission on."""
    begin = float(outcome.jobs.submit.min()) if len(outcome.jobs.submit) else 0.0
    return np.linspace(min(begin, end), end, BINS + 1)


def mean_level(begin: Floats, end: Floats, weight: Floats, borders: Floats) -> Floats:
    """Mean over each bin of Σ weight of the intervals [begin, end): the area below the step function, over width."""
    times = np.concatenate((begin, end))
    order = np.argsort(times, kind="stable")
    level = np.cumsum(np.concatenate((weight, -weight))[order])
    moments = times[order]
    if not len(moments):
        return np.zeros(len(borders) - 1)
    area = np.concatenate(([0.0], np.cumsum(level[:-1] * np.diff(moments))))
    return np.diff(np.interp(borders, moments, area)) / np.maximum(np.diff(borders), 1e-12)


def requested(outcome: Outcome, kind: int, borders: Floats) -> Floats:
    """What containers reserved of one kind, over time."""
    rows = holding(outcome)
    return mean_level(since(outcome, rows, kind), rows.released, requests(outcome, rows)[:, kind], borders)


def waiting(outcome: Outcome, borders: Floats) -> Floats:
    """Jobs submitted of which no task has started yet. One that never starts waits to the end."""
    jobs = outcome.jobs
    until = np.where(np.isnan(jobs.start), borders[-1], jobs.start)
    return mean_level(jobs.submit, np.maximum(until, jobs.submit), np.ones(len(until)), borders)


def running(outcome: Outcome, borders: Floats) -> Floats:
    """Jobs with a started task that are not over."""
    jobs = outcome.jobs
    begun = ~np.isnan(jobs.start)
    until = np.where(np.isnan(jobs.end), borders[-1], jobs.end)[begun]
    return mean_level(jobs.start[begun], until, np.ones(int(begun.sum())), borders)


def held(outcome: Outcome, drivers: bool, borders: Floats) -> Floats:
    """Containers of drivers, or of tasks, that hold resources."""
    rows = holding(outcome)
    chosen = (rows.stage == DRIVER) == drivers
    return mean_level(rows.allocated[chosen], rows.released[chosen], np.ones(int(chosen.sum())), borders)


@dataclass(frozen=True, slots=True)
class Efficiency:
    """Used over requested (equation 7 of paper 000), one value per container, job and user."""

    containers: Floats
    jobs: Floats
    users: Floats


def efficiency(outcome: Outcome, kind: int) -> Efficiency | None:
    """Efficiencies of the containers that ended well; None if the workload does not tell what its tasks use."""
    rows = outcome.containers
    jobs = outcome.workload.jobs
    if not any(stage.usage for job in jobs for stage in job.stages):
        return None
    done = rows.status == DONE
    job = rows.job[done].astype(np.int64)
    share = _shares(jobs, job, rows.stage[done], rows.task[done], kind)
    asked = requests(outcome)[done, kind]
    users = np.unique([entry.user for entry in jobs], return_inverse=True)[1]
    return Efficiency(share, _ratio(share, asked, job, len(jobs)), _ratio(share, asked, users[job], len(users)))


def _ratio(share: Floats, asked: Floats, group: NDArray[np.int64], groups: int) -> Floats:
    total = np.bincount(group, weights=asked, minlength=groups)
    used = np.bincount(group, weights=asked * share, minlength=groups)
    return used[total > 0] / total[total > 0]


def _shares(
    jobs: tuple[Job, ...], job: NDArray[np.int64], stage: NDArray[np.int16], task: NDArray[np.int32], kind: int
) -> Floats:
    """Mean use over request of each container: the level of its task times the mean of its course; 1 where unknown."""
    share = np.ones(len(job))
    order = np.lexsort((stage, job))
    borders = np.flatnonzero(np.diff(job[order]) | np.diff(stage[order])) + 1
    for part in np.split(order, borders):
        if not len(part):
            continue
        entry, index = jobs[int(job[part[0]])], int(stage[part[0]])
        usage = (entry.driver.usage if entry.driver else None) if index == DRIVER else entry.stages[index].usage
        if usage is not None:
            levels = usage.cpu if kind == 0 else usage.memory
            share[part] = levels[task[part] % len(levels)] * _course(usage, kind)
    return share


def _course(usage: Usage, kind: int) -> float:
    """Mean of the course over a life."""
    shape = np.array(usage.cpu_shape if kind == 0 else usage.memory_shape)
    at = np.array(usage.at)
    return float(np.interp(np.linspace(0, 1, 201), at, shape).mean())
