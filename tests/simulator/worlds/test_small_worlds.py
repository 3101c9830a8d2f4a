"""The small worlds: links that queue, hosts with one task at a time, nodes that share CPU and break memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slackwater.errors import BadNumber, InvalidInput
from slackwater_simulator.physics.sharing import Victims
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.status import FINISHED, REFUSED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import uniform
from slackwater_simulator.workload.generators import estimation
from slackwater_simulator.workload.generators.network import Fabric
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload
from slackwater_simulator.worlds.seconds.rooms import Estimated, Reserved
from slackwater_simulator.worlds.seconds.world import SecondsNodes, SecondsWorld, Tasks, flatten
from slackwater_simulator.worlds.transfers.world import simulate, utilisation

PLAIN = SecondsNodes(1, (4.0, 10.0), (4.0, 10.0), (0.0, 0.0))


def tasks(count: int, seconds: float, cores: float, peak: float, request: tuple[float, float]) -> Tasks:
    """Equal tasks whose memory rises to its peak over their first half."""
    ones = np.ones(count)
    course = (np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1.0]))
    return Tasks(ones * seconds, ones * cores, ones * peak, np.tile(request, (count, 1)), *course, noise=0.0)


def fabric(hosts: int, bandwidth: float, queued: float = 0.0) -> Fabric:
    """Equal links; `queued` bytes wait on each of them."""
    waiting = np.full((hosts, hosts), queued)
    np.fill_diagonal(waiting, 0.0)
    return Fabric(np.full((hosts, hosts), bandwidth), waiting, np.zeros(hosts, dtype=np.int64))


def chain(size: float) -> Workload:
    """Two parents and a child that needs `size` bytes from each."""
    parents = tuple(Stage(name, (1.0, 1.0), np.array([10.0])) for name in ("a", "b"))
    child = Stage("c", (1.0, 1.0), np.array([10.0]), ("a", "b"), transfers=(size, size))
    return Workload("chain", (Job("j", 0.0, (*parents, child)),))


# ---- seconds ------------------------------------------------------------------------------------------------------


def test_reserved_tasks_run_side_by_side_and_then_the_next() -> None:
    """Four cores, five tasks of one: two rounds of ten seconds."""
    found = SecondsWorld(
        tasks(5, 10, 0.5, 1.0, (1.0, 1.0)), PLAIN, Reserved(PLAIN.allowances), np.random.default_rng(0)
    ).play()
    assert (found.seconds, found.failures, found.finished) == (20, 0, True)


def test_overloaded_cpu_slows_everybody_and_loses_no_work() -> None:
    """Four tasks that each want two of four cores take twice as long."""
    found = SecondsWorld(
        tasks(4, 10, 2.0, 1.0, (1.0, 1.0)), PLAIN, Reserved(PLAIN.allowances), np.random.default_rng(0)
    ).play()
    assert found.seconds == 20
    assert found.used[0] == pytest.approx(4.0)


@pytest.mark.parametrize(("retry", "finished"), [("last", False), ("first", False), ("never", True)])
def test_memory_that_does_not_fit_breaks_those_that_grew(retry: str, finished: bool) -> None:
    """Three tasks of four bytes on ten: all are growing when it no longer fits; retried together, they break again."""
    asked = tasks(3, 10, 0.5, 4.0, (1.0, 1.0))
    found = SecondsWorld(asked, PLAIN, Reserved(PLAIN.allowances), np.random.default_rng(0), retry=retry).play(200)
    assert found.failures >= 3
    assert found.failures % 3 == 0
    assert found.finished is finished


def test_a_crash_loop_is_given_up_after_the_seconds_allowed() -> None:
    """Tasks that always meet again never finish; the run says so."""
    asked = tasks(3, 10, 0.5, 4.0, (1.0, 1.0))
    found = SecondsWorld(
        asked, PLAIN, Reserved(PLAIN.allowances), np.random.default_rng(0), victims=Victims.ALL, retry="first"
    ).play(100)
    assert (found.finished, found.seconds) == (False, 100)


def test_estimated_room_takes_more_tasks_than_reservation() -> None:
    """Tasks that use a quarter of what they ask for end sooner when room is measured."""
    asked = tasks(60, 30, 0.25, 0.25, (1.0, 1.0))
    slow = SecondsWorld(asked, PLAIN, Reserved(PLAIN.allowances), np.random.default_rng(0)).play()
    rooms = Estimated(PLAIN.allowances, PLAIN.system)
    quick = SecondsWorld(asked, PLAIN, rooms, np.random.default_rng(0)).play()
    assert quick.seconds < 0.8 * slow.seconds
    assert quick.failures == 0


def test_flattening_keeps_order_use_and_requests() -> None:
    """Containers stand job by job, and use is absolute."""
    made = estimation.generate(seed=0, tasks=200)
    flat = flatten(made)
    first = made.jobs[0].stages[0]
    usage = first.usage
    assert isinstance(usage, Usage)
    assert len(flat) == 200
    assert flat.requests[0].tolist() == list(first.request)
    assert flat.peak[0] == first.request[1] * usage.memory[0]


def test_the_same_policy_in_yarn_is_reservation_until_something_is_measured() -> None:
    """Without a usage model, `estimation` and FIFO end at the same second."""
    stage = Stage("task", (1.0, GIBI), np.full(40, 10.0))
    made, machines = Workload("plain", (Job("j", 0.0, (stage,)),)), uniform(2, 8, 8 * GIBI)
    plain = run(made, machines, "fifo", world="ideal", cores=True)
    ours = run(made, machines, "estimation", world="ideal", allowance=1.0)
    assert ours.jobs.end.tolist() == plain.jobs.end.tolist()


def test_the_same_policy_in_yarn_fills_measured_slack() -> None:
    """With usage curves far below the requests, the same tasks are done sooner, and more is reserved than there is."""
    made, machines = estimation.generate(seed=0, tasks=400), uniform(2, 24, 32 * GIBI)
    plain = run(made, machines, "fifo", world="ideal", cores=True)
    ours = run(made, machines, "estimation", world="ideal")
    assert ours.jobs.end.max() < plain.jobs.end.max()


# ---- transfers ----------------------------------------------------------------------------------------------------


def test_a_child_begins_when_its_last_input_has_arrived() -> None:
    """Parents end at 10 s, 100 bytes at 10 bytes/s arrive at 20 s, and the child ends at 30 s."""
    found = simulate(chain(100.0), uniform(2, 1, 8.0), "network", 0, None, {"net": fabric(2, 10.0)})
    assert found.jobs.end.tolist() == [30.0]
    assert utilisation(found) == pytest.approx(30 / (2 * 30))


def test_bytes_that_were_there_before_are_sent_first() -> None:
    """100 bytes wait on each link until 10 s: nothing changes; 300 bytes delay the child."""
    for queued, end in ((100.0, 30.0), (300.0, 50.0)):
        found = simulate(chain(100.0), uniform(2, 1, 8.0), "network", 0, None, {"net": fabric(2, 10.0, queued)})
        assert found.jobs.end.tolist() == [end]


def test_one_host_runs_one_task_at_a_time_and_sends_itself_nothing() -> None:
    """On a single host the three tasks of ten seconds follow each other."""
    found = simulate(chain(100.0), uniform(1, 1, 8.0), "nearest", 0, None, {"net": fabric(1, 10.0)})
    assert found.jobs.end.tolist() == [30.0]


def test_tasks_that_wait_on_a_host_hold_its_memory_and_not_its_core() -> None:
    """Two parents on one host at once: it is busy all the time, and no busier; one waits with its memory for 10 s."""
    found = measure(simulate(chain(0.0), uniform(1, 1, 8.0), "nearest", 0, None, {"net": fabric(1, 10.0)}))
    assert found.allocated == pytest.approx((1.0, (10 + 20 + 10) / (8 * 30)))


def test_what_waits_for_ever_holds_memory_up_to_the_standstill() -> None:
    """Two hosts for ten seconds, when the child is placed whose input never comes."""
    found = measure(simulate(chain(100.0), uniform(2, 1, 8.0), "network", 0, None, {"net": fabric(2, 0.0)}))
    assert found.allocated == pytest.approx((1.0, 1 / 8))


def test_a_level_without_room_waits_for_memory() -> None:
    """Hosts that hold one task at a time: the second parent waits for the first."""
    made = chain(0.0)
    stages = tuple(replace(stage, request=(1.0, 8.0)) for stage in made.jobs[0].stages)
    tight = replace(made, jobs=(replace(made.jobs[0], stages=stages),))
    found = simulate(tight, uniform(1, 1, 8.0), "network", 0, None, {"net": fabric(1, 10.0)})
    assert found.jobs.end.tolist() == [30.0]
    assert not found.deadlock


def test_a_task_larger_than_every_host_is_refused_and_delays_nobody() -> None:
    """It could never run: that is no deadlock, and the job beside it ends as if it were alone."""
    made = chain(100.0)
    large = Job("large", 0.0, (Stage("a", (1.0, 1.0), np.array([10.0])), Stage("b", (1.0, 16.0), np.array([1.0]))))
    both = replace(made, jobs=(large, made.jobs[0]))
    found = simulate(both, uniform(2, 1, 8.0), "network", 0, None, {"net": fabric(2, 10.0)})
    assert not found.deadlock
    assert found.jobs.status.tolist() == [REFUSED, FINISHED]
    assert found.jobs.end[1] == 30.0
    assert found.notes[0].startswith("job large was refused: it asks for a container of ")
    assert found.refusals.keys() == {0}


def test_over_no_bandwidth_nothing_arrives() -> None:
    """NET-05 in play: the child waits for ever for the parent on the other host, and that is called a deadlock."""
    found = simulate(chain(100.0), uniform(2, 1, 8.0), "network", 0, None, {"net": fabric(2, 0.0)})
    assert found.deadlock
    assert len(found.containers.job) == 2
    assert found.stalled_at == 10.0
    assert found.held is not None
    assert (found.held.stage.tolist(), found.held.start.tolist()) == ([2], [np.inf])
    assert simulate(chain(0.0), uniform(2, 1, 8.0), "network", 0, None, {"mbit": 0}).jobs.end.tolist() == [20.0]


@pytest.mark.parametrize("mbit", [-10, float("nan"), float("inf"), "fast", True])
def test_bandwidth_is_a_number(mbit: object) -> None:
    """Anything else is refused by its name."""
    with pytest.raises(BadNumber, match="mbit"):
        simulate(chain(100.0), uniform(2, 1, 8.0), "network", 0, None, {"mbit": mbit})


@pytest.mark.parametrize("job", [{"driver": Driver((1.0, 1.0))}, {"stages": (Stage("t", (1.0, 1.0), np.ones(2)),)}])
def test_what_the_transfer_world_cannot_play_it_refuses(job: dict[str, Any]) -> None:
    """Drivers and stages of several tasks: playing the rest would give the makespan of another workload."""
    made = chain(0.0)
    with pytest.raises(InvalidInput, match="world transfer: "):
        run(replace(made, jobs=(replace(made.jobs[0], **job),)), uniform(2, 1, 8.0), "network")
