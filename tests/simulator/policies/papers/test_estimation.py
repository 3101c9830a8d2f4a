"""Estimated room alone, in the YARN and the ideal world: it learns, and it ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater.errors import BadNumber
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import FINISHED, REFUSED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload
from slackwater_simulator.worlds.yarn.usage import STANDSTILL
from support.builders.jobs import ONE, maps, stage, workload
from support.builders.jobs import job as made

WORLDS = ["yarn", "ideal"]


def play(level: float, policy: str = "estimation", world: str = "yarn", **options: Any) -> Outcome:
    """Four drivers that reserve a node of four cores whole, use that share of it, and have two tasks each."""
    driver = Driver(ONE, 0.0, Usage(np.array([level]), np.array([level])))
    tasks = Stage("map", ONE, np.full(2, 10.0), usage=Usage(np.full(2, level), np.full(2, level)))
    jobs = tuple(Job(f"j{number}", 0.0, (tasks,), driver) for number in range(4))
    return run(Workload("w", jobs), uniform(1, 4, 4 * GIBI), policy, world=world, **{"allowance": 1.0, **options})


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("policy", ["estimation", "estimation?mode=printed", "static-reservation?base=estimation"])
def test_tasks_are_placed_once_the_estimate_of_quiet_drivers_has_fallen(policy: str, world: str) -> None:
    """Samples alone make room, also behind a gate: a quiet look is not the end."""
    assert (play(0.05, policy, world).jobs.status == FINISHED).all()


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("period", [0.25, 0.7, 1.0, 2.0])
def test_a_standstill_is_noticed_however_often_use_is_looked_at(period: float, world: str) -> None:
    """Drivers that use all they asked for: nothing will ever fit, and after a while nobody looks any more."""
    outcome = play(1.0, world=world, usage_period=period)
    assert outcome.deadlock
    assert outcome.stalled_at < STANDSTILL + 10.0


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_larger_than_an_allowance_is_placed_by_reservation_or_refused(world: str) -> None:
    """Seven eighths of a node are never enough for all of it: capped takes a node for it, printed says no."""
    jobs = workload(maps("whole", 3, 5.0, cores=4.0, gigabytes=4.0, driver=None), maps("small", 3, 5.0, driver=None))
    capped, printed = (
        run(jobs, uniform(2, 4, 4 * GIBI), f"estimation?mode={mode}", world=world) for mode in ("capped", "printed")
    )
    assert capped.jobs.status.tolist() == [FINISHED, FINISHED]
    assert printed.jobs.status.tolist() == [REFUSED, FINISHED]
    assert "4 cpu and 4 GiB memory, and no node has as much" in printed.notes[0]


def test_a_large_task_fits_beside_a_small_driver() -> None:
    """Its node need not be empty: what is reserved leaves it room."""
    jobs = workload(made("j", stage("all", 2, 5.0, (3.8, GIBI)), driver=(0.2, 0.0)))
    assert run(jobs, uniform(1, 4, 4 * GIBI), "estimation", world="ideal").jobs.status.tolist() == [FINISHED]


def test_the_allowance_may_be_given_by_kind() -> None:
    """All of the cores and half of the memory: two tasks at once, not four."""
    jobs = workload(maps("j", 4, 10.0, driver=None))
    outcome = run(jobs, uniform(1, 4, 4 * GIBI), "estimation?allowance=[1, 0.5]", world="ideal")
    assert outcome.jobs.end.tolist() == [20.0]
    with pytest.raises(BadNumber, match="allowance"):
        run(jobs, uniform(1, 4, 4 * GIBI), "estimation?allowance=[1, much]", world="ideal")
