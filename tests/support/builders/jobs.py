"""Small workloads for the simulator's tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Workload

ONE = (1.0, GIBI)


def stage(name: str, count: int, seconds: float, request: tuple[float, ...] = ONE, **more: Any) -> Stage:
    """Equal tasks."""
    return Stage(name, request, np.full(count, seconds), **more)


def job(name: str, *stages: Stage, submit: float = 0.0, driver: tuple[float, ...] | None = ONE, **more: Any) -> Job:
    """A job with a driver of one core and one gigabyte, unless told otherwise."""
    return Job(name, submit, stages, None if driver is None else Driver(driver), **more)


def maps(
    name: str, count: int, seconds: float, cores: float = 1.0, gigabytes: float = 1.0, submit: float = 0.0, **more: Any
) -> Job:
    """A job of equal tasks of one stage."""
    return job(name, stage("map", count, seconds, (cores, gigabytes * GIBI)), submit=submit, **more)


def workload(*jobs: Job) -> Workload:
    """The jobs, as one workload."""
    return Workload("test", jobs)


def rigid(submit: Sequence[float], width: Sequence[int], length: Sequence[float]) -> Workload:
    """Jobs without drivers that need all their one-core tasks at once (paper 004's figure 1)."""
    return workload(
        *(
            job(f"j{n + 1}", stage("all", w, s, (1.0, 0.0)), submit=at, driver=None, gang=True)
            for n, (at, w, s) in enumerate(zip(submit, width, length, strict=True))
        )
    )
