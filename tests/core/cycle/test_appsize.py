"""How large an app is: by the pods that are there or to come. What has ended counts like what is deleted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.admission.capacity import NodeShares
from slackwater.cycle.appsize import TaskReach, facts, measure
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App, PodGroup, PoolScale, Snapshot
from slackwater.resources import NOTHING
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, driver_app, group, queue, released, snapshot

FAILED_DRIVER = replace(group("app", Role.DRIVER, 16.0, finished=1, stage="first try"), constraints="gone")
ENDED_TASK = group("app", Role.TASK, 16.0, finished=2, constraints="gone")


def with_groups(app: App, *more: PodGroup) -> App:
    """The app with more groups, which stand before its own."""
    return replace(app, groups=(*more, *app.groups))


def on_one_node(app: App, cores: float) -> Snapshot:
    """The app on an empty node; pods of the constraints "gone" accept none."""
    table = node_table([[cores]], kinds=("cpu",))
    shares = NodeShares(("cpu",), np.array([[cores]]))
    return Snapshot(
        0.0, (replace(queue(cores), shares=shares),), (app,), nodes=table, reach={"gone": np.array([False])}
    )


@pytest.mark.parametrize(
    "ended",
    [
        pytest.param((FAILED_DRIVER,), id="a driver that failed"),
        pytest.param((ENDED_TASK,), id="tasks that ended"),
        pytest.param((FAILED_DRIVER, ENDED_TASK), id="both"),
    ],
)
@pytest.mark.parametrize("announced", [True, False])
def test_a_driver_goes_whatever_pods_that_have_ended_asked_for(ended: tuple[PodGroup, ...], announced: bool) -> None:
    """One comes again with another size and other nodes while the pods of the last try are kept to be read."""
    app = driver_app("app", driver=16, task=2)
    app = with_groups(app if announced else replace(app, task_request=None), *ended)
    assert released(decide(on_one_node(app, 18.0))) == ["app/driver/0"]


@pytest.mark.parametrize("lead", ["held", "on its way", "running"])
def test_tasks_that_ended_change_neither_slots_nor_needs_of_a_driver_that_comes_again(lead: str) -> None:
    """Its whole demand is still to come, and other drivers leave a task of it a node; on its node, too."""
    driver = (
        {"held": ("app/driver/0",)} if lead == "held" else {"released": 1} if lead == "on its way" else {"running": 1}
    )
    app = replace(driver_app("app", driver=3, task=2, demand=9.0), started=lead != "held", served=5.0, driver_bound=8.0)
    app = replace(app, groups=(replace(app.groups[0], **({"held": ()} | driver)),))
    again, scale = with_groups(app, ENDED_TASK), PoolScale(cpu(1), 100.0, 0.1)
    assert measure(again, scale)._replace(slots=()) == measure(app, scale)._replace(slots=())
    assert facts(again).needs == facts(app).needs != ()
    table = node_table([[13.0]], total=[[16.0]], kinds=("cpu",))
    late = driver_app("late", 1, driver=12, task=0.5)
    said = [
        decide(snapshot(each, late, on=queue(16, free=13), nodes=table, window=200)).verdicts["late"]
        for each in (app, again)
    ]
    assert said[0] == said[1]
    assert said[0].reason is not WaitReason.RELEASED


def test_only_what_is_there_or_to_come_has_a_size() -> None:
    """A group that has pods to come has not ended."""
    app = with_groups(driver_app("app", driver=3, task=2), FAILED_DRIVER, ENDED_TASK)
    size = measure(app, None)
    assert (size.driver, size.task) == (cpu(3), cpu(2))
    assert measure(replace(app, task_request=None), None).task == NOTHING
    more = replace(app, groups=(*app.groups[:1], replace(ENDED_TASK, expected=3), *app.groups[2:]))
    assert measure(more, None).task == cpu(16)


def test_an_app_reaches_what_its_living_pods_reach() -> None:
    """Its driver that waits says where it is at home."""
    app = facts(with_groups(driver_app("app"), FAILED_DRIVER, ENDED_TASK))
    assert (app.home, app.reach) == ("", (TaskReach("", (cpu(1),)),))
    assert [need.constraints for need in app.needs] == [""]
