"""The examples that must come out to the last digit, from the running simulator in its ideal world."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.reproduction import admission, dress, haste
from slackwater_simulator.reproduction.study import Verdict
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.generators import admission as drivers
from slackwater_simulator.workload.generators import dress as jobs
from support.builders.oracles import oracle


def test_the_published_rearrangement_is_replayed_as_written() -> None:
    """DRS-16: starts 0, 13, 3 and 13, mean wait 5.75 s, last end 33 s."""
    row = oracle("DRS-16")
    starts = {f"job-{number + 1}": float(start) for number, start in enumerate(row.expected["start"])}
    found = run(jobs.generate(case="figure1"), parse(jobs.FIGURE_CLUSTER), "replay", world="ideal", starts=starts)
    wait = found.jobs.start - found.jobs.submit
    assert found.jobs.start.tolist() == row.expected["start"]
    assert wait.tolist() == row.expected["wait"]
    assert (wait.mean(), found.jobs.end.max()) == (row.expected["avg_wait"], row.expected["last_finish"])
    assert found.jobs.end.max() - 3 == row.expected["makespan_from_t3"]


@pytest.mark.parametrize(
    ("starts", "field"),
    [
        pytest.param({"job-1": 0.0}, "starts", id="a job without a start"),
        pytest.param({f"job-{n}": 0.0 for n in (1, 2, 3, 4)}, "starts.job-2", id="before its submission"),
        pytest.param({"job-1": 0.0, "job-2": 1.0, "job-3": 2.0, "job-4": 3.0}, "starts.job-2", id="too large"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_with_the_job_named(starts: dict[str, float], field: str) -> None:
    """A schedule is played as written or not at all."""
    with pytest.raises(InvalidInput) as refused:
        run(jobs.generate(case="figure1"), parse(jobs.FIGURE_CLUSTER), "replay", world="ideal", starts=starts)
    assert refused.value.field == field


@pytest.mark.parametrize("base", ["fifo", "drf"])
def test_admission_lets_two_drivers_in_and_nobody_waits_for_ever(base: str) -> None:
    """ADM-10 with control: two drivers at once, done after 40 s, whatever scheduler is behind the gate."""
    expected = oracle("ADM-10").expected
    options: dict[str, Any] = {"cores": True} if base == "fifo" else {}
    found = run(drivers.generate(case="toy"), parse("1x4"), "admission", world="ideal", base=base, **options)
    assert not found.deadlock
    assert (found.peak_drivers, found.jobs.end.max()) == (expected["concurrent_AMs"], expected["makespan_s"])


@pytest.mark.parametrize(("reserve", "locks"), [(0.0, True), (1.0, False), (2.0, False)])
def test_a_static_reservation_deadlocks_only_where_no_task_fits(reserve: float, locks: bool) -> None:
    """One vcore for tasks is enough to get through, none is not."""
    found = run(
        drivers.generate(case="toy"),
        parse("1x4"),
        "static-reservation",
        world="ideal",
        base="fifo",
        cores=True,
        reserve=reserve,
    )
    assert found.deadlock is locks


def test_every_exact_check_of_the_reproductions_holds() -> None:
    """Figure 1 of paper 004 in three schedules, the toy of 002, the packing of 001."""
    checks = [*dress.figure_one(), admission.toy(), haste.packing()]
    assert [check.verdict for check in checks] == [Verdict.HOLDS] * 5


def test_dress_starts_whole_jobs_and_never_more_than_there_is() -> None:
    """At no moment do running containers exceed the slots, and every job's containers start together."""
    made = jobs.generate(seed=3, case="spark")
    found = run(made, parse(jobs.CLUSTER), "dress", world="ideal")
    rows = found.containers
    moments = np.unique(rows.start)
    running = [int(((rows.start <= t) & (rows.end > t)).sum()) for t in moments]
    assert not found.deadlock
    assert max(running) <= 100
    assert all(len(set(rows.start[rows.job == job].tolist())) == 1 for job in range(len(made.jobs)))


def test_the_forecast_sources_of_dress_differ_only_slightly() -> None:
    """Detected, true or no phases: mean completion within one percent on a seed."""
    made, machines = jobs.generate(seed=1, case="spark"), parse(jobs.CLUSTER)
    means = []
    for phases in ("detected", "true", "none"):
        found = run(made, machines, "dress", world="ideal", staggered=True, phases=phases)
        means.append(float((found.jobs.end - found.jobs.submit).mean()))
    assert max(means) <= 1.01 * min(means)
