"""What a run produced: one row per job and one row per container, as compact arrays. Metrics are read off these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from slackwater_simulator.results.status import FINISHED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.pools.startforecast import StartInterval
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Workload


@dataclass(frozen=True, slots=True)
class Jobs:
    """One row per job, in the order of the workload. A moment that never came is NaN."""

    submit: NDArray[np.float64]
    driver: NDArray[np.float64]  # the driver's container starts (= first task where there is no driver)
    start: NDArray[np.float64]  # the first task starts
    end: NDArray[np.float64]
    tasks: NDArray[np.int64]
    status: NDArray[np.int8]  # FINISHED, UNFINISHED, REFUSED or FAILED

    @property
    def makespan(self) -> float:
        """From the first submission to the last end; NaN where no job finished."""
        return self.span() if bool((self.status == FINISHED).any()) else float("nan")

    def span(self, stalled_at: float = float("nan")) -> float:
        """From the first submission to the standstill, or else to the last end; NaN where nothing ended."""
        last = np.fmax.reduce(self.end, initial=np.nan) if np.isnan(stalled_at) else stalled_at
        return float(last - np.fmin.reduce(self.submit, initial=np.nan))


@dataclass(frozen=True, slots=True)
class Containers:
    """One row per container that ever held resources, in the order in which they gave them back."""

    job: NDArray[np.int32]  # row in Jobs
    stage: NDArray[np.int16]  # index in Job.stages, or DRIVER
    task: NDArray[np.int32]  # index in the stage
    node: NDArray[np.int32]  # index in Cluster.nodes
    allocated: NDArray[np.float64]
    start: NDArray[np.float64]  # runs from here …
    end: NDArray[np.float64]  # … to here
    released: NDArray[np.float64]  # the resource manager has its resources back
    status: NDArray[np.int8]  # DONE, CRASHED, LOST or KILLED


@dataclass(frozen=True, slots=True)
class Series:
    """A quantity over time that only the policy knows (its estimate, a pool's size …)."""

    time: NDArray[np.float64]
    value: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Hold:
    """What the policy's gate said of a job at a moment: a reason for machines, a sentence for people."""

    time: float
    job: int  # row in Jobs
    reason: str
    sentence: str


@dataclass(frozen=True, slots=True)
class StartTold:
    """When a job that waited was expected to start, as it was told at a moment; or why that was not known."""

    time: float
    job: int  # row in Jobs
    told: StartInterval | str
    error: float | None = None  # the median error of the newest forecasts then, in seconds


@dataclass(frozen=True, slots=True)
class RoomSeen:
    """What the policy's gate saw free for one more pod at a moment, node × kind: of drivers, and of tasks it lowers."""

    time: float
    drivers: NDArray[np.float64]
    tasks: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One policy on one workload. `deadlock` says: nothing could ever happen again though jobs were waiting."""

    workload: Workload
    cluster: Cluster
    policy: str
    world: str
    seed: int
    jobs: Jobs
    containers: Containers
    deadlock: bool
    events: int  # engine events executed
    decisions: int  # how often the policy was asked
    decision_seconds: float  # wall time inside the policy; not part of what must be identical between runs
    peak_drivers: int
    peak_tasks: int
    stalled_at: float = float("nan")  # when the deadlock was complete
    # Mean use per kind by the usage model, as a fraction of the cluster over `jobs.span`; empty without usage.
    used: tuple[float, ...] = ()
    series: Mapping[str, Series] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    # By cause (`slackwater.cycle.audit.idle.Cause`); empty where use is not known or the world does not count them.
    core_hours: Mapping[str, float] = field(default_factory=dict)
    # The same over time, in cores; and the containers that never gave back what they hold, where a run ended stuck.
    idle: Mapping[str, Series] = field(default_factory=dict)
    held: Containers | None = None
    holds: tuple[Hold, ...] = ()  # in the order of time; empty where nobody asked for reasons
    starts: tuple[StartTold, ...] = ()  # in the order of time; empty where nobody asked for forecasts and reasons
    rooms: tuple[RoomSeen, ...] = ()  # in the order of time; empty where nobody asked for reasons
    one_at_a_time: bool = False  # a node runs one container: others wait there with their memory and without its cores
    refusals: Mapping[int, str] = field(default_factory=dict)  # by row in Jobs: why it was refused


def whole(outcome: Outcome) -> Outcome:
    """The outcome with the containers that never ended among the others: stuck drivers hold their cores too."""
    if outcome.held is None:
        return outcome
    both = {
        column.name: np.concatenate((getattr(outcome.containers, column.name), getattr(outcome.held, column.name)))
        for column in fields(Containers)
    }
    return replace(outcome, containers=Containers(**both), held=None)


def holding(outcome: Outcome) -> Containers:
    """Every container with the time for which it held something; what a standstill holds, up to its moment."""
    rows = whole(outcome).containers
    until = np.fmin(rows.released, outcome.stalled_at)
    return replace(rows, start=np.fmin(rows.start, until), released=until)
