"""Queues that stand still on the same nodes give up one pod at a time, and it waits for the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.admission.stall import RunningPod
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.cycle.stalls.detection import Stall
from slackwater.cycle.stalls.sharednodes import beside, in_turn
from slackwater.cycle.stalls.victim import BoundPod, choose
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, queue, running_app


def stalls(*rows: list[bool] | None, nodes: bool = True) -> tuple[list[Stall], Snapshot]:
    """A queue for each of these choices of two full nodes, each with one app that stands still."""
    queues = [
        replace(queue(4.0, free=0.0), name=f"q{number}", nodes=None if chosen is None else np.array(chosen))
        for number, chosen in enumerate(rows)
    ]
    apps = [running_app(f"app-{each.name}", held=1, queue=each.name) for each in queues]
    table = node_table([[0.0], [0.0]], total=[[4.0], [4.0]], kinds=("cpu",)) if nodes else None
    found = [Stall(each.name, 60.0, 1, (app,), "") for each, app in zip(queues, apps, strict=True)]
    return found, Snapshot(0.0, tuple(queues), tuple(apps), nodes=table)


@pytest.mark.parametrize(
    ("rows", "nodes", "expected"),
    [
        pytest.param((None, None), True, {"p0"}, id="both use all nodes"),
        pytest.param(([True, True], [False, True]), True, {"p0"}, id="they share one"),
        pytest.param(([True, False], [False, True]), True, {"p0", "p1"}, id="each has its own"),
        pytest.param((None, None), False, {"p0"}, id="nodes are not known"),
    ],
)
def test_of_stalls_on_the_same_nodes_one_is_ended(
    rows: tuple[list[bool] | None, ...], nodes: bool, expected: set[str]
) -> None:
    """What one driver frees may be all that the other app waits for."""
    found, seen = stalls(*rows, nodes=nodes)
    assert in_turn(seen, {f"p{number}": stall for number, stall in enumerate(found)}) == expected


def test_apps_of_other_queues_that_stand_still_go_before_a_driver_that_is_given_up() -> None:
    """It would be back on the node before them. Paused ones, and those of which a task runs, wait for nothing of it."""
    (stall, *_), seen = stalls(None, None, None)
    own, other, third = seen.apps
    running = running_app("busy", running=1, held=1, queue="q1")
    new = replace(other, id="new", started=False)
    seen = replace(seen, apps=(own, other, replace(third, paused=True), running, new))
    boss = BoundPod(RunningPod("boss", 0.0, controlled=True), own.id, Role.DRIVER, "", cpu(1))
    found = choose(stall, seen, {}, [boss])
    assert found is not None
    assert found.ahead == (own.id, (other.id,))


def test_apps_of_a_paused_queue_and_on_other_nodes_are_not_waited_for() -> None:
    """They would keep the driver away for nobody."""

    def met(*rows: list[bool], paused: bool = False) -> list[App]:
        _, seen = stalls(*rows)
        queues = (seen.queues[0], replace(seen.queues[1], paused=paused))
        return beside(replace(seen, queues=queues), seen.apps[0])

    assert [app.id for app in met([True, False], [True, True])] == ["app-q1"]
    assert met([True, False], [False, True]) == []
    assert met([True, False], [True, True], paused=True) == []
