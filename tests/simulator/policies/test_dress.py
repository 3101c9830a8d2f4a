"""DRESS in the ideal world plays whatever a trace may hold."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater_simulator.results.status import FINISHED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Job, Stage
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
