"""The demo's workload: contended, mixed, and the same for the same seed."""

from __future__ import annotations

import pytest

from slackwater.errors import UnknownName
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.generators.catalogue import cluster_of, generate
from slackwater_simulator.workload.generators.hour import CROWD


def test_an_hour_asks_for_more_than_the_cluster_has() -> None:
    """By requests, the work of the hour fills the cluster for most of an hour."""
    workload, cluster = generate("gen:hour"), parse(cluster_of("gen:hour"))
    asked = sum(float(stage.durations.sum()) * stage.request[0] for job in workload.jobs for stage in job.stages)
    assert 0.8 < asked / (cluster.total[0] * 3600) < 1.3


def test_small_and_large_apps_are_mixed() -> None:
    """About one in six is large."""
    jobs = generate("gen:hour").jobs
    assert 5 < sum(job.name.startswith("large-") for job in jobs) < 30


def test_no_two_apps_share_a_name() -> None:
    """They use different shares of what they ask for, so nothing that one shows may be believed of another."""
    jobs = generate("gen:hour").jobs
    assert len({job.name for job in jobs}) == len(jobs)


def test_the_drivers_of_nine_o_clock_alone_fill_the_cluster() -> None:
    """So the stock scheduler stands still: every core holds a driver, no task ever runs."""
    workload, cluster = generate("gen:hour?case=nine"), parse(cluster_of("gen:hour"))
    assert len(workload.jobs) == CROWD > cluster.total[0]
    outcome = run(workload, cluster, "kube", world="kubernetes")
    assert outcome.deadlock
    assert (outcome.peak_drivers, outcome.peak_tasks) == (160, 0)


def test_an_unknown_case_is_named_with_the_known_ones() -> None:
    """One clear error."""
    with pytest.raises(UnknownName, match="hour, nine"):
        generate("gen:hour?case=noon")


def test_memory_may_come_late() -> None:
    """The same hour, with another course of use; everything else is as it was."""
    flat, late = generate("gen:hour"), generate("gen:hour?shape=spike&noise=0.3")
    usage = [stage.usage for job in late.jobs for stage in job.stages]
    assert {max(zip(use.memory_shape, use.at, strict=True))[1] for use in usage if use} == {0.95}
    assert {use.noise for use in usage if use} == {0.3}
    assert [job.submit for job in flat.jobs] == [job.submit for job in late.jobs]
    with pytest.raises(UnknownName, match="plateaus"):
        generate("gen:hour?shape=square")
