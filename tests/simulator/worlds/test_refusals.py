"""Jobs that the cluster could never hold are refused when they are submitted, with the numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slackwater_simulator.results.status import FINISHED, REFUSED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Workload
from support.builders.jobs import maps, rigid, workload

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
        pytest.param(1, 100.0, REFUSED, id="bytes-more-than-a-node"),
        pytest.param(1, 3e-5, REFUSED, id="a-hair-more-than-a-node"),
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
