"""Jobs that the cluster could never hold are refused when they are submitted, with the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slackwater_simulator.reports.rows import row
from slackwater_simulator.reports.table import table
from slackwater_simulator.results.status import FINISHED, REFUSED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import Cluster, Node, uniform
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Workload
from support.builders.jobs import job, maps, rigid, stage, workload

CLUSTER = uniform(2, 2, 8 * GIBI)


@pytest.mark.parametrize(
    ("policy", "world"),
    [
        ("fcfs", "ideal"),
        ("easy", "ideal"),
        ("small-first-backfill", "ideal"),
        ("dress", "ideal"),
        ("slackwater", "kubernetes"),
        ("slackwater", "yarn"),
    ],
)
def test_a_gang_wider_than_the_cluster_stops_nobody_behind_it(policy: str, world: str) -> None:
    """It would wait for ever; the others run, and the note says which job it was and why."""
    outcome = run(rigid((0.0, 1.0, 2.0), (2, 5, 2), (9.0, 9.0, 9.0)), CLUSTER, policy, world=world)
    assert outcome.jobs.status.tolist() == [FINISHED, REFUSED, FINISHED]
    assert not outcome.deadlock
    [note] = outcome.notes
    assert note.startswith("job j2 was refused: it asks for 5 containers at once, each of 1 cpu")
    assert note.endswith("; the empty nodes hold 4")


@pytest.mark.parametrize("world", ["kubernetes", "yarn"])
@pytest.mark.parametrize(("tasks", "status"), [(3, FINISHED), (4, REFUSED)])
def test_tasks_at_once_must_fit_beside_their_driver(world: str, tasks: int, status: int) -> None:
    """Four places, and the driver takes one of them."""
    wide = replace(maps("wide", tasks, 5.0, cores=1.0, driver=(1.0, GIBI)), gang=True)
    jobs = workload(wide, maps("next", 1, 5.0, cores=1.0, driver=None, submit=1.0))
    outcome = run(jobs, CLUSTER, "slackwater", world=world)
    assert outcome.jobs.status.tolist() == [status, FINISHED]


def test_a_policy_that_places_task_by_task_plays_a_wide_job() -> None:
    """Nothing of it has to be there at once."""
    outcome = run(rigid((0.0,), (5,), (9.0,)), CLUSTER, "first-fit", world="ideal")
    assert (outcome.jobs.status.tolist(), outcome.notes) == ([FINISHED], ())


def test_containers_larger_than_any_node_are_refused_with_their_size() -> None:
    """Of several such jobs the first is told, and how many there are."""
    jobs = workload(*(maps(f"j{n}", 1, 5.0, cores=3.0, driver=None) for n in range(3)))
    outcome = run(jobs, CLUSTER, "first-fit", world="ideal")
    assert outcome.jobs.status.tolist() == [REFUSED] * 3
    [note] = outcome.notes
    assert note.startswith("job j0 was refused: it asks for a container of 3 cpu and 1 GiB memory, and no node has")
    assert note.endswith("; refused in all: 3")


@pytest.mark.parametrize(
    ("policy", "world", "options"),
    [
        ("fifo", "yarn", {"memory_step": 0, "min_memory": 0}),
        ("capacity", "yarn", {"memory_step": 0, "min_memory": 0}),
        ("fair", "yarn", {"memory_step": 0, "min_memory": 0}),
        ("estimation", "yarn", {"memory_step": 0, "min_memory": 0, "allowance": 1.0}),
        ("slackwater", "yarn", {"memory_step": 0, "min_memory": 0}),
        ("slackwater", "kubernetes", {}),
        ("kube", "kubernetes", {}),
        ("fcfs", "ideal", {}),
    ],
)
@pytest.mark.parametrize(
    ("tasks", "more", "status"),
    [
        pytest.param(1, 0.0, FINISHED, id="a-node"),
        pytest.param(1, 1000.0, REFUSED, id="bytes-more-than-a-node"),
        pytest.param(1, 3e-5, FINISHED, id="a-hair-more-than-a-node"),
        pytest.param(4, 0.0, FINISHED, id="four-quarters"),
    ],
)
def test_what_is_accepted_is_placed(
    policy: str, world: str, options: dict[str, Any], tasks: int, more: float, status: int
) -> None:
    """Whether a job could ever run is asked with the slack of placement: nothing waits for ever, nor stops others."""
    size = 128 * GIBI
    large = Job("large", 0.0, (Stage("s", (1.0, size / tasks + more), np.full(tasks, 5.0)),), gang=tasks > 1)
    jobs = Workload("w", (large, maps("next", 1, 5.0, cores=1.0, driver=None, submit=1.0)))
    outcome = run(jobs, uniform(1, 4, size), policy, world=world, **options)
    assert outcome.jobs.status.tolist() == [status, FINISHED]
    assert not outcome.deadlock


@pytest.mark.parametrize(
    ("policy", "world"),
    [
        ("fcfs", "ideal"),
        ("easy", "ideal"),
        ("small-first-backfill", "ideal"),
        ("slackwater", "kubernetes"),
        ("slackwater", "yarn"),
    ],
)
def test_ten_tenths_of_a_node_are_a_gang_that_it_holds(policy: str, world: str) -> None:
    """A tenth is a little more than a tenth in binary numbers; who places them counts as who accepted them."""
    size = 128 * GIBI
    tenths = Job("tenths", 0.0, (Stage("s", (1.0, 0.1 * size), np.full(10, 5.0)),), gang=True)
    exact: dict[str, Any] = {"memory_step": 0, "min_memory": 0} if world == "yarn" else {}
    outcome = run(Workload("w", (tenths,)), uniform(1, 16, size), policy, world=world, **exact)
    assert (outcome.jobs.status.tolist(), outcome.deadlock) == ([FINISHED], False)


@pytest.mark.parametrize("world", ["kubernetes", "yarn"])
def test_a_later_stage_that_fits_no_node_beside_its_driver_is_refused_at_once(world: str) -> None:
    """With the core's sentence; the first stage, which would fit, does not run in vain."""
    whole = stage("reduce", 1, 5.0, (2.0, GIBI), parents=("map",))
    jobs = workload(job("late", stage("map", 2, 5.0), whole), maps("next", 1, 5.0, driver=None, submit=1.0))
    outcome = run(jobs, uniform(1, 2, 8 * GIBI), "slackwater", world=world)
    assert (outcome.jobs.status.tolist(), outcome.deadlock) == ([REFUSED, FINISHED], False)
    [note] = outcome.notes
    assert note.startswith("job late was refused: its driver asks for 1 cpu and 1 GiB memory and a task for 2 cpu and")
    assert set(outcome.containers.job.tolist()) == {1}


