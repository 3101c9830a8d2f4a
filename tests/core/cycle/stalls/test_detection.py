"""The true stall, found by looking at rounds: on which nodes, since when, and in which words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.cycle.snapshot import App, Snapshot
from slackwater.cycle.stalls.detection import TOLD, Stall, StallHistory, detect
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import group, queue, running_app, snapshot

PATIENCE = {"default": 10.0}


def on_nodes(*apps: App, total: float = 4.0, room: float = 0.0, nodes: int = 1, **more: object) -> Snapshot:
    """These apps on so many nodes of 4 cores, with so much left of each."""
    table = node_table([[room]] * nodes, total=[[total]] * nodes, kinds=("cpu",))
    return snapshot(*apps, on=queue(total * nodes, free=room * nodes), nodes=table, **more)  # type: ignore[arg-type]


def looks(*seen: Snapshot, holding: bool = False) -> list[list[Stall]]:
    """What is found in each of these snapshots, ten seconds apart."""
    history, answers = StallHistory(), []
    for number, each in enumerate(seen):
        history, found = detect(history, each, {}, 10.0 * number, PATIENCE, holding=holding)
        answers.append(found)
    return answers


def test_tasks_that_wait_where_nothing_runs_are_a_stall_once_patience_is_over() -> None:
    """With numbers: how many tasks of how many apps, and how many nodes have no room for one."""
    stuck = on_nodes(running_app("a", held=2, size=2), running_app("b", held=1, size=2), nodes=3)
    first, [stall] = looks(stuck, stuck)
    assert first == []
    assert (stall.queue, stall.seconds, stall.waiting, stall.told) == ("default", 10.0, 3, ("a", "b"))
    assert stall.words == (
        "queue default has not moved for 10 s: held are 3 tasks of 2 apps, and none runs; "
        "no node of the 3 that they can use has room for one of them"
    )


@pytest.mark.parametrize(
    "moving",
    [
        pytest.param(on_nodes(running_app("a", held=1, running=1)), id="a task runs"),
        pytest.param(on_nodes(replace(running_app("a", held=1), paused=True)), id="its app is paused"),
        pytest.param(on_nodes(replace(running_app("a", held=1), started=False)), id="its app has not started"),
    ],
)
def test_what_can_still_move_is_no_stall(moving: Snapshot) -> None:
    """Nor what nobody wants to move."""
    assert looks(moving, moving) == [[], []]


def test_nothing_is_a_stall_while_nothing_at_all_is_released() -> None:
    """Whatever keeps everything will end, or is told by itself."""
    stuck = on_nodes(running_app("a", held=1))
    assert looks(stuck, stuck, holding=True) == [[], []]


def test_tasks_that_ended_since_are_movement() -> None:
    """Very short ones are never seen running."""

    def ended(count: int) -> Snapshot:
        app = running_app("a", held=1)
        return on_nodes(replace(app, groups=(*app.groups, group("a", stage="quick", finished=count))))

    assert looks(ended(0), ended(1), ended(2)) == [[], [], []]


def test_tasks_that_run_on_other_nodes_hide_no_stall() -> None:
    """They help nobody who cannot go there."""
    waits, runs = running_app("waits"), running_app("runs")
    waits = replace(waits, groups=(waits.groups[0], group("waits", held=1, constraints="plain")))
    runs = replace(runs, groups=(runs.groups[0], group("runs", running=1, constraints="tainted")))
    reach = {"plain": np.array([True, False]), "tainted": np.array([False, True])}
    stuck = on_nodes(waits, runs, nodes=2, reach=reach)
    assert [[stall.told for stall in found] for found in looks(stuck, stuck)] == [[], [("waits",)]]


def growing(*, in_vain: bool) -> App:
    """An app of which one task waits for a machine, for the first time or after none came."""
    asks = group("asks", size=2, released=1, growing=("asks/task/0",), in_vain=in_vain)
    return App("asks", "team", 0.0, (asks,), started=True)


@pytest.mark.parametrize("in_vain", [False, True])
def test_a_task_that_waits_in_vain_for_a_machine_hides_no_stall(in_vain: bool) -> None:
    """It ends nothing that others could wait for; as long as a machine may come, it does."""
    stuck = on_nodes(running_app("a", held=1, size=2), growing(in_vain=in_vain))
    assert [[stall.told for stall in found] for found in looks(stuck, stuck)] == [
        [],
        [("a", "asks")] if in_vain else [],
    ]


@pytest.mark.parametrize("in_vain", [False, True])
def test_tasks_that_all_wait_in_vain_for_machines_are_a_stall(in_vain: bool) -> None:
    """None of them is held; the driver on the node that would serve one of them stood there for ever."""
    lead = group("own", Role.DRIVER, 3, running=1, seats=("node-0",))
    task = group("own", size=2, released=1, growing=("own/task/0",), in_vain=in_vain)
    own = App("own", "team", 0.0, (lead, task), started=True, has_driver=True)
    _, found = looks(*[on_nodes(own, growing(in_vain=in_vain))] * 2)
    assert [(stall.told, stall.waiting) for stall in found] == ([(("own", "asks"), 2)] if in_vain else [])
    assert all("held, or waiting in vain for a machine, are 2 tasks of 2 apps" in stall.words for stall in found)


def test_a_driver_whose_own_task_waits_in_vain_for_a_machine_is_in_its_way() -> None:
    """Tasks of another app run, so that the queue moves; what waits for its node does not."""
    lead = group("own", Role.DRIVER, 3, running=1, seats=("node-0",))
    task = group("own", size=2, released=1, growing=("own/task/0",), in_vain=True)
    own = App("own", "team", 0.0, (lead, task), started=True, has_driver=True)
    _, [stall] = looks(*[on_nodes(own, running_app("busy", held=1, running=1), room=1.0)] * 2)
    assert (stall.told, stall.need is not None) == (("own",), True)


def test_tasks_wait_in_vain_for_those_of_their_app_that_wait_in_vain_for_a_machine() -> None:
    """A later stage that runs is no movement while the stage before it has no node."""
    first = group("dag", stage="map", size=2, released=1, growing=("dag/map/0",), in_vain=True)
    later = group("dag", stage="reduce", running=1, waiting=True)
    dag = App("dag", "team", 0.0, (first, later), started=True)
    assert [[stall.told for stall in found] for found in looks(*[on_nodes(dag)] * 2)] == [[], [("dag",)]]


@pytest.mark.parametrize("in_vain", [False, True])
def test_a_driver_is_in_the_way_of_who_waits_in_vain_for_a_machine(in_vain: bool) -> None:
    """Nobody else is held, but the node that the driver and its tasks do not share would serve it."""
    lead = group("own", Role.DRIVER, 3, running=1, seats=("node-0",))
    own = App("own", "team", 0.0, (lead, group("own", size=2, held=1)), started=True, has_driver=True)
    busy = App("busy", "team", 0.0, (group("busy", running=1),), started=True)
    found = looks(*[on_nodes(own, busy, growing(in_vain=in_vain))] * 2)
    assert [[stall.told for stall in each] for each in found] == [[], [("own",)] if in_vain else []]


def test_a_driver_in_the_way_of_its_own_tasks_is_a_stall_of_its_own() -> None:
    """Others go on, so that the queue moves; it never will."""
    lead = group("own", Role.DRIVER, 3, running=1, seats=("node-0",))
    own = App("own", "team", 0.0, (lead, group("own", size=2, held=1)), started=True, has_driver=True)
    busy = running_app("busy", held=1, running=1)
    _, [stall] = looks(*[on_nodes(own, busy, room=1.0)] * 2)
    assert stall.told == ("own",)
    assert stall.need is not None
    assert stall.words == (
        "app own has not moved for 10 s: a task asks for 2 cpu, and its own driver holds a node that they need; "
        "lower one of them, or announce the size of its tasks"
    )


def test_the_first_apps_of_a_stall_are_told() -> None:
    """An Event for each of thousands would be a flood."""
    stuck = on_nodes(*(running_app(f"app-{number:02}", held=1) for number in range(TOLD + 5)))
    _, [stall] = looks(stuck, stuck)
    assert (stall.waiting, len(stall.apps), len(stall.told)) == (TOLD + 5, TOLD + 5, TOLD)


def test_after_something_was_done_it_is_counted_anew() -> None:
    """The pod that was evicted needs its time to go."""
    stuck = on_nodes(running_app("a", held=1))
    history, _ = detect(StallHistory(), stuck, {}, 0.0, PATIENCE)
    history, found = detect(history, stuck, {}, 10.0, PATIENCE)
    assert len(found) == 1
    history, found = detect(history.reset("default"), stuck, {}, 11.0, PATIENCE)
    assert found == []
    _, found = detect(history, stuck, {}, 21.0, PATIENCE)
    assert [stall.seconds for stall in found] == [10.0]


def test_what_was_done_for_one_queue_makes_no_other_wait() -> None:
    """A stall of one that goes on, told again and again, kept drivers in their own way from being found in all."""
    lead = group("own", Role.DRIVER, 3, running=1, seats=("node-0",))
    own = App("own", "team", 0.0, (lead, group("own", size=2, held=1)), started=True, has_driver=True)
    seen = on_nodes(own, running_app("busy", held=1, running=1, driver=0.1), room=1.0)
    history, found = detect(StallHistory(), seen, {}, 0.0, PATIENCE)
    for second in range(1, 11):
        history, found = detect(history.reset("another"), seen, {}, float(second), PATIENCE)
    assert [stall.told for stall in found] == [("own",)]
    _, found = detect(history.reset("default"), seen, {}, 15.0, PATIENCE)
    assert found == []
