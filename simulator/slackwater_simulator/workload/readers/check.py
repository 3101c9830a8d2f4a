"""What must hold between the fields of a job, whatever file it came from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slackwater_simulator.charts.amounts import count
from slackwater_simulator.workload.workload import Driver, Job, Stage, Usage, Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def problem(job: Job, kinds: int) -> tuple[str, str] | None:
    """What is wrong with a job and what was expected instead, or None. `kinds` is how many resources there are."""
    return next(_problems(job, kinds), None)


# Malformed entries show up as any of these while their fields are read.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
# No job of a real trace comes near; a damaged count would take all memory.
MOST_TASKS = 10_000_000
# Seconds that must still count: beyond some 1.7e13 s a float does not tell two moments apart that are so near.
FINEST = 1e-3


def told_apart(seconds: Floats) -> NDArray[np.bool_]:
    """Whether moments so late can be told from those a little later; counts of nanoseconds since 1970 cannot."""
    return np.asarray(seconds + FINEST != seconds)


def counted(value: object) -> int:
    """A count as written in a trace; ValueError if it is negative or absurd."""
    count = int(value)  # type: ignore[call-overload]  # anything int() refuses is the caller's ValueError or TypeError
    if not 0 <= count <= MOST_TASKS:
        raise ValueError(f"a count of {count}")
    return int(count)


def distinct(workload: Workload) -> Workload:
    """The workload with an id of its own for every job: results and other formats tell jobs apart by it."""
    counts = Counter(job.id for job in workload.jobs)
    if len(counts) == len(workload.jobs):
        return workload
    taken, again = set(counts), Counter[str]()
    jobs = [replace(job, id=_free(job.id, again, taken)) if counts[job.id] > 1 else job for job in workload.jobs]
    renamed = sum(made.id != job.id for made, job in zip(jobs, workload.jobs, strict=True))
    whose = count(renamed, "job whose id another job has is", "jobs whose id another job has are")
    note = f"{whose} called ID#2, ID#3 and so on"
    return replace(workload, jobs=tuple(jobs), notes=(*workload.notes, note))


def _free(name: str, again: Counter[str], taken: set[str]) -> str:
    """The id itself for the first job that has it; the next number that is free for the others."""
    again[name] += 1
    if again[name] == 1:
        return name
    while (made := f"{name}#{again[name]}") in taken:
        again[name] += 1
    taken.add(made)
    return made


def _problems(job: Job, kinds: int) -> Iterator[tuple[str, str]]:
    yield from _number_problems(job)
    names = [stage.name for stage in job.stages]
    if len(set(names)) < len(names):
        yield f"job {job.id}: two stages of one name", "a name of its own for every stage"
    for stage in job.stages:
        yield from _stage_problems(job, stage, set(names), kinds)
    if job.driver is not None:
        yield from _driver_problems(job, job.driver, kinds)
    circle = _circle(job)
    if circle:
        yield f"job {job.id}: these stages wait for each other: {', '.join(circle)}", "a graph without a circle"


def _stage_problems(job: Job, stage: Stage, names: set[str], kinds: int) -> Iterator[tuple[str, str]]:
    where = f"job {job.id}, stage {stage.name}"
    if len(stage.request) != kinds:
        yield f"{where}: {count(len(stage.request), 'amount')} in request", f"{kinds}, one per kind of the header"
    unknown = [parent for parent in stage.parents if parent not in names]
    if unknown:
        yield f"{where}: parent {unknown[0]!r} is not a stage of the job", "parents named after stages"
    if stage.transfers and len(stage.transfers) != len(stage.parents):
        yield f"{where}: {len(stage.transfers)} transfers for {len(stage.parents)} parents", "one per parent"
    if stage.hosts and len(stage.hosts) != stage.tasks:
        yield f"{where}: hosts of {len(stage.hosts)} tasks for {stage.tasks} durations", "one list of hosts per task"
    if stage.usage and not (len(stage.usage.cpu) == len(stage.usage.memory) == stage.tasks):
        yield f"{where}: use of another number of tasks than durations", "one cpu and one memory level per task"
    if stage.usage:
        yield from _curve_problems(where, stage.usage)


def _curve_problems(where: str, usage: Usage) -> Iterator[tuple[str, str]]:
    if not len(usage.at) == len(usage.cpu_shape) == len(usage.memory_shape) >= 1:
        yield f"{where}: curves of different length", "at, cpu_shape and memory_shape of one length"
    if list(usage.at) != sorted(usage.at) or not all(0 <= at <= 1 for at in usage.at):
        yield f"{where}: a curve whose points do not ascend from 0 to 1", "at as fractions of a task's life, in order"


def _number_problems(job: Job) -> Iterator[tuple[str, str]]:
    expected = "a finite number, 0 or more"
    if not 0 <= job.submit < math.inf:
        yield f"job {job.id}: submitted at {job.submit}", expected
    for stage in job.stages:
        where = f"job {job.id}, stage {stage.name}"
        if not _amounts(stage.durations):
            yield f"{where}: a duration that is negative or not finite", expected
        amounts = (*stage.request, *stage.transfers, stage.delay, stage.shuffle, stage.transfer)
        if not all(0 <= amount < math.inf for amount in amounts):
            yield f"{where}: an amount that is negative or not finite", expected
        if stage.usage and not _sensible(stage.usage):
            yield f"{where}: a use that is negative or not finite", expected
    if job.driver and not all(0 <= amount < math.inf for amount in (*job.driver.request, job.driver.startup)):
        yield f"job {job.id}, driver: an amount that is negative or not finite", expected
    if job.driver and job.driver.usage and not _sensible(job.driver.usage):
        yield f"job {job.id}, driver: a use that is negative or not finite", expected
    latest = _latest(job)
    if not told_apart(np.array(latest)):
        yield (
            f"job {job.id}: its times reach {latest:g} s, where seconds cannot be told apart",
            "seconds from the start of the workload, not nanoseconds since 1970",
        )


def _latest(job: Job) -> float:
    """When a job would end whose stages follow each other and wait for nobody."""
    times = [float(stage.durations.max(initial=0.0)) + stage.delay + stage.shuffle for stage in job.stages]
    return job.submit + sum(times) + (job.driver.startup if job.driver else 0.0)


def _sensible(usage: Usage) -> bool:
    """Whether a task can use so much: what is not a number would spread over its node and everybody on it."""
    curves = [*usage.at, *usage.cpu_shape, *usage.memory_shape, usage.noise]
    return all(_amounts(levels) for levels in (usage.cpu, usage.memory, np.array(curves)))


def _amounts(values: Floats) -> bool:
    return bool((np.isfinite(values) & (values >= 0)).all())


def _driver_problems(job: Job, driver: Driver, kinds: int) -> Iterator[tuple[str, str]]:
    if len(driver.request) != kinds:
        yield f"job {job.id}, driver: {count(len(driver.request), 'amount')} in request", f"{kinds}, one per kind"
    if driver.usage and not (len(driver.usage.cpu) == len(driver.usage.memory) == 1):
        yield f"job {job.id}, driver: use of {len(driver.usage.cpu)} tasks", "one cpu and one memory level"
    if driver.usage:
        yield from _curve_problems(f"job {job.id}, driver", driver.usage)


def _circle(job: Job) -> list[str]:
    """The stages that are left when those whose parents are gone are taken away again and again."""
    waiting = {stage.name: set(stage.parents) for stage in job.stages}
    while free := {name for name, parents in waiting.items() if not parents & waiting.keys()}:
        for name in free:
            del waiting[name]
    return sorted(waiting)
