"""Drivers are let in by what their own tasks can reach, not by what the queue's nodes are worth together."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater.admission.capacity import NodeShares
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu

PLAIN, TAINTED = [True, True, False, False], [False, False, True, True]
EVERY = [True] * 4
REACH = {"": np.array(PLAIN), "gpu": np.array(TAINTED), "any": np.array(EVERY)}


def world(*apps: App) -> Snapshot:
    """Two plain nodes of 8 cores and two tainted ones of 32; everything is free."""
    sizes = [[8.0], [8.0], [32.0], [32.0]]
    table = node_table(sizes, kinds=("cpu",))
    queue = Queue("default", cpu(80), free=cpu(80), shares=NodeShares(("cpu",), np.array(sizes)))
    return Snapshot(0.0, (queue,), apps, nodes=table, reach=REACH)


def app(
    number: int,
    *,
    driver: str = "",
    tasks: str | None = None,
    started: bool = False,
    seat: str = "",
    size: float = 2.0,
    task: float = 2.0,
) -> App:
    """A driver of 2 cores; its tasks of 2 cores exist only where `tasks` says which nodes they reach."""
    name = f"app-{number}"
    lead = PodGroup(
        "d",
        Role.DRIVER,
        cpu(size),
        held=() if started else (f"{name}/driver",),
        running=int(started),
        constraints=driver,
        seats=(seat,) if seat else (),
    )
    groups = [lead]
    if tasks is not None:
        groups.append(PodGroup("t", Role.TASK, cpu(task), held=(f"{name}/task",), constraints=tasks))
    return App(name, "team", float(number), tuple(groups), task_request=cpu(task), has_driver=True, started=started)


def test_tainted_nodes_let_no_driver_in() -> None:
    """16 cores are reached: C/(AMC + TC) = 4 drivers, however large the nodes that others may use."""
    decided = decide(world(*(app(number) for number in range(12))))
    assert len(decided.started) == 4
    refused = decided.verdicts["app-4"]
    assert refused.reason is WaitReason.BUDGET
    assert refused.numbers["capacity"] == 16


def test_those_who_tolerate_the_taint_count_on_the_tainted_nodes_too() -> None:
    """80 cores: 20 drivers. Those of the plain nodes are tested on their own 16."""
    tolerant = [app(number, driver="any") for number in range(30)]
    assert len(decide(world(*tolerant)).started) == 20


def test_a_driver_that_sits_elsewhere_takes_nothing_from_the_ground() -> None:
    """Drivers that tolerate the taint and run on tainted nodes keep no plain app out."""
    away = [app(number, driver="any", started=True, seat="node-2") for number in range(8)]
    near = [app(number, driver="any", started=True, seat="node-0") for number in range(8)]
    assert decide(world(*away, app(9))).started == ("app-9",)
    assert decide(world(*near, app(9))).started == ()


def test_a_driver_that_cannot_stand_in_the_way_of_its_tasks_needs_room_for_itself_only() -> None:
    """Drivers on plain nodes, tasks on tainted ones: all 16 plain cores may hold drivers."""
    apart = [app(number, driver="", tasks="gpu") for number in range(12)]
    assert len(decide(world(*apart)).started) == 8


def test_a_driver_that_is_too_large_for_the_nodes_of_its_tasks_is_tested_on_its_own() -> None:
    """16 cores fit tainted nodes only, tasks reach plain ones only: neither takes room of the other."""
    assert decide(world(app(0, driver="any", tasks="", size=16))).started == ("app-0",)
    many = [app(number, driver="any", tasks="", size=16) for number in range(6)]
    assert len(decide(world(*many)).started) == 4


def test_a_driver_that_is_too_large_for_the_nodes_of_others_keeps_nobody_out() -> None:
    """12 cores go to a tainted node: on the plain ones four drivers of 2 cores start as if it were not there."""
    large = app(0, driver="any", tasks="", size=12)
    assert len(decide(world(large, *(app(number) for number in range(1, 9)))).started) == 5
    again = replace(large, started=True)  # its driver is made anew, and waits
    assert len(decide(world(again, *(app(number) for number in range(1, 9)))).started) == 4


def test_a_driver_whose_tasks_are_too_large_for_its_nodes_needs_room_for_itself_only() -> None:
    """Tasks of 16 cores reach plain nodes, too, but run on tainted ones: all 16 plain cores may hold drivers."""
    apart = [app(number, driver="", tasks="any", task=16) for number in range(12)]
    assert len(decide(world(*apart)).started) == 8


def test_a_driver_whose_tasks_no_node_could_take_does_not_start_on_nodes_of_its_own() -> None:
    """Tasks of 16 cores reach plain nodes of 8 only: the driver of 16 would hold a tainted one for nothing."""
    decided = decide(world(app(0, driver="any", tasks="", size=16, task=16)))
    assert (decided.started, decided.verdicts["app-0"].reason) == ((), WaitReason.INFEASIBLE)


def test_drivers_of_one_round_count_against_each_other_on_every_ground_they_may_land_on() -> None:
    """Ten tolerant drivers are let in first; they might all land on the plain nodes, so plain ones wait."""
    apps = [app(number, driver="any") for number in range(10)] + [app(20)]
    decided = decide(world(*apps))
    assert "app-20" not in decided.started
    assert len(decided.started) == 10


def unknown(number: int, driver: float = 2.0) -> App:
    """A driver whose tasks nobody has announced: a first `spark-submit`."""
    lead = PodGroup("d", Role.DRIVER, cpu(driver), held=(f"app-{number}/driver",))
    return App(f"app-{number}", "team", float(number), (lead,), has_driver=True, tasks_to_come=True)


def test_drivers_whose_tasks_are_not_known_yet_leave_room_for_tasks_as_large_as_themselves() -> None:
    """Else eight first runs fill 16 cores with drivers, and no task of theirs ever fits."""
    assert len(decide(world(*(unknown(number) for number in range(8)))).started) == 4


@pytest.mark.parametrize("size", [5.0, 7.0, 8.0])
def test_a_lone_driver_is_let_in_however_large(size: float) -> None:
    """What is not known refuses nobody: a driver that fits starts where no other runs."""
    assert decide(world(unknown(1, size))).started == ("app-1",)


def test_a_closed_node_makes_an_app_wait_and_refuses_it_for_nothing() -> None:
    """A cordoned node may open again: the driver is not told that its queue never has room for it."""
    open_ = world(unknown(1))
    assert open_.nodes is not None
    shut = replace(open_.nodes, open=np.zeros(4, np.bool_))
    queue = replace(open_.queues[0], capacity=cpu(0), free=cpu(0), shares=NodeShares(("cpu",), np.zeros((4, 1))))
    verdict = decide(replace(open_, nodes=shut, queues=(queue,))).verdicts["app-1"]
    assert not verdict.refused
