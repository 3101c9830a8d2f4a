"""Paper 002's workload: many small jobs at once whose drivers could fill the cluster and leave no room for tasks."""

from __future__ import annotations

import numpy as np

from slackwater.errors import UnknownName
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Workload

CLUSTER = "8x8c12Gi"
JOBS = 72


def generate(*, seed: int = 0, amc: float = 1.0, tc: float = 1.0, jobs: int = JOBS, case: str = "terasort") -> Workload:
    """72 TeraSort jobs of 100 MB at t = 0; `amc` and `tc` are the vcores of a driver and of a task (1 to 4 in Table I).

    Case `toy` is the smallest workload that deadlocks: 4 drivers of 1 vcore on 4 vcores, two 10 s tasks each.
    """
    if case == "toy":
        return _toy()
    if case != "terasort":
        raise UnknownName("case", case, ("terasort", "toy"))
    rng = np.random.default_rng(seed)
    return Workload(
        name=f"admission (AMC {amc:g}, TC {tc:g})",
        jobs=tuple(_terasort(index, amc, tc, rng) for index in range(jobs)),
        modelled=(("everything", f"the evaluation of paper 002 (seed {seed})"),),
    )


def _terasort(index: int, amc: float, tc: float, rng: np.random.Generator) -> Job:
    """Driver 5–7 s until it asks, 2 maps of 12–18 s, 1 reduce of 14–20 s that may be asked for after the first map."""
    task = (tc, GIBI)
    driver = Driver((amc, 1.5 * GIBI), startup=float(rng.uniform(5, 7)))
    maps = Stage("map", task, rng.uniform(12, 18, 2))
    reduce = Stage("reduce", task, rng.uniform(14, 20, 1), ("map",), start_after=0.5, reduce=True)
    return Job(f"terasort-{index + 1}", 0.0, (maps, reduce), driver)


def _toy() -> Workload:
    tasks = Stage("task", (1.0, 0.0), np.full(2, 10.0))
    jobs = tuple(Job(f"job-{index + 1}", 0.0, (tasks,), Driver((1.0, 0.0))) for index in range(4))
    return Workload(name="admission (toy)", jobs=jobs)
