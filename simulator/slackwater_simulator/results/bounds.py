"""A lower bound on the makespan: what no policy can beat, because it follows from the workload and the cluster alone.

    path     max over jobs of submission + the driver's start-up + the longest chain of stages
    work     max over moments t of t + Σ of what jobs submitted from t on use / what the cluster has, kind by kind

Use is the true one: a task's request × its level × the mean of its curve, for as long as it lives. Drivers' own use and
the time that a pod takes to start are left out, so the bound is a little low.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.ordering.daglevels import levels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Job, Usage, Workload

MEASURED = 2  # cpu and memory have a true use; any other kind is used as requested


class Bound(NamedTuple):
    """Seconds from the first submission."""

    path: float
    work: float

    @property
    def makespan(self) -> float:
        """No run ends earlier."""
        return max(self.path, self.work)


def bound(workload: Workload, cluster: Cluster) -> Bound:
    """The lower bound of a workload on a cluster."""
    if not workload.jobs:
        return Bound(0.0, 0.0)
    submits = np.array([job.submit for job in workload.jobs])
    paths = np.array([_path(job) for job in workload.jobs])
    first, order = float(submits.min()), np.argsort(submits, kind="stable")
    used = np.array([_work(job, len(cluster.kinds)) for job in workload.jobs])[order]
    after = np.cumsum(used[::-1], axis=0)[::-1]  # of this job and all later ones
    total = np.array(cluster.total)
    spans = np.divide(after, total, out=np.zeros_like(after), where=total > 0).max(axis=1)
    return Bound(float((submits + paths).max()) - first, float((submits[order] + spans).max()) - first)


def _path(job: Job) -> float:
    """Seconds that the job takes on an empty cluster of any size."""
    stages = {stage.name: stage for stage in job.stages}
    edges = [(name, stage.name) for stage in job.stages for name in stage.parents if name in stages]
    ends: dict[str, float] = {}
    for stage in (stages[name] for level in levels(stages, edges) for name in level):
        before = max((ends[name] for name in stage.parents if name in stages), default=0.0)
        # A stage that may start before its parents end fetches their output meanwhile.
        fetched = before + stage.fetch if stage.start_after >= 1.0 else before
        ends[stage.name] = fetched + float(max(stage.durations, default=0.0))
    startup = job.driver.startup if job.driver is not None else 0.0
    return startup + max(ends.values(), default=0.0)


def _work(job: Job, kinds: int) -> NDArray[np.float64]:
    """What its tasks use in all, kind by kind: amount × seconds."""
    used = np.zeros(kinds)
    for stage in job.stages:
        lives = np.asarray(stage.durations) + stage.fetch
        for kind, request in enumerate(stage.request[:kinds]):
            used[kind] += request * float((lives * _levels(stage.usage, kind, len(lives))).sum())
    return used


def _levels(usage: Usage | None, kind: int, tasks: int) -> NDArray[np.float64]:
    """Each task's mean use of a kind, as a share of the request."""
    if usage is None or kind >= MEASURED:
        return np.ones(tasks)
    levels, shape = ((usage.cpu, usage.cpu_shape), (usage.memory, usage.memory_shape))[kind]
    mean = float(np.trapezoid(shape, usage.at)) + shape[0] * usage.at[0] + shape[-1] * (1.0 - usage.at[-1])
    return np.resize(np.asarray(levels, np.float64), tasks) * mean
