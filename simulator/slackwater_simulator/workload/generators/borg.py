"""A day of single tasks that use as much of their request as jobs of Google's Borg did in 2019.

What is known of Borg is the ratio of use to request (`imputation`: 3,971 windows of the public sample of
ClusterData2019). How long tasks last, when they come and how even their use is are made up.
"""

from __future__ import annotations

import numpy as np

from slackwater.errors import BadNumber
from slackwater_simulator.workload.imputation import with_borg_usage, with_memory_shape
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Workload

CLUSTER = "10x16c64Gi"
REQUEST = (1.0, 4 * GIBI)
DAY = 86_400.0
SHORTEST, LONGEST = 600.0, 8 * 3600.0  # seconds; lengths between them are equally likely by their logarithm


def generate(*, seed: int = 0, tasks: int = 2000, shape: str = "flat", noise: float = 0.3) -> Workload:
    """Each task is a job by itself, with a ratio of its own for CPU and for memory.

    `shape` is how tasks come to their memory (flat, ramp, plateaus, spike), `noise` how uneven their CPU is.
    """
    if tasks < 1 or noise < 0:
        raise BadNumber(
            "tasks" if tasks < 1 else "noise", min(tasks, noise), "give at least one task, and no less noise than 0"
        )
    rng = np.random.default_rng(seed)
    submits = np.sort(rng.uniform(0.0, DAY, tasks)).tolist()
    seconds = np.exp(rng.uniform(np.log(SHORTEST), np.log(LONGEST), tasks))
    jobs = tuple(
        Job(f"task-{number + 1}", submit, (Stage("task", REQUEST, seconds[number : number + 1]),))
        for number, submit in enumerate(submits)
    )
    workload = Workload("Borg's ratios", jobs, modelled=(("arrivals, durations", f"made up (seed {seed})"),))
    return with_memory_shape(with_borg_usage(workload, seed), shape, noise)
