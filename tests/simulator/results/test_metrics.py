"""Shares of the cluster: what is reserved and what is used are means over the same time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from slackwater_simulator.results.metrics import Metrics, measure
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload


def app(name: str, submit: float, seconds: float = 30.0, tasks: int = 2) -> Job:
    """A driver and tasks of one core each, which use half of what they ask for."""
    half = Usage(np.full(tasks, 0.5), np.full(tasks, 0.5))
    stage = Stage("map", (1.0, GIBI), np.full(tasks, seconds), usage=half)
    return Job(name, submit, (stage,), Driver((1.0, GIBI), 2.0, half))


def played(*jobs: Job, **options: Any) -> Metrics:
    """What a run on eight cores under the stock scheduler came to."""
    return measure(run(Workload("w", jobs), parse("2x4c8Gi"), "kube", world="kubernetes", **options))


def test_what_a_standstill_holds_counts_as_reserved() -> None:
    """Eight drivers on eight cores for ever: up to the standstill all that is reserved, and half of it used."""
    found = played(*(app(f"app{number}", 0.0) for number in range(8)))
    assert found.deadlock
    assert math.isnan(found.makespan)
    assert found.allocated[0] == pytest.approx(1.0, abs=0.05)
    assert found.efficiency == pytest.approx((0.5, 0.5), rel=0.2)


def test_a_standstill_after_work_that_ended_counts_to_its_moment() -> None:
    """A job that ends long after the others stood still: nobody uses more than is reserved."""
    stuck = (app(f"app{number}", 100.0) for number in range(8))
    found = played(app("first", 0.0), app("long", 0.0, 1000.0, tasks=1), *stuck)
    assert found.deadlock
    assert found.finished == 2
    assert found.allocated[0] > 0.9
    assert found.efficiency == pytest.approx((0.5, 0.5), rel=0.05)


def test_where_nothing_ran_there_is_no_share() -> None:
    """Unknown, and not 0 %."""
    found = played(Job("huge", 0.0, (Stage("map", (64.0, GIBI), np.array([1.0])),)))
    assert found.refused == 1
    assert all(math.isnan(share) for share in found.allocated)


def test_work_that_failed_counts_up_to_its_end() -> None:
    """No job finished, and the cluster was reserved all the same."""
    full = Usage(np.ones(1), np.full(1, 20.0))  # uses more memory than its node has
    job = Job("greedy", 0.0, (Stage("map", (4.0, GIBI), np.array([60.0]), usage=full),))
    found = played(job)
    assert found.finished == 0
    assert not found.deadlock
    assert 0.4 < found.allocated[0] <= 0.5
    assert found.used[0] <= found.allocated[0]
