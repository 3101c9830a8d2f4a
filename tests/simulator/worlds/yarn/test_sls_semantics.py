"""The eight things Hadoop's own simulator taught about YARN's schedulers, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DONE
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Workload
from support.builders.hadoop import SLS, SLS_POLICY
from support.builders.jobs import maps, workload


def play(jobs: Workload, nodes: tuple[int, float, float], policy: str, profile: str = "fast", **more: Any) -> Outcome:
    """Run with the settings of Hadoop's load simulator."""
    options = SLS[profile] | SLS_POLICY.get((policy, profile), {}) | more
    return run(jobs, uniform(nodes[0], nodes[1], nodes[2] * GIBI), policy, **options)


def running(outcome: Outcome, job: int, time: float) -> int:
    """Tasks of a job that hold a container at that time."""
    rows = outcome.containers
    return int(((rows.job == job) & (rows.stage >= 0) & (rows.allocated <= time) & (rows.released > time)).sum())


def small_jobs(count: int) -> Workload:
    """Jobs of one user, all at once, two short tasks each."""
    return workload(*(maps(f"j{n}", 2, 10.0, user="u", queue="a") for n in range(count)))


TWO_BY_EIGHT = (2, 8.0, 8.0)


@pytest.mark.parametrize(("share", "drivers"), [(0.01, 1), (0.1, 2), (0.2, 4), (0.5, 8)])
def test_capacity_rounds_its_driver_limit_up_and_always_lets_one_in(share: float, drivers: int) -> None:
    """1: share × 16 GB, rounded up to whole gigabytes."""
    outcome = play(small_jobs(12), TWO_BY_EIGHT, "capacity", maximum_am_percent=share)
    assert outcome.peak_drivers == drivers


def test_capacity_limits_drivers_per_user_too() -> None:
    """1: half the guarantee of a 50 % queue for one user is half the queue's own limit on an empty cluster."""
    outcome = play(
        workload(*(maps(f"j{n}", 1, 20.0, user="u", queue="a") for n in range(12))),
        TWO_BY_EIGHT,
        "capacity",
        queues={"a": {"capacity": 50.0}, "b": {"capacity": 50.0}},
        maximum_am_percent=0.5,
        minimum_user_limit=100.0,
    )
    assert outcome.peak_drivers == 4


@pytest.mark.parametrize(("share", "drivers"), [(0.1, 1), (0.5, 6), (1.0, 8)])
def test_fair_does_not_round_up_and_counts_the_cores_that_are_free(share: float, drivers: int) -> None:
    """2: 1.6 GB hold one driver; the n-th needs n ≤ ceil(share × cores free), so 6 and 8 of 16."""
    outcome = play(small_jobs(20), TWO_BY_EIGHT, "fair", "default", max_am_share=share)
    assert outcome.peak_drivers == drivers
    assert not outcome.deadlock


@pytest.mark.parametrize(
    ("policy", "profile", "stuck"),
    [
        ("capacity", "fast", True),
        ("capacity", "default", False),
        ("fifo", "fast", True),
        ("fifo", "default", True),
        ("fair", "fast", False),
    ],
)
def test_whether_drivers_deadlock_depends_on_containers_per_beat(policy: str, profile: str, stuck: bool) -> None:
    """3: with one container per beat the first tasks are asked for before the cluster is full of drivers."""
    more: dict[str, Any] = {"capacity": {"maximum_am_percent": 1.0}, "fair": {"max_am_share": 1.0}}.get(policy, {})
    outcome = play(small_jobs(20), TWO_BY_EIGHT, policy, profile, **more)
    assert outcome.deadlock is stuck
    assert outcome.peak_drivers == (16 if stuck else 8)


@pytest.mark.parametrize(("factor", "most"), [(1.0, 9), (2.0, 17)])
def test_user_limit_factor_stops_one_user_at_the_queues_guarantee(factor: float, most: int) -> None:
    """4: 50 % of 16 GB plus at most one container, though the other queue is empty."""
    jobs = workload(maps("j", 40, 30.0, user="u", queue="a"))
    halves = {"a": {"capacity": 50.0}, "b": {"capacity": 50.0}}
    outcome = play(jobs, TWO_BY_EIGHT, "capacity", queues=halves, user_limit_factor=factor)
    held = outcome.peak_tasks + outcome.peak_drivers
    assert most - 1 <= held <= most


@pytest.mark.parametrize(
    ("policy", "options", "at_once"),
    [
        ("fifo", {}, 15),
        ("capacity", {}, 15),
        ("capacity", {"calculator": "dominant"}, 4),
        ("fair", {}, 4),
        ("fair", {"ordering": "drf"}, 4),
    ],
    ids=["fifo", "capacity-default", "capacity-dominant", "fair", "fair-drf"],
)
def test_who_counts_cores(policy: str, options: dict[str, Any], at_once: int) -> None:
    """5: three-core tasks of 1 GB on 2 × (8 cores, 8 GB): memory alone holds 15 beside the driver, cores hold 4."""
    outcome = play(workload(maps("j", 30, 10.0, cores=3.0, queue="a")), TWO_BY_EIGHT, policy, **options)
    assert outcome.peak_tasks == at_once


def mixed() -> Workload:
    """A memory-hungry job and a core-hungry one, in two queues."""
    return workload(
        maps("memory", 36, 30.0, cores=1.0, gigabytes=4.0, user="u1", queue="a"),
        maps("cores", 24, 30.0, cores=3.0, gigabytes=1.0, user="u2", queue="b"),
    )


@pytest.mark.parametrize(
    ("policy", "options", "want"),
    [
        ("fair", {"ordering": "drf"}, (11, 7)),
        ("capacity", {"calculator": "dominant"}, (9, 6)),
        ("fair", {}, (4, 10)),
    ],
    ids=["fair-drf", "capacity-dominant", "fair-memory"],
)
def test_dominant_shares_are_equal_under_drf(policy: str, options: dict[str, Any], want: tuple[int, int]) -> None:
    """6: on 4 × (9 cores, 18 GB), as Hadoop's first wave; one container is left to heartbeat order."""
    outcome = play(mixed(), (4, 9.0, 18.0), policy, **options)
    first_wave = running(outcome, 0, 10.0), running(outcome, 1, 10.0)
    assert np.abs(np.subtract(first_wave, want)).max() <= 1


def test_fifo_passes_over_an_application_that_does_not_fit() -> None:
    """7: the first job's 5 GB tasks leave 3 GB on each node, which later 2 GB tasks use at once."""
    jobs = workload(
        maps("large", 6, 30.0, gigabytes=5.0, queue="a"),
        maps("small", 2, 5.0, gigabytes=2.0, submit=1.0, queue="a"),
    )
    outcome = play(jobs, TWO_BY_EIGHT, "fifo")
    assert outcome.jobs.end[1] < outcome.jobs.start[0] + 15
    assert running(outcome, 0, 10.0) == 2


def test_nothing_is_killed() -> None:
    """8: in Hadoop's own runs preemption killed nobody, and without failures every container ends well."""
    outcome = play(small_jobs(20), TWO_BY_EIGHT, "capacity", maximum_am_percent=0.5)
    assert set(outcome.containers.status.tolist()) == {DONE}
