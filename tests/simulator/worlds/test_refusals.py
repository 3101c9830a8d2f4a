"""Jobs that the cluster could never hold are refused when they are submitted, with the numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater_simulator.results.status import FINISHED, REFUSED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.workload import GIBI
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