@pytest.mark.parametrize("world", ["kubernetes", "yarn"])
def test_stages_that_need_the_driver_on_different_nodes_are_refused(world: str) -> None:
    """One takes all memory of the first node, another all cores of the second, and the driver is on either."""
    nodes = Cluster("two", (Node("a", (2.0, 8 * GIBI)), Node("b", (8.0, 2 * GIBI))))
    stages = (stage("s", 1, 5.0, (1.0, 8 * GIBI)), stage("t", 1, 5.0, (8.0, GIBI)))
    outcome = run(workload(job("j", *stages)), nodes, "slackwater", world=world)
    assert (outcome.jobs.status.tolist(), outcome.deadlock) == ([REFUSED], False)


@pytest.mark.parametrize("world", ["kubernetes", "yarn"])
def test_a_driver_keeps_off_the_node_that_a_later_stage_needs(world: str) -> None:
    """Its own, although a driver of another app is there now, and that of another app."""
    nodes = Cluster("two", (Node("small", (2.0, 8 * GIBI)), Node("large", (8.0, 8 * GIBI))))
    late = stage("reduce", 1, 5.0, (8.0, GIBI), parents=("map",))
    jobs = workload(
        maps("other", 2, 20.0, cores=2.0, driver=(4.0, GIBI)),
        job("late", stage("map", 2, 5.0), late, submit=2.0),
        job("again", stage("map", 2, 5.0), late, submit=2.5),
    )
    outcome = run(jobs, nodes, "slackwater", world=world)
    assert outcome.jobs.status.tolist() == [FINISHED] * 3


@pytest.mark.parametrize("policy", ["fcfs", "easy", "small-first-backfill", "dress"])
def test_a_single_task_must_fit_beside_its_driver_where_jobs_go_whole(policy: str) -> None:
    """Else it stands at the head of the line for ever."""
    jobs = workload(maps("wide", 1, 5.0, cores=2.0, driver=(1.0, GIBI)), maps("next", 1, 5.0, driver=None, submit=1.0))
    outcome = run(jobs, uniform(1, 2, 8 * GIBI), policy, world="ideal")
    assert (outcome.jobs.status.tolist(), outcome.deadlock) == ([REFUSED, FINISHED], False)
    assert "no task would find a node beside the driver" in outcome.notes[0]


@pytest.mark.parametrize("world", ["kubernetes", "yarn"])
def test_what_the_gate_refuses_is_refused_and_no_deadlock(world: str) -> None:
    """Two stages of a gang each fit, but not both at once, as the gate wants them; table and JSON say so."""
    wide = job("wide", stage("s", 3, 5.0), stage("t", 3, 5.0), driver=None, gang=True)
    outcome = run(workload(maps("first", 1, 5.0, driver=None), wide), CLUSTER, "slackwater", world=world)
    assert (outcome.jobs.status.tolist(), outcome.deadlock) == ([FINISHED, REFUSED], False)
    [note] = outcome.notes
    assert note.startswith("job wide was refused: asks for 6 cpu at the least, but queue default has at most 4")
    told = row(outcome)
    assert (told["finished"], told["unfinished"], told["refused"], told["deadlock"]) == (1, 1, 1, False)
    assert table([outcome]).rows[0] == ("jobs finished", "1 of 2, 1 refused")


def test_a_stage_without_tasks_is_not_refused() -> None:
    """Whatever it would ask for."""
    jobs = workload(job("j", stage("map", 1, 5.0), stage("none", 0, 1.0, (99.0, GIBI)), driver=None))
    assert run(jobs, CLUSTER, "fifo", world="ideal", cores=True).jobs.status.tolist() == [FINISHED]
