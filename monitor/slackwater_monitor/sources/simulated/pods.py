"""Every pod of a play: when it was asked for, and whether it waits for a node at a moment."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DONE, DRIVER, REFUSED
from slackwater_simulator.workload.workload import Job, Stage

Mask = NDArray[np.bool_]
Key = tuple[int, int]  # job and stage


class Pods:
    """Arrays with a row per pod: of each job the driver, then the tasks of its stages."""

    def __init__(self, outcome: Outcome) -> None:
        self._rows, self._ends = outcome.containers, outcome.jobs.end
        self._refused = outcome.jobs.status == REFUSED
        asked = dict(_asked(outcome))
        sizes = {
            (job, stage): 1 if stage == DRIVER else outcome.workload.jobs[job].stages[stage].tasks
            for job, stage in asked
        }
        counts = list(sizes.values())
        keys = np.array(list(asked), dtype=np.int64).reshape(-1, 2)
        self.job, self.stage = np.repeat(keys[:, 0], counts), np.repeat(keys[:, 1], counts)
        self.task = np.concatenate([np.arange(count) for count in counts] or [np.zeros(0, dtype=np.int64)])
        self.asked = np.repeat(np.array(list(asked.values()), dtype=np.float64), counts)
        first = dict(zip(asked, np.cumsum([0, *counts]).tolist(), strict=False))
        pairs = zip(self._rows.job.tolist(), self._rows.stage.tolist(), strict=True)
        begins = np.array([first[pair] for pair in pairs], dtype=np.int64)
        self.of = begins + np.where(
            self._rows.stage == DRIVER, 0, np.maximum(self._rows.task, 0)
        )  # the pod of each container

    def waiting(self, now: float) -> Mask:
        """Those asked for that have no node: not yet, or not again after their container broke. Not of refused jobs."""
        rows = self._rows
        served = (rows.allocated <= now) & ((now < rows.released) | (rows.status == DONE))
        there = np.zeros(len(self.job), dtype=np.bool_)
        there[self.of[served]] = True
        over = (self._ends <= now) | self._refused
        return np.asarray((self.asked <= now) & ~there & ~over[self.job])


def _asked(outcome: Outcome) -> Iterator[tuple[Key, float]]:
    """When the pods of each stage were asked for; never, where that did not happen."""
    rows = outcome.containers
    begun, done = dict[Key, float](), dict[Key, list[float]]()
    columns = (rows.job, rows.stage, rows.allocated, rows.end, rows.status)
    for job, stage, allocated, end, status in zip(*(column.tolist() for column in columns), strict=True):
        begun[job, stage] = min(allocated, begun.get((job, stage), math.inf))
        if status == DONE:
            done.setdefault((job, stage), []).append(end)
    for number, job in enumerate(outcome.workload.jobs):
        submitted = float(outcome.jobs.submit[number])
        if job.driver is not None:
            yield (number, DRIVER), submitted
        by_name = {stage.name: sorted(done.get((number, at), ())) for at, stage in enumerate(job.stages)}
        first = submitted if job.driver is None else float(outcome.jobs.driver[number]) + job.driver.startup
        for at, stage in enumerate(job.stages):
            ready = max(first, _ready(job, stage, by_name)) + stage.delay
            yield (number, at), min(begun.get((number, at), math.inf), ready)


def _ready(job: Job, stage: Stage, done: Mapping[str, list[float]]) -> float:
    """When as many tasks of each parent had ended as the stage wants; before all time where it wants none."""
    parents = [parent for parent in job.stages if parent.name in stage.parents]
    needed = ((done[parent.name], math.ceil(stage.start_after * parent.tasks)) for parent in parents)
    moments = (ends[count - 1] if count <= len(ends) else math.inf for ends, count in needed if count)
    return max(moments, default=-math.inf)
