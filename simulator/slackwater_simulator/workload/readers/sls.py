"""Inputs of Hadoop's scheduler load simulator: one JSON object per job, one after another (SYNTH: see `synth`).

Numbers may be written as strings. Tasks of one type, priority and size form a stage in trace order; reduces
wait for all maps, since SLS has no slow start. Tasks of a DAG job ask when their request delay is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from slackwater_simulator.workload.readers import synth
from slackwater_simulator.workload.readers.check import UNREADABLE, counted, problem
from slackwater_simulator.workload.readers.source import Faults, concatenated, load_text
from slackwater_simulator.workload.workload import MEBI, Driver, Job, Request, Stage, Workload

JOB = "an SLS job with job.start.ms and job.tasks, each task with a duration.ms or container.start.ms and .end.ms"
# SLS's own defaults for a container and for a driver (sls-runner.xml).
CONTAINER: Request = (1.0, 1024 * MEBI)
DRIVER: Request = (1.0, 1024 * MEBI)
MAP_PRIORITY, REDUCE_PRIORITY = 20, 10
Entry = Mapping[str, Any]
Key = tuple[str, int, Request, float]


def read(path: Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:
    """The jobs of an SLS or SYNTH file; job.count repeats a job."""
    faults = Faults(path, skip_bad)
    jobs: list[Job] = []
    modelled: list[tuple[str, str]] = []
    for line, entry in concatenated(load_text(path), faults):
        try:
            made = synth.jobs(entry, seed) if "workloads" in entry else _jobs(entry, len(jobs))
        except UNREADABLE as error:
            faults.bad(line, f"a job whose fields cannot be read ({error!r})", JOB)
            continue
        wrong = next((found for job in made if (found := problem(job, 2))), None)
        if wrong:
            faults.bad(line, *wrong)
            continue
        jobs.extend(made)
        if "workloads" in entry:
            modelled.append(synth.modelled(entry, seed))
    return Workload(
        name=path.name,
        jobs=tuple(sorted(jobs, key=lambda job: job.submit)),
        modelled=tuple(modelled),
        skipped=faults.skipped,
        notes=tuple(faults.quoted),
    )


def _jobs(entry: Entry, before: int) -> list[Job]:
    name = str(entry.get("job.id") or f"job_{before + 1}")
    count = counted(entry.get("job.count", 1))
    return [_job(entry, name if count == 1 else f"{name}_{copy + 1}") for copy in range(count)]


def _job(entry: Entry, name: str) -> Job:
    return Job(
        id=name,
        submit=float(entry["job.start.ms"]) / 1e3,
        stages=_stages(entry["job.tasks"]),
        driver=Driver(_request(entry, "am.", DRIVER)),
        user=str(entry.get("job.user", "default")),
        queue=str(entry.get("job.queue.name", "default")),
    )


def _request(entry: Entry, prefix: str, default: Request) -> Request:
    memory = entry.get(f"{prefix}memory-mb", entry.get(f"{prefix}memory"))
    cores = entry.get(f"{prefix}vcores")
    return (
        default[0] if cores is None else float(cores),
        default[1] if memory is None else float(memory) * MEBI,
    )


def _stages(tasks: list[Entry]) -> tuple[Stage, ...]:
    groups: dict[Key, list[Entry]] = {}
    for task in tasks:
        groups.setdefault(_key(task), []).append(task)
    names = _names(groups)
    maps = tuple(name for key, name in names.items() if key[0] != "reduce")
    return tuple(_stage(names[key], key, members, maps) for key, members in groups.items())


def _key(task: Entry) -> Key:
    kind = str(task.get("container.type") or _kind(int(task.get("container.priority", MAP_PRIORITY))))
    return (
        kind,
        int(task.get("container.priority", MAP_PRIORITY)),
        _request(task, "container.", CONTAINER),
        float(task.get("container.request.delay", 0)) / 1e3,
    )


def _kind(priority: int) -> str:
    return "reduce" if priority == REDUCE_PRIORITY else "map"


def _names(groups: Mapping[Key, object]) -> dict[Key, str]:
    """`map`, and where sizes, priorities or delays differ `map-2`, `map-3` and so on."""
    seen: dict[str, int] = {}
    names = {}
    for key in groups:
        seen[key[0]] = seen.get(key[0], 0) + 1
        names[key] = key[0] if seen[key[0]] == 1 else f"{key[0]}-{seen[key[0]]}"
    return names


def _stage(name: str, key: Key, tasks: list[Entry], maps: tuple[str, ...]) -> Stage:
    kind, _, request, delay = key
    seconds = [value for task in tasks for value in _durations(task)]
    hosts = tuple(_host(task) for task in tasks for _ in _durations(task))
    return Stage(
        name,
        request,
        np.array(seconds),
        parents=maps if kind == "reduce" else (),
        delay=delay,
        hosts=hosts if any(hosts) else (),
        reduce=kind == "reduce",
    )


def _durations(task: Entry) -> list[float]:
    """Seconds of the task, once for each of its copies."""
    millis = task.get("duration.ms")
    length = (
        float(millis) if millis is not None else float(task["container.end.ms"]) - float(task["container.start.ms"])
    )
    if length < 0:
        raise ValueError(f"a task that ends {-length:g} ms before it starts")
    return [length / 1e3] * counted(task.get("container.count", task.get("count", 1)))


def _host(task: Entry) -> tuple[str, ...]:
    """`/rack/node` names the node; without a host the task may run anywhere."""
    host = task.get("container.host")
    return (str(host).rsplit("/", 1)[-1],) if host else ()
