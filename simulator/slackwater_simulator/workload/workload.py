"""What is to be run: jobs of a driver and stages of tasks. Readers and generators make these, worlds play them.

Per-task numbers are numpy arrays, one value per task, so that millions of tasks stay small. CPU is in cores, memory
in bytes, time in seconds from the workload's start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

# (cpu cores, memory bytes, further kinds in the order of Workload.kinds)
Request = tuple[float, ...]
MEBI = 1024.0**2
GIBI = 1024.0**3


@dataclass(frozen=True, slots=True)
class Usage:
    """What the tasks of a stage really use, as fractions of the request, over the fraction of their life.

    A task's use of kind k at life fraction x is request[k] × level[k][task] × interp(x, at, shape[k]).
    """

    cpu: NDArray[np.float64]  # mean use of each task, as a fraction of its request (above 1: throttled or shared)
    memory: NDArray[np.float64]  # peak use of each task, as a fraction of its request
    at: tuple[float, ...] = (0.0, 1.0)
    cpu_shape: tuple[float, ...] = (1.0, 1.0)
    memory_shape: tuple[float, ...] = (1.0, 1.0)
    # Sigma of a log-normal factor of mean 1 on the CPU use, drawn anew each second (paper 000); 0 = smooth.
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Equal tasks that may start together once enough of the parents' tasks are done."""

    name: str
    request: Request
    durations: NDArray[np.float64]  # seconds of run time, one per task, at full CPU speed
    parents: tuple[str, ...] = ()
    # Share of the parents' tasks that must be done before this stage may ask (MapReduce slow-start); 1 = all of them.
    start_after: float = 1.0
    # Seconds between the moment the stage could ask and the moment it does (SLS request delay).
    delay: float = 0.0
    # Seconds each task spends fetching the parents' output, before its duration; overlaps the parents, and cannot end
    # before they do: a task ends at max(start + shuffle, last parent's end) + duration.
    shuffle: float = 0.0
    # Bytes each task fetches from each parent task's node (paper 003); 0 = none.
    transfer: float = 0.0
    # Bytes from each parent, in the order of `parents`, where they differ; empty = `transfer` from each.
    transfers: tuple[float, ...] = ()
    usage: Usage | None = None
    hosts: tuple[tuple[str, ...], ...] = ()  # preferred hosts of each task; empty = anywhere
    reduce: bool = False  # HaSTE: counts as the job's waiting stage even without parents in the trace
    iteration: int = 0  # 1..n within an iterative job
    # With start_after below 1: ask for floor(done share of the parents × tasks), and for all once every parent task has
    # been given a container (paper 001's reduces); otherwise all are asked for at once.
    ramp: bool = False

    @property
    def tasks(self) -> int:
        """How many tasks the stage has."""
        return len(self.durations)

    @property
    def fetch(self) -> float:
        """Seconds that a task fetches; without parents there is nothing to fetch."""
        return self.shuffle if self.parents else 0.0


@dataclass(frozen=True, slots=True)
class Driver:
    """The application master: the first container of a job, which asks for all others and outlives them."""

    request: Request
    startup: float = 0.0  # seconds from its start until it asks for tasks
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One application. Without a driver its tasks are asked for at once (batch logs such as SWF)."""

    id: str
    submit: float
    stages: tuple[Stage, ...]
    driver: Driver | None = None
    user: str = "user"
    queue: str = "default"
    name: str = ""  # the recurring application this is a run of
    priority: int = 0
    gang: bool = False  # all tasks of a stage or none
    iterations: int = 0  # above 0: an iterative job with that many iterations
    strict: bool = False  # strict DAG: children only after their parents are placed (paper 003)
    estimate: float = 0.0  # run time the user asked for, seconds (EASY backfilling plans with it); 0 = unknown

    @property
    def tasks(self) -> int:
        """How many tasks the job has, the driver not counted."""
        return sum(stage.tasks for stage in self.stages)


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs in order of submission, and what of them is not from the trace but from a named model."""

    name: str
    jobs: tuple[Job, ...]
    kinds: tuple[str, ...] = ("cpu", "memory")
    modelled: tuple[tuple[str, str], ...] = ()  # (field, model with its seed)
    skipped: int = 0  # broken lines passed over on request
    notes: tuple[str, ...] = field(default=())
