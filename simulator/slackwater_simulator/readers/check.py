"""What must hold between the fields of a job, whatever file it came from."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater_simulator.workload import Driver, Job, Stage


def problem(job: Job, kinds: int) -> tuple[str, str] | None:
    """What is wrong with a job and what was expected instead, or None. `kinds` is how many resources there are."""
    return next(_problems(job, kinds), None)


def _problems(job: Job, kinds: int) -> Iterator[tuple[str, str]]:
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
        yield f"{where}: {len(stage.request)} amount(s) in request", f"{kinds}, one per kind of the header"
    unknown = [parent for parent in stage.parents if parent not in names]
    if unknown:
        yield f"{where}: parent {unknown[0]!r} is not a stage of the job", "parents named after stages"
    if stage.transfers and len(stage.transfers) != len(stage.parents):
        yield f"{where}: {len(stage.transfers)} transfers for {len(stage.parents)} parents", "one per parent"
    if stage.hosts and len(stage.hosts) != stage.tasks:
        yield f"{where}: hosts of {len(stage.hosts)} tasks for {stage.tasks} durations", "one list of hosts per task"
    if stage.usage and not (len(stage.usage.cpu) == len(stage.usage.memory) == stage.tasks):
        yield f"{where}: use of another number of tasks than durations", "one cpu and one memory level per task"
    if stage.usage and not (len(stage.usage.at) == len(stage.usage.cpu_shape) == len(stage.usage.memory_shape) >= 1):
        yield f"{where}: curves of different length", "at, cpu_shape and memory_shape of one length"


def _driver_problems(job: Job, driver: Driver, kinds: int) -> Iterator[tuple[str, str]]:
    if len(driver.request) != kinds:
        yield f"job {job.id}, driver: {len(driver.request)} amount(s) in request", f"{kinds}, one per kind"
    if driver.usage and not (len(driver.usage.cpu) == len(driver.usage.memory) == 1):
        yield f"job {job.id}, driver: use of {len(driver.usage.cpu)} tasks", "one cpu and one memory level"


def _circle(job: Job) -> list[str]:
    """The stages that are left when those whose parents are gone are taken away again and again."""
    waiting = {stage.name: set(stage.parents) for stage in job.stages}
    while free := {name for name, parents in waiting.items() if not parents & waiting.keys()}:
        for name in free:
            del waiting[name]
    return sorted(waiting)
