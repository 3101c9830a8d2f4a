"""Room that is kept for an app which has waited longer than patience: from whom, since when, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from slackwater.admission.capacity import NodeShares
from slackwater.cycle import queuepass
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.podline.releasewindow import ReleaseWindow
from slackwater.cycle.snapshot import App, Queue, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.pools.pools import Category
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, group, pool, released, running_app, task_app

NOW = 400.0  # patience is 300


def two_nodes(*apps: App, free: float = 2.0) -> Snapshot:
    """Two nodes of four cores; so many are free on the first, none on the second."""
    names, every = ("n0", "n1"), np.ones(2, np.bool_)
    total, room = np.full((2, 1), 4.0), np.array([[free], [0.0]])
    table = NodeTable(("cpu",), names, {"n0": 0, "n1": 1}, total, room, room, every)
    on = Queue("default", cpu(8), free=cpu(free), total=cpu(8), shares=NodeShares(("cpu",), total))
    return Snapshot(NOW, (on,), apps, nodes=table)


def gang(submitted: float = 0.0) -> App:
    """Eight pods that start together or not at all."""
    return task_app("gang", submitted, held=8, gang=True)


@pytest.mark.parametrize("submitted", [200.0, 0.0], ids=["fresh", "overdue"])
@pytest.mark.parametrize("started", [False, True], ids=["new", "started"])
@pytest.mark.parametrize("claimant", [gang(), task_app("large", held=1, size=4)], ids=["gang", "large pod"])
def test_no_room_is_kept_from_a_higher_priority(submitted: float, claimant: App, *, started: bool) -> None:
    """Whoever waits longest does not turn priority round."""
    urgent = task_app("urgent", 399.0, priority=1000, started=started)
    at = two_nodes(replace(claimant, submitted=submitted), urgent)
    assert released(decide(at)) == ["urgent/task/0"]


def test_room_is_kept_from_equal_and_lower_priorities() -> None:
    """Else a gang among small pods would never start."""
    outcome = decide(two_nodes(gang(), task_app("late", 399.0)))
    assert released(outcome) == []
    assert outcome.verdicts["late"].reason is WaitReason.ASSEMBLING


def test_what_the_urgent_one_leaves_is_kept() -> None:
    """One of two cores is taken before; a pod of the gang's own priority does not get the other."""
    urgent, late = task_app("urgent", 399.0, priority=1000), task_app("late", 399.0)
    at = two_nodes(gang(), urgent, late)
    assert released(decide(at)) == ["urgent/task/0"]
    assert {found.claim for found in holds(at, decide(at))} <= {Claim.ASSEMBLY, Claim.NO_ROOM}


@pytest.mark.parametrize(("came", "kept"), [(399.0, False), (50.0, True)], ids=["a second ago", "long ago"])
def test_an_app_between_two_stages_waits_since_its_pods_came(came: float, *, kept: bool) -> None:
    """It ran for 400 seconds: that is no wait."""
    groups = (group("spark", Role.DRIVER, 0.5, running=1, seats=("n1",)), group("spark", size=4, held=1, finished=40))
    spark = App("spark", "team", 0.0, groups, started=True, has_driver=True, held_since=came)
    outcome = decide(two_nodes(spark, task_app("late", 399.0)))
    assert (released(outcome) == []) is kept
    assert ("it has waited for 350 s" in outcome.verdicts["late"].sentence) is kept


INCOMPLETE = App("gang", "team", 0.0, (group("gang", size=2, held=2, expected=4),), gang=True, announced=4)
HEAD_PAUSES = App(
    "ray",
    "team",
    0.0,
    (group("ray", Role.DRIVER, 1, held=1, pausing=True), group("ray", size=4, held=2)),
    has_driver=True,
)


@pytest.mark.parametrize(
    ("app", "draining"),
    [(task_app("large", size=4), True), (INCOMPLETE, False), (HEAD_PAUSES, False)],
    ids=["its queue drains", "its gang is not complete", "its driver pauses"],
)
def test_no_room_is_kept_for_an_app_that_may_not_start(app: App, *, draining: bool) -> None:
    """It could not use any: what lacks room alone may claim some."""
    at = two_nodes(replace(app, queue="other"), task_app("late", 399.0, held=2))
    other = replace(at.queues[0], name="other", draining=draining)
    at = replace(at, queues=(*at.queues, other))
    outcome = decide(at)
    assert released(outcome) == ["late/task/0", "late/task/1"]
    assert Claim.NOBODY not in {found.claim for found in holds(at, outcome)}


