"""The papers' worked examples, out of the running simulator without heartbeats or delays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI
from support.builders.jobs import job, maps, rigid, stage, workload
from support.builders.oracles import oracle


def figure_one(policy: str) -> Outcome:
    """Paper 004's figure 1: six containers and four rigid jobs."""
    given = oracle("DRS-15").inputs
    return run(
        rigid(given["submit"], given["R"], given["L"]), uniform(1, given["containers"], GIBI), policy, world="ideal"
    )


@pytest.mark.parametrize(("policy", "name"), [("fcfs", "DRS-15"), ("small-first-backfill", "DRS-17")])
def test_figure_one_of_paper_004(policy: str, name: str) -> None:
    """Starts, waits and makespan are the oracle's."""
    expected, outcome = oracle(name).expected, figure_one(policy)
    assert outcome.jobs.start.tolist() == expected["start"]
    assert (outcome.jobs.start - outcome.jobs.submit).tolist() == expected["wait"]
    metrics = measure(outcome)
    assert metrics.wait.mean == expected["avg_wait"]
    assert metrics.makespan == expected["makespan"]


def test_drivers_without_control_deadlock() -> None:
    """ADM-10: four drivers take the four cores and no task ever starts."""
    given = oracle("ADM-10").inputs
    jobs = workload(
        *(
            job(
                f"j{n}",
                stage("tasks", given["tasks_per_job"], given["task_s"], (given["TC"], 0.0)),
                driver=(given["AMC"], 0.0),
            )
            for n in range(given["jobs"])
        )
    )
    outcome = run(jobs, uniform(1, given["C"], GIBI), "fifo", world="ideal", cores=True)
    assert outcome.deadlock
    assert outcome.peak_drivers == given["jobs"]
    assert outcome.peak_tasks == 0
    assert outcome.stalled_at == 0.0
    assert np.isnan(measure(outcome).makespan)


def test_ffd_dp_fills_a_node_completely() -> None:
    """HST-02: types <3,1> and <1,3> alternate until <8,8> is full."""
    given, expected = oracle("HST-02").inputs, oracle("HST-02").expected
    jobs = workload(
        *(
            # The oracle writes <memory, cores>.
            job(kind, stage(kind, 9, 10.0, (float(amounts[1]), amounts[0] * GIBI)), driver=None)
            for kind, amounts in given["types"].items()
        )
    )
    memory, cores = given["residual"]
    outcome = run(jobs, uniform(1, cores, memory * GIBI), "ffd-dp", world="ideal")
    rows = outcome.containers
    first = np.flatnonzero(rows.allocated == 0.0)
    assert sorted("AB"[j] for j in rows.job[first]) == sorted(expected["sequence"])
    assert measure(outcome).allocated[0] > 0


def test_a_task_without_driver_starts_when_it_is_submitted() -> None:
    """Nothing in the ideal world takes time but the tasks themselves."""
    outcome = run(workload(maps("j", 1, 7.0, submit=3.0, driver=None)), uniform(1, 1, GIBI), "first-fit")
    assert outcome.world == "ideal"
    assert (outcome.jobs.start[0], outcome.jobs.end[0]) == (3.0, 10.0)


def test_first_fit_blocks_behind_its_head_and_fifo_does_not() -> None:
    """A wide job that does not fit stops strict FIFO; YARN's FIFO passes it over."""
    jobs = workload(
        maps("running", 1, 10.0, cores=3.0, driver=None),
        maps("wide", 1, 10.0, cores=4.0, submit=1.0, driver=None),
        maps("narrow", 1, 1.0, submit=2.0, driver=None),
    )
    strict = run(jobs, uniform(1, 4, 64 * GIBI), "first-fit")
    loose = run(jobs, uniform(1, 4, 64 * GIBI), "fifo", cores=True)
    assert strict.jobs.start.tolist() == [0.0, 10.0, 20.0]
    assert loose.jobs.start.tolist() == [0.0, 10.0, 2.0]


@pytest.mark.parametrize(("length", "start"), [(8.0, 2.0), (9.0, 20.0)], ids=["ends before", "would delay the head"])
def test_easy_lets_others_overtake_only_if_the_head_is_not_delayed(length: float, start: float) -> None:
    """The head may start at 10 s; what ends by then may run before it."""
    jobs = workload(
        maps("running", 1, 10.0, cores=3.0, driver=None),
        maps("head", 1, 10.0, cores=4.0, submit=1.0, driver=None),
        maps("late", 1, length, submit=2.0, driver=None),
    )
    outcome = run(jobs, uniform(1, 4, 64 * GIBI), "easy")
    assert outcome.jobs.start.tolist() == [0.0, 10.0, start]


@pytest.mark.parametrize(
    ("policy", "start"),
    [("easy", 20.0), ("easy?estimates=perfect", 2.0)],
    ids=["the user's estimate", "the true length"],
)
def test_easy_plans_with_the_run_time_the_user_asked_for(policy: str, start: float) -> None:
    """A job of 5 s whose user asked for 20 s might delay the head, as far as EASY knows."""
    late = replace(maps("late", 1, 5.0, submit=2.0, driver=None), estimate=20.0)
    jobs = workload(
        maps("running", 1, 10.0, cores=3.0, driver=None),
        maps("head", 1, 10.0, cores=4.0, submit=1.0, driver=None),
        late,
    )
    outcome = run(jobs, uniform(1, 4, 64 * GIBI), policy)
    assert outcome.jobs.start.tolist() == [0.0, 10.0, start]


def test_easy_counts_all_that_ends_by_the_heads_start_as_spare() -> None:
    """Eight containers end together when the head starts: what it leaves of them may be used beside it from now on."""
    jobs = workload(
        maps("running", 8, 100.0, driver=None),
        maps("head", 12, 50.0, submit=1.0, driver=None),
        maps("beside", 4, 500.0, submit=2.0, driver=None),
    )
    outcome = run(jobs, uniform(4, 4, 64 * GIBI), "easy")
    assert outcome.jobs.start.tolist() == [0.0, 100.0, 2.0]


def test_easy_gets_over_an_estimate_that_was_too_short() -> None:
    """A job that runs on beyond its estimate delays the head and nothing else goes wrong."""
    running = replace(maps("running", 1, 10.0, cores=3.0, driver=None), estimate=4.0)
    jobs = workload(
        running,
        maps("head", 1, 10.0, cores=4.0, submit=1.0, driver=None),
        maps("late", 1, 6.0, submit=5.0, driver=None),
    )
    outcome = run(jobs, uniform(1, 4, 64 * GIBI), "easy")
    assert outcome.jobs.start.tolist() == [0.0, 10.0, 20.0]


def test_ends_come_before_starts() -> None:
    """A core freed at the very second a job arrives is given to it, and zero-second jobs are kept."""
    jobs = workload(
        maps("first", 1, 5.0, driver=None),
        maps("empty", 1, 0.0, submit=5.0, driver=None),
        maps("second", 1, 5.0, submit=5.0, driver=None),
    )
    outcome = run(jobs, uniform(1, 1, 64 * GIBI), "first-fit")
    assert outcome.jobs.start.tolist() == [0.0, 5.0, 5.0]
    assert outcome.jobs.end.tolist() == [5.0, 5.0, 10.0]
