"""Paper 000's trace: many short containers that use far less memory than they ask for.

Every distribution is chosen to match a statistic the paper prints about its week of 110,000 containers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Usage, Workload

Floats = NDArray[np.float64]
CLUSTER = "8x24c32Gi"

USERS = 30
# 324 GB over 144 cores of the paper's cluster; its trace asks for one core a container.
TASK_MEMORY = 2.25
DRIVER_MEMORY = 1.0
# Memory over the fraction x of a container's life: peak / (1 + exp(−(x − 0.25)/0.09)). Its mean over a life is 0.745.
MIDDLE, WIDTH, MEAN = 0.25, 0.09, 0.745
COURSE_AT = tuple(np.linspace(0.0, 1.0, 41).round(3).tolist())
COURSE = tuple((1.0 / (1.0 + np.exp(-(np.array(COURSE_AT) - MIDDLE) / WIDTH))).tolist())
# Per-second CPU noise logN(−0.061, 0.35): a factor of mean 1.
NOISE = 0.35


@dataclass(frozen=True, slots=True)
class Shape:
    """Every container of one job, the driver first: what it needs, before anyone decides what it asks for."""

    user: int
    seconds: Floats
    cores: Floats  # mean use
    efficiency: Floats  # memory use over the user's request
    memory: Floats  # the user's request, GiB


def generate(
    *, seed: int = 0, tasks: int = 18000, jobs: int = 0, requests: str = "user", memory: float = TASK_MEMORY
) -> Workload:
    """All containers queued at t = 0 in order of creation.

    `requests` is `user` (1 core and `memory` GiB; the paper's RRU) or `exact` (what each container needs at most; EFR).
    Jobs are made until there are `tasks` containers, or, if given, exactly `jobs` jobs.
    """
    if requests not in ("user", "exact"):
        raise InvalidInput("requests", f"{requests!r} is not known", "use user or exact")
    rng = np.random.default_rng(seed)
    shapes = _shapes(rng, tasks, jobs, memory)
    build = _by_user if requests == "user" else _exact
    return Workload(
        name=f"estimation ({requests} requests)",
        jobs=tuple(build(index, shape) for index, shape in enumerate(shapes)),
        modelled=(("everything", f"the statistics of paper 000 (seed {seed})"),),
    )


def _shapes(rng: np.random.Generator, tasks: int, jobs: int, memory: float) -> list[Shape]:
    rank = 1.0 / np.arange(1, USERS + 1)  # Zipf(1)
    factors = rng.lognormal(0.0, 0.25, USERS)
    shapes: list[Shape] = []
    made = 0
    while len(shapes) < jobs if jobs else made < tasks:
        shape = _shape(rng, rank / rank.sum(), factors, memory)
        if not jobs and made + len(shape.seconds) > tasks:
            shape = _cut(shape, tasks - made)
        made += len(shape.seconds)
        shapes.append(shape)
    return shapes


def _shape(rng: np.random.Generator, shares: Floats, factors: Floats, memory: float) -> Shape:
    user = int(rng.choice(USERS, p=shares))
    k = min(max(round(rng.lognormal(np.log(4.14), 1.5)), 1), 3000)
    job = 0.09 * factors[user] * (k / 4) ** 0.35 * rng.lognormal(0.0, 0.42)
    tasks = _between(0.02, job * rng.lognormal(0.0, 0.25, k), 1.0)
    driver = _between(0.05, rng.lognormal(np.log(0.18), 0.35, 1), 0.35)
    cores = 2.0 * rng.beta(1.7, 2.1, k + 1)
    cores[0] *= 0.3
    return Shape(
        user,
        seconds=_between(3.0, rng.lognormal(np.log(30.0), 0.9, k + 1), 1000.0),
        cores=cores,
        efficiency=np.concatenate((driver, tasks)),
        memory=np.concatenate(([DRIVER_MEMORY], np.full(k, memory))),
    )


def _between(least: float, values: Floats, most: float) -> Floats:
    """What `np.clip` gives, without the checks that cost most of its time for a few values."""
    bounded: Floats = np.minimum(np.maximum(values, least), most)
    return bounded


def _cut(shape: Shape, size: int) -> Shape:
    return Shape(shape.user, shape.seconds[:size], shape.cores[:size], shape.efficiency[:size], shape.memory[:size])


def _by_user(index: int, shape: Shape) -> Job:
    """One core and a fixed memory each, whatever is needed."""
    level = np.minimum(1.0, shape.efficiency / MEAN)
    groups = (("driver", slice(0, 1)), ("task", slice(1, None)))
    stages = tuple(
        Stage(
            name, (1.0, shape.memory[part][0] * GIBI), shape.seconds[part], usage=_usage(shape.cores[part], level[part])
        )
        for name, part in groups
        if len(shape.seconds[part])
    )
    return _job(index, shape, stages)


def _exact(index: int, shape: Shape) -> Job:
    """Memory = its peak, CPU = clip(1.6 × mean, 0.1, 4): every container is a stage of its own."""
    peak = np.minimum(1.0, shape.efficiency / MEAN) * shape.memory * GIBI
    cores = np.clip(1.6 * shape.cores, 0.1, 4.0)
    stages = tuple(
        Stage(
            "driver" if task == 0 else f"task-{task}",
            (float(cores[task]), float(peak[task])),
            shape.seconds[task : task + 1],
            usage=_usage(shape.cores[task : task + 1] / cores[task], np.ones(1)),
        )
        for task in range(len(shape.seconds))
    )
    return _job(index, shape, stages)


def _usage(cpu: Floats, memory: Floats) -> Usage:
    flat = (1.0,) * len(COURSE_AT)
    return Usage(cpu, memory, at=COURSE_AT, cpu_shape=flat, memory_shape=COURSE, noise=NOISE)


def _job(index: int, shape: Shape, stages: tuple[Stage, ...]) -> Job:
    return Job(f"job-{index + 1}", 0.0, stages, user=f"user{shape.user + 1}")
