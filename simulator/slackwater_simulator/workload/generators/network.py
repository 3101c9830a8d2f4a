"""Paper 003's workload: layered task graphs whose edges carry data, on a network with hot corners.

Every task is a stage of its own, since each has its own parents and its own bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.workload.workload import GIBI, Job, Stage, Workload

CLUSTER = "200x1c8Gi"
MEGABYTE = 1e6
# 1,024 million instructions at 100 million a second.
SECONDS = 10.24
LEVELS = (20, 20, 10, 20, 5)
HOSTS, RACK = 200, 20
HOT_SHARE, HOT_BANDWIDTH, HOT_QUEUE = 0.25, 0.2, 64 * MEGABYTE


@dataclass(frozen=True, slots=True)
class Fabric:
    """The network between hosts. Rows send, columns receive."""

    bandwidth: NDArray[np.float64]  # bytes/s of each pair (the paper's BPre)
    queued: NDArray[np.float64]  # bytes already assigned to each pair (the paper's Trans)
    rack: NDArray[np.int64]


def generate(*, seed: int = 0, jobs: int = 20) -> Workload:
    """20 jobs of 75 tasks in five levels at t = 0; a task has two parents in the level before, 32–96 MB from each."""
    rng = np.random.default_rng(seed)
    return Workload(
        name="network",
        jobs=tuple(Job(f"graph-{index + 1}", 0.0, tuple(_graph(rng)), strict=True) for index in range(jobs)),
        modelled=(("everything", f"the evaluation of paper 003 (seed {seed})"),),
    )


def _graph(rng: np.random.Generator) -> Iterator[Stage]:
    for level, width in enumerate(LEVELS):
        for task in range(width):
            parents = () if level == 0 else _parents(level, rng)
            sizes = tuple((rng.uniform(32, 96, len(parents)) * MEGABYTE).tolist())
            yield Stage(_name(level, task), (1.0, GIBI), np.full(1, SECONDS), parents, transfers=sizes)


def _parents(level: int, rng: np.random.Generator) -> tuple[str, ...]:
    chosen = rng.choice(LEVELS[level - 1], size=2, replace=False)
    return tuple(_name(level - 1, int(task)) for task in chosen)


def _name(level: int, task: int) -> str:
    return f"{level}.{task}"


def fabric(mbit: float, *, seed: int = 0, hosts: int = HOSTS) -> Fabric:
    """`mbit` Mbit/s between any two hosts; a quarter are hot: a fifth of that inbound, 64 MB waiting per sender."""
    rng = np.random.default_rng(seed)
    hot = np.zeros(hosts, dtype=np.bool_)
    hot[rng.choice(hosts, size=round(HOT_SHARE * hosts), replace=False)] = True
    bandwidth = np.full((hosts, hosts), mbit * 1e6 / 8)
    bandwidth[:, hot] *= HOT_BANDWIDTH
    queued = np.zeros((hosts, hosts))
    queued[:, hot] = HOT_QUEUE
    np.fill_diagonal(queued, 0.0)
    return Fabric(bandwidth, queued, np.arange(hosts) // RACK)
