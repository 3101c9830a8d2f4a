"""What the containers of a simulation use at any moment, read off its workload."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.results.metrics import requests
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DRIVER
from slackwater_simulator.workload.workload import Usage

Floats = NDArray[np.float64]
Shape = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]


class Wants:
    """Request × level × shape at the fraction of life, CPU and memory, of every container of one outcome."""

    def __init__(self, outcome: Outcome) -> None:
        self._rows = outcome.containers
        self._requests = requests(outcome)[:, :2]
        self._size = np.array([each.capacity[0] for each in outcome.cluster.nodes])
        self.levels, self._shapes = _usages(outcome)

    def at(self, now: float) -> Floats:
        """What each uses at a moment."""
        rows = self._rows
        life = np.clip((now - rows.start) / np.maximum(rows.end - rows.start, 1e-9), 0.0, 1.0)
        factor = self.levels.copy()
        for (at, cpu, memory), where in self._shapes.items():
            factor[where, 0] *= np.interp(life[where], at, cpu)
            factor[where, 1] *= np.interp(life[where], at, memory)
        factor[now < rows.start] = 0.0
        return self._shared(self._requests * factor, np.asarray((rows.allocated <= now) & (now < rows.released)))

    def _shared(self, wanted: Floats, active: NDArray[np.bool_]) -> Floats:
        """Where a node's containers want more CPU than it has, each gets its part of what there is."""
        sums = np.bincount(self._rows.node[active], wanted[active, 0], len(self._size))
        wanted[:, 0] *= np.minimum(1.0, self._size / np.maximum(sums, 1e-9))[self._rows.node]
        return wanted


def _usages(outcome: Outcome) -> tuple[Floats, Mapping[Shape, NDArray[np.int64]]]:
    """Each container's level of CPU and memory (1 where the workload says nothing), and rows by the shape of use."""
    rows = outcome.containers
    levels = np.ones((len(rows.job), 2))
    shapes: dict[Shape, list[int]] = {}
    for row, (job, stage, task) in enumerate(
        zip(rows.job.tolist(), rows.stage.tolist(), rows.task.tolist(), strict=True)
    ):
        usage = _usage(outcome, job, stage)
        if usage is not None:
            at = 0 if stage == DRIVER else task
            levels[row] = usage.cpu[at], usage.memory[at]
            shapes.setdefault((usage.at, usage.cpu_shape, usage.memory_shape), []).append(row)
    return levels, {shape: np.array(found) for shape, found in shapes.items()}


def _usage(outcome: Outcome, job: int, stage: int) -> Usage | None:
    found = outcome.workload.jobs[job]
    if stage == DRIVER:
        return found.driver.usage if found.driver is not None else None
    return found.stages[stage].usage
