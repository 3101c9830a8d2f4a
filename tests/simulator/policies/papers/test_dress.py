"""DRESS in the ideal world plays whatever a trace may hold."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater_simulator.results.status import FINISHED, UNFINISHED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Usage
from support.builders.jobs import ONE, job, rigid, stage, workload

CLUSTER = uniform(2, 4, 16 * GIBI)


@pytest.mark.parametrize("staggered", [False, True])
@pytest.mark.parametrize("seconds", [(0.0, 0.0), (0.0, 20.0)])
def test_tasks_may_take_no_time(seconds: tuple[float, ...], staggered: bool) -> None:
    """They have ended before their start is told."""
    short = Job("short", 0.0, (Stage("map", ONE, np.array(seconds)),))
    jobs = workload(short, job("next", stage("map", 2, 5.0), submit=1.0, driver=None))
    outcome = run(jobs, CLUSTER, "dress", staggered=staggered)
    assert outcome.jobs.end.tolist() == [max(seconds), 6.0]


def test_jobs_may_have_drivers_and_stages() -> None:
    """A driver takes its slot and is part of no phase."""
    jobs = workload(
        *(job(f"j{n}", stage("map", 2, 5.0), stage("reduce", 1, 5.0, parents=("map",)), submit=n) for n in range(4))
    )
    outcome = run(jobs, CLUSTER, "dress", world="ideal")
    assert outcome.jobs.status.tolist() == [FINISHED] * 4


def test_a_job_as_wide_as_the_cluster_goes_alone() -> None:
    """One slot always stays with the other pool, so no pool will ever hold it: it starts when nothing runs."""
    outcome = run(rigid((0.0, 1.0, 2.0), (2, 8, 2), (9.0, 9.0, 9.0)), CLUSTER, "dress")
    assert outcome.jobs.status.tolist() == [FINISHED] * 3
    assert outcome.jobs.start[1] >= 9.0


@pytest.mark.parametrize("measured", [False, True])
@pytest.mark.parametrize(("cores", "driver", "deadlock"), [(20, None, False), (4, ONE, True)])
def test_tasks_that_wait_for_others_to_start_keep_no_run_going(
    measured: bool, cores: int, driver: tuple[float, ...] | None, deadlock: bool
) -> None:
    """Nothing else is planned: reduces that came early make way for maps, and where drivers are in the way it ends."""
    usage = Usage(np.full(1, 0.5), np.full(1, 0.5)) if measured else None
    wide = stage("map", cores - (driver is not None), 10.0)
    early = Stage("reduce", ONE, np.full(1, 5.0), ("map",), start_after=0.0, usage=usage)
    jobs = workload(job("first", wide, early, driver=driver), job("second", wide, early, driver=driver))
    outcome = run(jobs, uniform(1, cores, 64 * GIBI), "dress", world="ideal")
    assert outcome.deadlock == deadlock
    assert outcome.jobs.status.tolist() == [UNFINISHED if deadlock else FINISHED] * 2
