"""Task sizes of earlier runs are guesses: they keep nobody out for ever."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.cycle.appstarts.priorsize import without_impossible
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, driver_app, group, queue, snapshot


def on_a_node_of_eight(app: App, *, others: float = 0.0, **limits: object) -> Snapshot:
    """The app on a node of 8 cores, of which pods of others hold some."""
    table = node_table([[8.0 - others]], total=[[8.0]], kinds=("cpu",))
    made = snapshot(app, on=queue(8.0 - others, free=8.0 - others, **limits), nodes=table)
    return replace(made, foreign=np.array([[others]]))


def size(found: Snapshot) -> Resources | None:
    """What is believed of the app's tasks."""
    return found.apps[0].task_request


@pytest.mark.parametrize(
    ("task", "others", "limits", "believed"),
    [
        pytest.param(6.0, 0.0, {}, True, id="fits beside the driver"),
        pytest.param(8.0, 0.0, {}, False, id="more than the driver leaves"),
        pytest.param(6.0, 0.5, {}, False, id="more than pods of others leave"),
        pytest.param(6.0, 0.0, {"maximum": cpu(7.0)}, False, id="more than the queue may have"),
    ],
)
def test_a_size_that_could_not_run_is_forgotten(
    task: float, others: float, limits: dict[str, object], believed: bool
) -> None:
    """The driver asks for 2 cores of a node of 8."""
    world = on_a_node_of_eight(driver_app("app", driver=2, task=task), others=others, **limits)
    found = without_impossible(world, {"app"})
    assert size(found) == (cpu(task) if believed else None)
    assert found.apps[0].tasks_to_come is not believed


def test_an_app_is_not_refused_for_the_size_of_another_run() -> None:
    """Seed 50854: app-4 was taken for a run of app-3, whose tasks ask for a whole node. A stated size refuses it."""
    world = on_a_node_of_eight(driver_app("app-4", driver=2, task=8))
    assert decide(without_impossible(world, {"app-4"})).started == ("app-4",)
    stated = decide(without_impossible(world, set()))
    assert stated.verdicts["app-4"].reason is WaitReason.INFEASIBLE


def test_tasks_that_exist_say_themselves_what_they_ask_for() -> None:
    """Nothing is guessed then."""
    app = driver_app("app", driver=2, task=8)
    world = on_a_node_of_eight(replace(app, groups=(*app.groups, group("app", Role.TASK, 8.0, held=1))))
    assert without_impossible(world, {"app"}) is world