def test_who_waits_behind_another_is_not_told_of_room_that_nobody_keeps() -> None:
    """The first one fits and waits for its pool; another waits for the same."""
    full = running_app("full", running=98, demand=99.0)
    apps = [task_app(name, submitted, held=50, demand=50.0, gang=True) for name, submitted in (("a", 0.0), ("b", 1.0))]
    on = Queue("default", cpu(1000), free=cpu(500), total=cpu(1000), pool="default")
    seen = Snapshot(NOW, (on,), (full, *apps), (pool(599, 0.9, low=0.9, nominal=100),))
    said = decide(seen).verdicts
    assert (said["a"].reason, said["b"].reason) == (WaitReason.POOL, WaitReason.BEHIND)


def test_the_gang_itself_is_told_what_it_lacks() -> None:
    """That the room on the nodes is kept for it must not read as if no node had any for one of its pods."""
    outcome = decide(two_nodes(gang(), running_app("other", running=6, driver=0.0)))
    assert outcome.verdicts["gang"].reason is WaitReason.WHOLE
    assert "together they ask for 8 cpu" in outcome.verdicts["gang"].sentence


def passes(at: Snapshot, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a round goes over all lines."""
    real, seen = queuepass._pass, list[int | None]()

    def counted(lanes: Sequence[queuepass.Lane], window: ReleaseWindow, least: int | None = None) -> None:
        seen.append(least)
        real(lanes, window, least)

    with monkeypatch.context() as patched:
        patched.setattr(queuepass, "_pass", counted)
        assert released(decide(at)) == []
    return len(seen)


def without_help(count: int, *others: App) -> Snapshot:
    """So many overdue apps that select a node which is cordoned: no room that is kept would help them."""
    groups = (replace(group("late", size=4, held=1), constraints="second"),)
    late = [App(f"late-{number}", "team", 0.0, groups) for number in range(count)]
    at = two_nodes(*late, *others, free=0.0)
    assert at.nodes is not None
    cordoned = replace(at.nodes, open=np.array([True, False]))
    return replace(at, nodes=cordoned, reach={"second": np.array([False, True])})


def test_a_round_does_not_take_longer_the_more_apps_cannot_be_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is more urgent is looked at once before all of them: from one to the next nothing comes free."""
    urgent = task_app("urgent", 399.0, priority=1000)
    assert passes(without_help(20, urgent), monkeypatch) == passes(without_help(1, urgent), monkeypatch)


def test_a_paused_app_of_higher_priority_costs_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of it may go, whatever room there is."""
    paused = task_app("urgent", 399.0, priority=1000, paused=True)
    assert passes(without_help(3, paused), monkeypatch) == passes(without_help(3), monkeypatch)


def test_who_starts_into_room_that_is_left_before_some_is_kept_is_released_once() -> None:
    """It went once more with all others, with the same pods: twice the room, and places of the window, were taken."""
    groups = (group("run", size=12, running=1), group("run", size=16, blocked=2, stage="late"))
    run = App("run", "team", 100.0, groups, started=True, demand=31.0, category=Category.LARGE, priority=100)
    urgent = task_app("urgent", 390.0, held=4, demand=40.0, category=Category.LARGE, priority=100)
    overdue = App(
        "overdue", "team", 0.0, (group("overdue", size=16, held=1, constraints="n0"),), category=Category.LARGE
    )
    table = node_table([[4.0], [16.0]], total=[[16.0], [16.0]], kinds=("cpu",))
    on = Queue("default", cpu(32), free=cpu(20), total=cpu(32), pool="default")
    reach = {"n0": np.array([True, False])}
    world = Snapshot(NOW, (on,), (run, urgent, overdue), (pool(32.0),), nodes=table, reach=reach)
    assert released(decide(world)) == [f"urgent/task/{number}" for number in range(4)]
