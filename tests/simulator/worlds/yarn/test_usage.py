"""What tasks use over a whole run: contention delays their work and nothing else, and no core is used twice."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater_simulator.results.status import DRIVER
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload


def contended(number: int) -> Job:
    """Eight tasks that ask for one core each and would use two, beside a driver of a tenth of a core."""
    stage = Stage("map", (1.0, GIBI / 4), np.full(8, 60.0), usage=Usage(np.full(8, 2.0), np.full(8, 0.5)))
    return Job(f"j{number}", 0.0, (stage,), Driver((0.1, GIBI / 4), 0.0, Usage(np.full(1, 0.1), np.full(1, 0.5))))


@pytest.mark.parametrize(
    ("world", "policy", "lag"),
    [
        ("ideal", "fifo", 0.0),
        ("ideal", "capacity", 0.0),
        ("yarn", "fifo", 1.0),  # a node reports at its next heartbeat
        ("yarn", "capacity", 1.0),
        ("kubernetes", "kube", 0.0),
        ("kubernetes", "slackwater", 0.0),
    ],
)
def test_a_driver_leaves_with_its_job_however_long_others_took_its_cores(world: str, policy: str, lag: float) -> None:
    """It has no work of its own that contention could delay."""
    jobs = Workload("contended", tuple(contended(number) for number in range(4)))
    outcome = run(jobs, parse("1x4c8Gi"), policy, world=world)
    rows = outcome.containers
    mine = rows.stage == DRIVER
    assert mine.sum() == 4
    assert (rows.released[mine] <= outcome.jobs.end[rows.job[mine]] + lag + 1e-9).all()


@pytest.mark.parametrize(("world", "policy"), [("ideal", "fifo"), ("kubernetes", "kube"), ("yarn", "fifo")])
@pytest.mark.parametrize("seconds", [0.3, 2.0, 61.0])
def test_no_more_is_used_than_there_is(world: str, policy: str, seconds: float) -> None:
    """A task that would use eight cores of four, and may be over before anybody looks, has used four while it ran."""
    stage = Stage("map", (4.0, GIBI), np.full(1, seconds), usage=Usage(np.full(1, 2.0), np.ones(1)))
    outcome = run(Workload("hungry", (Job("j", 0.0, (stage,)),)), parse("1x4c8Gi"), policy, world=world)
    ran = float((outcome.containers.released - outcome.containers.start)[0])
    assert outcome.used[0] * outcome.jobs.makespan == pytest.approx(ran)
