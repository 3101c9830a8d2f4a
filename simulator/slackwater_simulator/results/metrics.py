"""The numbers people compare policies by, computed from an outcome's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater_simulator.results.outcome import Containers, Outcome, holding
from slackwater_simulator.results.status import DONE, DRIVER, FINISHED, REFUSED

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A job is small when it asks for at most this share of the cluster (paper 004's theta).
SMALL = 0.1
CPU = 0


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean, median and 95th percentile; NaN where there is nothing to summarise."""

    mean: float
    median: float
    p95: float


@dataclass(frozen=True, slots=True)
class Metrics:
    """What the result table shows. Times in seconds, shares from 0 to 1."""

    makespan: float  # first submission to last end
    wait: Spread  # submission to the first task's start
    completion: Spread  # submission to the job's end
    slowdown: float  # mean of (wait + run) / run, with run at least 1 s
    small_wait: Spread
    small_completion: Spread
    large_wait: Spread
    large_completion: Spread
    small_jobs: int
    large_jobs: int
    allocated: tuple[float, ...]  # share of the cluster that was reserved, per kind; NaN where nothing ended
    used: tuple[float, ...]  # share of the cluster that was really used, per kind; empty without a usage model
    efficiency: tuple[float, ...]  # used / reserved, per kind (equation 7 of paper 000)
    failures: int  # containers that ended otherwise than done
    finished: int
    unfinished: int  # all others
    refused: int  # of these: the cluster could never have run them
    deadlock: bool
    decisions: int
    decision_seconds: float


def measure(outcome: Outcome) -> Metrics:
    """All metrics of one outcome."""
    jobs = outcome.jobs
    done = jobs.status == FINISHED
    small = small_jobs(outcome)
    wait, completion = jobs.start - jobs.submit, jobs.end - jobs.submit
    makespan = jobs.makespan
    allocated = _allocated(outcome)
    return Metrics(
        makespan=makespan,
        wait=spread(wait[done]),
        completion=spread(completion[done]),
        slowdown=_slowdown(wait[done], (jobs.end - jobs.start)[done]),
        small_wait=spread(wait[done & small]),
        small_completion=spread(completion[done & small]),
        large_wait=spread(wait[done & ~small]),
        large_completion=spread(completion[done & ~small]),
        small_jobs=int(small.sum()),
        large_jobs=int((~small).sum()),
        allocated=allocated,
        used=outcome.used,
        efficiency=tuple(u / a if a > 0 else float("nan") for u, a in zip(outcome.used, allocated, strict=False)),
        failures=int((outcome.containers.status != DONE).sum()),
        finished=int(done.sum()),
        unfinished=int((~done).sum()),
        refused=int((jobs.status == REFUSED).sum()),
        deadlock=outcome.deadlock,
        decisions=outcome.decisions,
        decision_seconds=outcome.decision_seconds,
    )


def spread(values: NDArray[np.float64]) -> Spread:
    """Mean, median and 95th percentile of the numbers that are there."""
    known = values[~np.isnan(values)]
    if not known.size:
        return Spread(float("nan"), float("nan"), float("nan"))
    median, p95 = np.percentile(known, (50, 95))
    return Spread(float(known.mean()), float(median), float(p95))


def _slowdown(wait: NDArray[np.float64], run: NDArray[np.float64]) -> float:
    """Bounded slowdown: a job shorter than a second counts as one second."""
    bounded = np.maximum(run, 1.0)
    ratio = (wait + bounded) / bounded
    known = ratio[~np.isnan(ratio)]  # a job without tasks never starts one
    return float(known.mean()) if known.size else float("nan")


def small_jobs(outcome: Outcome) -> NDArray[np.bool_]:
    """Jobs whose largest stage asks for at most a tenth of the cluster in its dominant kind (paper 004)."""
    total = outcome.cluster.total
    shares = [
        max(
            (
                stage.tasks * request / total[k] if total[k] > 0 else float("inf")
                for stage in job.stages
                for k, request in enumerate(stage.request)
                if request
            ),
            default=0.0,
        )
        for job in outcome.workload.jobs
    ]
    return np.array(shares) <= SMALL


def requests(outcome: Outcome, rows: Containers | None = None) -> NDArray[np.float64]:
    """What each container reserved: a row per container, a column per kind."""
    rows = rows or outcome.containers
    kinds = len(outcome.cluster.kinds)
    widest = max((len(job.stages) for job in outcome.workload.jobs), default=0) + 1
    table = np.zeros((len(outcome.workload.jobs), widest, kinds))
    for number, job in enumerate(outcome.workload.jobs):
        for index, stage in enumerate(job.stages):
            table[number, index, : len(stage.request)] = stage.request
        if job.driver is not None:
            table[number, DRIVER, : len(job.driver.request)] = job.driver.request
    return np.asarray(table[rows.job, rows.stage])


def _allocated(outcome: Outcome) -> tuple[float, ...]:
    """Reserved resource-seconds over the cluster's, per kind; what a standstill holds counts up to its moment."""
    span = outcome.jobs.span(outcome.stalled_at)
    area = _area(outcome, holding(outcome))
    return tuple(
        float(area[k] / (span * total)) if total > 0 and span > 0 else float("nan")
        for k, total in enumerate(outcome.cluster.total)
    )


def _area(outcome: Outcome, rows: Containers) -> NDArray[np.float64]:
    """Resource-seconds that containers reserved, per kind."""
    if not len(rows.job):
        return np.zeros(len(outcome.cluster.kinds))
    asked = requests(outcome, rows)
    return np.array([(rows.released - since(outcome, rows, kind)) @ asked[:, kind] for kind in range(asked.shape[1])])


def since(outcome: Outcome, rows: Containers, kind: int) -> NDArray[np.float64]:
    """From when on each container has what it reserved of a kind."""
    return rows.start if outcome.one_at_a_time and kind == CPU else rows.allocated
