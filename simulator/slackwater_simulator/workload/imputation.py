"""What traces do not tell, drawn from named, seeded models. Every use of one is written into Workload.modelled.

The numbers were fitted once on public logs and are committed here as a few quantiles and coefficients:

- durations: the 10 data-moving jobs of the 19-job Rumen trace of Apache Hadoop. Over job medians, a map takes
  6.6 s + 0.775 s per MiB read; inside a job the durations spread with a log-normal sigma of 0.3. The largest reduce
  of that trace fetched 9 MiB, so its slope says nothing about gigabytes: reduces take their median 12 s after
  the shuffle, plus the same time per MiB as maps.
- usage: 3,971 windows of the public sample of Google's ClusterData2019: average CPU and maximum memory over request.
- requests: Hadoop's defaults (map and reduce 1 core and 1 GiB, driver 1 core and 1.5 GiB).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import UnknownName
from slackwater_simulator.workload.workload import GIBI, MEBI, Driver, Job, Request, Stage, Usage, Workload

if TYPE_CHECKING:
    from slackwater_simulator.workload.cluster import Cluster

Floats = NDArray[np.float64]

# Quantiles 0, 0.05, … 1 of use over request. The ends are the clips: nothing is idle to the last cycle, CPU may burst
# to twice its request, and a container above its memory request would have been killed.
BORG_AT = tuple(np.linspace(0.0, 1.0, 21).round(2).tolist())
BORG_CPU = (
    0.01, 0.01, 0.015, 0.026, 0.037, 0.055, 0.084, 0.120, 0.160, 0.204, 0.269,
    0.331, 0.409, 0.509, 0.616, 0.753, 0.936, 1.176, 1.585, 2.0, 2.0,
)  # fmt: skip
BORG_MEMORY = (
    0.02, 0.02, 0.052, 0.117, 0.183, 0.251, 0.329, 0.394, 0.450, 0.498, 0.551,
    0.601, 0.654, 0.697, 0.737, 0.779, 0.829, 0.900, 1.0, 1.0, 1.0,
)  # fmt: skip
# Tasks of one job differ less than jobs do (paper 000's trace statistics).
TASK_SIGMA = 0.25
BORG = "borg-2019"
# How tasks come to their peak of memory: life fractions, and the share of the peak there.
SHAPES: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "flat": ((0.0, 1.0), (1.0, 1.0)),
    "ramp": ((0.0, 0.9, 1.0), (0.2, 1.0, 1.0)),
    "plateaus": ((0.0, 0.5, 0.51, 1.0), (0.4, 0.4, 1.0, 1.0)),
    "spike": ((0.0, 0.85, 0.86, 0.95, 0.96, 1.0), (0.3, 0.3, 1.0, 1.0, 0.3, 0.3)),
}
RUMEN = "rumen-19-jobs"


@dataclass(frozen=True, slots=True)
class MapReduce:
    """How bytes become tasks and seconds where a trace gives only bytes (SWIM)."""

    split: float = 256 * MEBI  # input of one map
    fetch: float = GIBI  # shuffled bytes of one reduce
    map_base: float = 6.6  # s
    reduce_base: float = 12.0  # s after the shuffle
    per_byte: float = 0.775 / MEBI  # s
    sigma: float = 0.3
    bandwidth: float = 50 * MEBI  # bytes/s of one reduce's shuffle, about half a gigabit link
    slow_start: float = 0.05  # Hadoop's default share of maps done before reduces are asked for
    startup: float = 6.0  # s from the driver's start to its first ask (the middle of paper 002's 5 to 7 s)
    task: Request = (1.0, GIBI)
    driver: Request = (1.0, 1.5 * GIBI)

    def maps(self, read: Floats) -> NDArray[np.int64]:
        """Maps of each job: one per split, at least one."""
        return np.maximum(1, np.ceil(read / self.split)).astype(np.int64)

    def reduces(self, shuffled: Floats) -> NDArray[np.int64]:
        """Reduces of each job: one per gibibyte shuffled, none without a shuffle."""
        return np.ceil(shuffled / self.fetch).astype(np.int64)

    def durations(self, base: float, share: Floats, counts: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """Seconds of every task of every job in one array: (base + bytes of one task × per_byte) × logN(0, sigma)."""
        level = np.repeat(base + share * self.per_byte, counts)
        level *= rng.lognormal(0.0, self.sigma, len(level))
        return level

    def describe(self, seed: int) -> tuple[tuple[str, str], ...]:
        """The entries of Workload.modelled for a trace that gives only bytes."""
        return (
            ("task counts", f"{self.split / MEBI:g} MiB per map, {self.fetch / GIBI:g} GiB of shuffle per reduce"),
            ("durations", f"{RUMEN} (seed {seed})"),
            ("shuffle", f"{self.bandwidth / MEBI:g} MiB/s per reduce"),
            ("requests", "hadoop-defaults"),
            ("drivers", f"one per job, {self.startup:g} s to its first ask"),
        )


def borg_levels(counts: NDArray[np.int64], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """CPU and memory use over request of every task of every job: a Borg quantile per job, spread over its tasks."""
    return _levels(BORG_CPU, counts, rng), _levels(BORG_MEMORY, counts, rng)


def _levels(table: tuple[float, ...], counts: NDArray[np.int64], rng: np.random.Generator) -> Floats:
    job = np.interp(rng.random(len(counts)), BORG_AT, table)
    level = np.repeat(job, counts)
    level *= rng.lognormal(-(TASK_SIGMA**2) / 2, TASK_SIGMA, len(level))
    return np.clip(level, table[0], table[-1], out=level)


def with_memory_by_cores(workload: Workload, cluster: Cluster) -> Workload:
    """The same workload; a request that tells no memory asks for a core's share of memory with each of its cores.

    YARN's default calculators look at memory alone: a log that does not know it would never wait. The share is the
    least that a node of the cluster has per core, so memory never binds before cores do.
    """
    if all(_told(request) for job in workload.jobs for request in _requests(job)):
        return workload
    per_core = min((node.capacity[1] / node.capacity[0] for node in cluster.nodes if node.capacity[0] > 0), default=0.0)
    made: dict[int, Stage] = {}  # stages are shared between equal jobs, and stay so

    def with_memory(stage: Stage) -> Stage:
        if id(stage) not in made:
            made[id(stage)] = replace(stage, request=_by_cores(stage.request, per_core))
        return made[id(stage)]

    jobs = tuple(
        replace(
            job,
            stages=tuple(with_memory(stage) for stage in job.stages),
            driver=replace(job.driver, request=_by_cores(job.driver.request, per_core)) if job.driver else None,
        )
        for job in workload.jobs
    )
    model = f"{per_core / GIBI:g} GiB for each core, where the log tells no memory: so cores are what counts"
    return replace(workload, jobs=jobs, modelled=(*workload.modelled, ("memory", model)))


def _requests(job: Job) -> Iterator[Request]:
    if job.driver is not None:
        yield job.driver.request
    yield from (stage.request for stage in job.stages)


def _told(request: Request) -> bool:
    return len(request) > 1 and request[1] > 0


def _by_cores(request: Request, per_core: float) -> Request:
    return request if _told(request) else (request[0], request[0] * per_core, *request[2:])


def with_borg_usage(workload: Workload, seed: int = 0) -> Workload:
    """The same workload in which every stage and driver without measured use has Borg-like use."""
    if all(stage.usage for job in workload.jobs for stage in job.stages):
        return workload
    rng = np.random.default_rng(seed)
    # Stages of one job share their quantile: one draw per job, spread over all its tasks and its driver.
    counts = np.array([job.tasks + 1 for job in workload.jobs], dtype=np.int64)
    cpu, memory = borg_levels(counts, rng)
    ends = np.cumsum(counts)
    jobs = tuple(
        _with_levels(job, cpu[end - count : end], memory[end - count : end])
        for job, count, end in zip(workload.jobs, counts.tolist(), ends.tolist(), strict=True)
    )
    return replace(workload, jobs=jobs, modelled=(*workload.modelled, ("usage", f"{BORG} (seed {seed})")))


def with_memory_shape(workload: Workload, shape: str, noise: float) -> Workload:
    """The same workload, the tasks' memory over their life as in SHAPES, and their CPU uneven by `noise`."""
    if shape not in SHAPES:
        raise UnknownName("shape", shape, SHAPES)
    at, memory = SHAPES[shape]
    flat = (1.0,) * len(at)

    def shaped(stage: Stage) -> Stage:
        usage = stage.usage
        if usage is None:
            return stage
        return replace(stage, usage=replace(usage, at=at, cpu_shape=flat, memory_shape=memory, noise=noise))

    jobs = tuple(replace(job, stages=tuple(shaped(stage) for stage in job.stages)) for job in workload.jobs)
    return replace(workload, jobs=jobs, modelled=(*workload.modelled, ("course of use", f"{shape}, noise {noise:g}")))


def _with_levels(job: Job, cpu: Floats, memory: Floats) -> Job:
    at = 1
    stages: list[Stage] = []
    for stage in job.stages:
        level = slice(at, at + stage.tasks)
        stages.append(stage if stage.usage else replace(stage, usage=Usage(cpu[level], memory[level])))
        at += stage.tasks
    return replace(job, stages=tuple(stages), driver=_driver_with(job.driver, cpu[:1], memory[:1]))


def _driver_with(driver: Driver | None, cpu: Floats, memory: Floats) -> Driver | None:
    if driver is None or driver.usage:
        return driver
    return replace(driver, usage=Usage(cpu, memory))
