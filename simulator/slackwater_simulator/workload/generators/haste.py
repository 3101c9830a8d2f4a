"""Paper 001's workloads: MapReduce jobs of unlike shapes, and iterative jobs among ordinary ones.

Requests are written <GB, vcores> as in the paper. Reduces are asked for as maps complete and fetch beside them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slackwater.errors import UnknownName
from slackwater_simulator.workload.workload import GIBI, Job, Request, Stage, Workload

CLUSTER = "8x8c8Gi"
Size = tuple[int, int]
Range = tuple[float, float]

# (a) WordCount with varied requests: equal jobs, unlike containers.
SAME_MAPS: tuple[Size, ...] = ((1, 1), (3, 1), (1, 3), (2, 2))
SAME_REDUCES: tuple[Size, ...] = ((2, 1), (2, 1), (1, 2), (2, 1))
# (b) TeraSort, WordCount and others mixed.
MIXED_MAPS: tuple[Size, ...] = ((1, 2), (4, 1), (1, 3), (3, 1))
MIXED_REDUCES: tuple[Size, ...] = ((2, 1), (4, 1), (1, 2), (3, 1))
# (c) three ordinary jobs of (b) and two iterative ones.
ITERATIONS = 6
# Seconds of the tasks of (b) and (c).
MAP_TIME: Range = (15.0, 30.0)
REDUCE_TIME: Range = (12.0, 40.0)
SMALL: Size = (1, 1)


def generate(*, seed: int = 0, case: str = "a", shuffle: float = 30.0, gap: float = 0.0) -> Workload:
    """Case `a` (same jobs), `b` (mixed) or `c` (iterative); `gap` above 0 is the mean seconds between arrivals."""
    makers = {"a": _same, "b": _mixed, "c": _iterative}
    if case not in makers:
        raise UnknownName("case", case, makers)
    rng = np.random.default_rng(seed)
    jobs = list(makers[case](rng, shuffle))
    moments = np.cumsum(rng.exponential(gap, len(jobs))) if gap > 0 else np.zeros(len(jobs))
    return Workload(
        name=f"haste ({case}, shuffle {shuffle:g} s)",
        jobs=tuple(_at(job, float(moment)) for job, moment in zip(jobs, moments, strict=True)),
        modelled=(("everything", f"the evaluation of paper 001 (seed {seed})"),),
    )


def _same(rng: np.random.Generator, shuffle: float) -> Iterator[Job]:  # noqa: ARG001 - nothing is drawn in this case
    for index, (maps, reduces) in enumerate(zip(SAME_MAPS, SAME_REDUCES, strict=True)):
        pair = _pair(56, 20.0, maps, 16, 15.0, reduces, shuffle)
        yield Job(f"wordcount-{index + 1}", 0.0, pair)


def _mixed(rng: np.random.Generator, shuffle: float) -> Iterator[Job]:
    for index, (maps, reduces) in enumerate(zip(MIXED_MAPS, MIXED_REDUCES, strict=True)):
        yield Job(f"mixed-{index + 1}", 0.0, _ordinary(rng, maps, reduces, shuffle))


def _iterative(rng: np.random.Generator, shuffle: float) -> Iterator[Job]:
    for index in range(3):
        yield Job(f"ordinary-{index + 1}", 0.0, _ordinary(rng, MIXED_MAPS[index], MIXED_REDUCES[index], shuffle))
    for index in range(2):
        stages = tuple(_rounds(rng, shuffle))
        yield Job(f"iterative-{index + 1}", 0.0, stages, iterations=ITERATIONS)


def _ordinary(rng: np.random.Generator, maps: Size, reduces: Size, shuffle: float) -> tuple[Stage, Stage]:
    """60–80 maps of 15–30 s and 16–24 reduces of 12–40 s; tasks of one kind are alike."""
    return _pair(
        int(rng.integers(60, 81)),
        _between(rng, MAP_TIME),
        maps,
        int(rng.integers(16, 25)),
        _between(rng, REDUCE_TIME),
        reduces,
        shuffle,
    )


def _rounds(rng: np.random.Generator, shuffle: float) -> Iterator[Stage]:
    """Six rounds of 12–16 maps and 6 reduces; a round's maps wait for the reduces before."""
    count, map_time, reduce_time = int(rng.integers(12, 17)), _between(rng, MAP_TIME), _between(rng, REDUCE_TIME)
    for number in range(1, ITERATIONS + 1):
        before = (f"reduce-{number - 1}",) if number > 1 else ()
        yield Stage(f"map-{number}", _request(SMALL), np.full(count, map_time), before, iteration=number)
        yield _reduce(f"reduce-{number}", (f"map-{number}",), 6, reduce_time, SMALL, shuffle, number)


def _between(rng: np.random.Generator, ends: Range) -> float:
    return float(rng.uniform(*ends))


def _pair(
    maps: int, map_time: float, map_size: Size, reduces: int, reduce_time: float, reduce_size: Size, shuffle: float
) -> tuple[Stage, Stage]:
    first = Stage("map", _request(map_size), np.full(maps, map_time))
    return first, _reduce("reduce", ("map",), reduces, reduce_time, reduce_size, shuffle)


def _reduce(
    name: str, parents: tuple[str, ...], count: int, time: float, size: Size, shuffle: float, iteration: int = 0
) -> Stage:
    return Stage(
        name,
        _request(size),
        np.full(count, time),
        parents,
        start_after=0.0,
        ramp=True,
        shuffle=shuffle,
        reduce=True,
        iteration=iteration,
    )


def _request(size: Size) -> Request:
    memory, cores = size
    return (float(cores), memory * GIBI)


def _at(job: Job, moment: float) -> Job:
    return Job(job.id, moment, job.stages, iterations=job.iterations)
