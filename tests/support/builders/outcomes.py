"""Small outcomes written by hand, for reports."""

from collections.abc import Sequence

import numpy as np

from slackwater_simulator.results.outcome import Containers, Jobs, Outcome, Series
from slackwater_simulator.results.status import DONE, FINISHED
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Usage, Workload

Row = tuple[int, int, float, float]  # job, node, allocated, released


def outcome(
    rows: Sequence[Row],
    *,
    nodes: int = 2,
    policy: str = "fifo",
    ends: Sequence[int] = (),
    deadlock: bool = False,
    usage: bool = False,
    series: dict[str, Series] | None = None,
) -> Outcome:
    """Jobs with one task of one core and 1 GiB per row, on nodes of 4 cores and 8 GiB; all submitted at 0."""
    counts = np.bincount([job for job, *_ in rows]) if rows else np.zeros(1, dtype=np.int64)
    level = Usage(np.array([0.5]), np.array([0.25])) if usage else None
    jobs = tuple(
        Job(
            f"job-{index}",
            0.0,
            (Stage("run", (1.0, GIBI), np.ones(max(int(count), 1)), usage=level),),
            user=f"u{index}",
        )
        for index, count in enumerate(counts)
    )
    return Outcome(
        workload=Workload("hand <made>", jobs, modelled=(("usage", "guess (seed 0)"),)),
        cluster=uniform(nodes, 4, 8 * GIBI),
        policy=policy,
        world="ideal",
        seed=0,
        jobs=_jobs(rows, len(jobs), deadlock),
        containers=_containers(rows, ends),
        deadlock=deadlock,
        events=0,
        decisions=3,
        decision_seconds=0.5,
        peak_drivers=0,
        peak_tasks=len(rows),
        stalled_at=9.0 if deadlock else float("nan"),
        series=series or {},
    )


def _jobs(rows: Sequence[Row], count: int, deadlock: bool) -> Jobs:
    nan = float("nan")
    start = [min((row[2] for row in rows if row[0] == job), default=nan) for job in range(count)]
    end = [nan if deadlock else max((row[3] for row in rows if row[0] == job), default=nan) for job in range(count)]
    return Jobs(
        submit=np.zeros(count),
        driver=np.array(start),
        start=np.array(start),
        end=np.array(end),
        tasks=np.ones(count, dtype=np.int64),
        status=np.full(count, 1 if deadlock else FINISHED, dtype=np.int8),
    )


def _containers(rows: Sequence[Row], ends: Sequence[int]) -> Containers:
    job, node, begin, end = (np.array(column) for column in zip(*rows, strict=True)) if rows else [np.zeros(0)] * 4
    count = len(rows)
    return Containers(
        job=job.astype(np.int32),
        stage=np.zeros(count, dtype=np.int16),
        task=np.zeros(count, dtype=np.int32),
        node=node.astype(np.int32),
        allocated=begin.astype(np.float64),
        start=begin.astype(np.float64),
        end=end.astype(np.float64),
        released=end.astype(np.float64),
        status=np.array(ends or [DONE] * count, dtype=np.int8),
    )
