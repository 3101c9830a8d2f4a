"""Wild worlds: what they have, and that both sides of the search see it at the same times."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.search.generate import MIXED, OPEN_GATES, WILD, plan
from support.search.plan import AppPlan, NodePlan, StagePlan, Trouble, VisitorPlan, WorldPlan
from support.search.play import Stock, play
from support.search.schedulers import schedule

NODES = {"cordon", "drain", "unlabel", "unplug"}
CHANGES = NODES | {"delete", "withdraw", "driver"}
APP = AppPlan("app", (StagePlan(2, 2.0, 4.0, 5.0),))
WORLD = WorldPlan(0, (NodePlan("one", 4.0, 16.0, group="a"), NodePlan("two", 4.0, 16.0, group="a")), (APP,))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """For the operator."""
    made = asyncio.new_event_loop()
    yield made
    made.close()


def features(world: WorldPlan) -> set[str]:
    """What is wild about a world."""
    stages = [stage for app in world.apps for stage in app.stages]
    found = {
        "devices": any(node.gpus for node in world.nodes) and any(stage.gpus for stage in stages),
        "late": any(node.late for node in world.nodes),
        "visitors": bool(world.visitors),
        "cancelled": any(app.cancelled for app in world.apps),
        "one kind": any(bool(stage.cpu) != bool(stage.memory) for stage in stages),
        "nothing": any(not stage.cpu and not stage.memory for stage in stages),
        "grace": world.grace > 0,
    }
    troubles = {each.what for each in world.troubles} & CHANGES
    return troubles | {name for name, there in found.items() if there}


def test_wild_worlds_have_everything_that_others_lack() -> None:
    """Every feature comes up, some in one world, and none below the first wild seed."""
    wild = [features(plan(seed)) for seed in range(WILD, WILD + 100)]
    others = {"devices", "late", "visitors", "cancelled", "one kind", "nothing", "grace"}
    assert set[str]().union(*wild) == CHANGES | others
    plain = [features(plan(seed)) for first in (0, OPEN_GATES) for seed in range(first, first + 100)]
    assert set[str]().union(*plain) == set()


def test_a_wild_world_ends_with_all_its_nodes_labels_and_room() -> None:
    """Cordons and lost labels last for a while, late nodes come: what could run once can run in the end."""
    for seed in range(WILD, WILD + 100):
        world = plan(seed)
        assert all(each.seconds > 0 for each in world.troubles if each.what in NODES)
        assert max(node.late for node in world.nodes) < 200


def test_a_late_node_brings_what_only_it_has(loop: asyncio.AbstractEventLoop) -> None:
    """A pod that asks for a device waits for the node that has one."""
    stages = (StagePlan(1, 1.0, 1.0, 5.0, gpus=1),)
    nodes = (NodePlan("one", 4.0, 16.0), NodePlan("new", 4.0, 16.0, gpus=1, late=30.0))
    world = WorldPlan(0, nodes, (AppPlan("a", stages),))
    outcome = play(world, loop)
    assert (outcome.failures, outcome.stock_finished, outcome.ours_finished) == ([], 1, 1)
    assert 35.0 <= outcome.stock <= outcome.ours <= 45.0


def later(side: Stock, seconds: float) -> set[str]:
    """Time passes; the pods there are then."""
    side.cluster.now += seconds
    side.live()
    return set(side.cluster.pods)


def test_nodes_are_cordoned_and_lose_their_label_for_a_while() -> None:
    """And are then as they were."""
    side = Stock(replace(WORLD, troubles=(Trouble(0.0, "cordon", "one", 10.0), Trouble(1.0, "unlabel", "two", 10.0))))
    side.live()
    assert not side.cluster.nodes["one"].open
    later(side, 1.0)
    assert side.cluster.nodes["two"].labels == {}
    later(side, 9.0)
    assert side.cluster.nodes["one"].open
    later(side, 1.0)
    assert side.cluster.nodes["two"].labels == {"group": "a"}


@pytest.mark.parametrize("grace", [0.0, 5.0])
def test_a_pod_that_its_user_deletes_is_made_anew(grace: float) -> None:
    """One that waits is gone at once, one that has a node after its grace period."""
    deleted = (Trouble(1.0, "delete", app="team-0/app"), Trouble(3.0, "delete", app="team-0/app"))
    side = Stock(replace(WORLD, troubles=deleted, grace=grace))
    first = later(side, 0.0)
    second = later(side, 1.0)
    assert (len(second), len(first & second)) == (2, 1)
    schedule(side.cluster)
    third = later(side, 2.0)
    assert (len(third), len(second & third)) == ((3, 2) if grace else (2, 1))
    assert len(later(side, grace)) == 2


def test_a_cancelled_app_is_over_with_all_its_pods() -> None:
    """It counts as finished on neither side."""
    side = Stock(replace(WORLD, apps=(replace(APP, driver=(1.0, 1.0), cancelled=2.0),)))
    later(side, 0.0)
    schedule(side.cluster)
    assert len(later(side, 1.0)) == 3
    assert (later(side, 1.0), side.over, side.lives[0].finished) == (set(), True, False)


def test_visitors_share_the_nodes_and_are_not_held(loop: asyncio.AbstractEventLoop) -> None:
    """Both sides are over once the visitors are gone, too."""
    outcome = play(replace(WORLD, visitors=(VisitorPlan("v", 4.0, 1.0, 1.0, 20.0),)), loop)
    assert (outcome.failures, outcome.ours_finished) == ([], 1)


def test_some_worlds_have_gangs_of_two_sizes() -> None:
    """From their first seed on, and none before it."""
    pieces = [app for seed in range(MIXED, MIXED + 20) for app in plan(seed).apps if app.gang and len(app.stages) > 1]
    assert len(pieces) >= 10
    assert not any(len(app.stages) > 1 for seed in range(WILD, WILD + 50) for app in plan(seed).apps if app.gang)
