"""The lower bound on the makespan: the longest chain of stages, or all work over the whole cluster."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater_simulator.reports.causes import lower_bound
from slackwater_simulator.results.bounds import bound
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.workload import Driver, Job, Stage, Usage, Workload

GIBI = 2.0**30


def stage(name: str, tasks: int, seconds: float, parents: tuple[str, ...] = (), level: float = 1.0) -> Stage:
    """Equal tasks of one core and one GiB."""
    usage = Usage(np.full(tasks, level), np.full(tasks, level))
    return Stage(name, (1.0, GIBI), np.full(tasks, seconds), parents, usage=usage)


def test_a_chain_of_stages_bounds_the_makespan() -> None:
    """Start-up of the driver, then one stage after the other, however large the cluster is."""
    jobs = (Job("j", 5.0, (stage("a", 2, 10), stage("b", 1, 20, ("a",))), Driver((1.0, GIBI), startup=3.0)),)
    assert bound(Workload("w", jobs), parse("100x16")).makespan == pytest.approx(33)


def test_a_chain_may_be_as_long_as_it_likes() -> None:
    """2,000 stages of a second, the last one written first."""
    stages = tuple(stage(f"{n}", 1, 1, (f"{n - 1}",) if n else ()) for n in reversed(range(2000)))
    assert bound(Workload("w", (Job("j", 0.0, stages),)), parse("1x16")).path == pytest.approx(2000)


def test_work_by_true_use_bounds_the_makespan() -> None:
    """80 tasks of 10 s that use half a core on 4 cores take 100 s; those submitted later cannot begin before."""
    cluster = parse("1x4c64Gi")
    early = Workload("w", (Job("j", 0.0, (stage("a", 80, 10, level=0.5),)),))
    assert bound(early, cluster).makespan == pytest.approx(100)
    late = Workload("w", (Job("i", 0.0, (stage("a", 1, 1),)), Job("j", 50.0, (stage("a", 80, 10, level=0.5),))))
    assert bound(late, cluster).makespan == pytest.approx(150)


def test_memory_bounds_the_makespan_too() -> None:
    """8 tasks of 1 GiB on 2 GiB go two by two."""
    jobs = (Job("j", 0.0, (stage("a", 8, 10),)),)
    assert bound(Workload("w", jobs), parse("1x64c2Gi")).makespan == pytest.approx(40)


def test_a_stage_without_parents_fetches_nothing() -> None:
    """Its shuffle is not played, so it bounds nothing."""
    alone = replace(stage("a", 4, 10), shuffle=30.0)
    cluster = parse("1x4c64Gi")
    assert bound(Workload("w", (Job("j", 0.0, (alone,)),)), cluster).makespan == pytest.approx(10)
    after = replace(stage("b", 4, 10, ("a",)), shuffle=30.0)
    assert bound(Workload("w", (Job("j", 0.0, (alone, after)),)), cluster).makespan == pytest.approx(50)


def test_jobs_that_did_not_end_bound_no_makespan() -> None:
    """A job that no node could take is not waited for."""
    huge = Stage("a", (99.0, GIBI), np.full(2, 500.0), usage=Usage(np.ones(2), np.ones(2)))
    jobs = (Job("small", 0.0, (stage("a", 2, 10),)), Job("huge", 0.0, (huge,)))
    outcome = run(Workload("w", jobs), parse("1x4c64Gi"), "kube")
    least = lower_bound(outcome)
    assert least is not None
    assert least == pytest.approx(10)
    assert least <= measure(outcome).makespan


def test_the_bound_counts_from_the_first_submission_of_all() -> None:
    """As the makespan does, also where the first job never ran."""
    huge = Stage("a", (99.0, GIBI), np.full(2, 500.0), usage=Usage(np.ones(2), np.ones(2)))
    jobs = (Job("huge", 0.0, (huge,)), Job("small", 100.0, (stage("a", 2, 10),)))
    outcome = run(Workload("w", jobs), parse("1x4c64Gi"), "kube")
    assert lower_bound(outcome) == pytest.approx(110)
