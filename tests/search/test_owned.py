"""Worlds in which owners say something: what they have, and that both sides of the search see the same of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from support.search.generate import MIXED, OPEN_GATES, OWNED, REWRITTEN, WILD, plan
from support.search.plan import AppPlan, NodePlan, QueuePlan, StagePlan, Trouble, WorldPlan
from support.search.play import Ours, Stock, play

STOPS = {"pause", "halt", "close", "leave"}
SAID = {"minimum", "maximum", "theta", "weights", "most", "two queues", "withheld late", "withheld ever", "again"}
TASKS = AppPlan("app", (StagePlan(2, 2.0, 4.0, 5.0),))
LED = replace(TASKS, driver=(1.0, 1.0))
WORLD = WorldPlan(0, (NodePlan("one", 8.0, 32.0),), (TASKS,))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """For the operator."""
    made = asyncio.new_event_loop()
    yield made
    made.close()


def said(world: WorldPlan) -> set[str]:
    """What owners say in a world."""
    queues = {
        name for name in ("minimum", "maximum", "theta", "weights", "most") for q in world.queues if getattr(q, name)
    }
    late = {f"withheld {'late' if app.withheld_for else 'ever'}" for app in world.apps if app.withheld}
    again = {"again" for app in world.apps if app.run}
    several = {"two queues"} if len(world.queues) > 1 else set[str]()
    return queues | late | again | several | ({each.what for each in world.troubles} & STOPS)


def test_everything_that_owners_can_say_comes_up() -> None:
    """In some world, and none of it below the first such seed."""
    worlds = [said(plan(seed)) for seed in range(OWNED, OWNED + 100)]
    assert set[str]().union(*worlds) == STOPS | SAID
    others = [said(plan(seed)) for first in (0, OPEN_GATES, WILD, MIXED) for seed in range(first, first + 50)]
    assert set[str]().union(*others) <= {"two queues"}


def test_whatever_is_stopped_goes_on_and_what_never_comes_is_given_up() -> None:
    """So nothing is held for ever because an owner wants it."""
    for seed in range(OWNED, OWNED + 100):
        world = plan(seed)
        assert all(each.seconds > 0 for each in world.troubles if each.what in STOPS)
        assert all(app.withheld_for or app.cancelled for app in world.apps if app.withheld)


def test_queues_are_written_anew_in_the_last_family_only() -> None:
    """Under their names and on their nodes, for a while; seeds below make the worlds that they made."""
    for seed in range(REWRITTEN, REWRITTEN + 50):
        world = plan(seed)
        queues = {each.name: each for each in world.queues}
        written = [each for each in world.troubles if each.terms is not None]
        assert written
        assert all(each.seconds > 0 and each.terms != queues[each.scope] for each in written)
        assert all(
            replace(each.terms, **_kept(queues[each.scope])) == queues[each.scope] for each in written if each.terms
        )
    others = [plan(seed) for first in (0, WILD, MIXED, OWNED) for seed in range(first, first + 50)]
    assert not any(each.terms for world in others for each in world.troubles)


def _kept(queue: QueuePlan) -> dict[str, Any]:
    """What an owner writes anew, as it was."""
    return {name: getattr(queue, name) for name in ("pooled", "minimum", "maximum", "theta", "fair", "weights")}


def test_a_pool_that_is_taken_away_and_given_back_is_followed(loop: asyncio.AbstractEventLoop) -> None:
    """Tasks of a large app wait at an owner's bound, and go as soon as it is lifted."""
    bounded = QueuePlan("default", pooled=True, minimum=0.5, maximum=1.0)
    large = replace(TASKS, stages=(StagePlan(9, 2.0, 4.0, 5.0),), announces=True)
    lifted = Trouble(8.0, "rewrite", seconds=5.0, scope="default", terms=replace(bounded, pooled=False))
    side = Ours(replace(WORLD, apps=(large,), queues=(bounded,), troubles=(lifted,)), loop)
    side.play()
    begun = sorted(pod.started for pod in side.cluster.pods.values())
    assert side.checks.failures == []
    assert [sum(a <= each < b for each in begun) for a, b in ((1000, 1005), (1008, 1010))] == [2, 2]


@pytest.mark.parametrize("app", [TASKS, LED])
@pytest.mark.parametrize(
    "stop", [Trouble(0.0, "pause", seconds=50.0, app="team-0/app"), Trouble(0.0, "halt", seconds=50.0, scope="default")]
)
def test_what_is_paused_waits_on_both_sides(loop: asyncio.AbstractEventLoop, app: AppPlan, stop: Trouble) -> None:
    """And goes on at the same time."""
    outcome = play(replace(WORLD, apps=(app,), troubles=(stop,)), loop)
    assert (outcome.failures, outcome.stock_finished, outcome.ours_finished) == ([], 1, 1)
    assert 55.0 <= outcome.stock <= outcome.ours <= 62.0


def test_a_closed_queue_lets_apps_go_on_that_have_started(loop: asyncio.AbstractEventLoop) -> None:
    """On both sides."""
    late = replace(TASKS, name="late", at=5.0)
    closed = Trouble(3.0, "close", seconds=50.0, scope="default")
    apps = (replace(TASKS, stages=(StagePlan(9, 2.0, 4.0, 5.0),)), late)
    world = replace(WORLD, apps=apps, troubles=(closed,))
    for side in (Stock(world), Ours(world, loop)):
        side.play()
        begun = {pod.labels["slackwater.io/app"]: pod.started for pod in side.cluster.pods.values()}
        assert (begun["app"] < 1050.0, begun["late"] >= 1053.0) == (True, True)


def test_a_closed_queue_keeps_a_new_run_of_an_app_that_has_ended(loop: asyncio.AbstractEventLoop) -> None:
    """What an earlier one of its name ran does not speak for it, on neither side."""
    apps = tuple(replace(TASKS, run=number, after=20.0, tidy=True) for number in (1, 2))
    world = replace(WORLD, apps=apps, troubles=(Trouble(15.0, "close", seconds=50.0, scope="default"),))
    for side in (Stock(world), ours := Ours(world, loop)):
        side.play()
        assert 1065.0 <= max(pod.started for pod in side.cluster.pods.values()) <= 1067.0
    assert ours.checks.failures == []


@pytest.mark.parametrize(("cores", "goes"), [(2.0, 1006.0), (8.0, 1053.0)], ids=["twice as large", "larger still"])
def test_small_tasks_that_ended_do_not_speak_for_large_ones_of_a_closed_queue(
    loop: asyncio.AbstractEventLoop, cores: float, goes: float
) -> None:
    """On both sides the next stage waits until the queue is open again, unless what ran is worth half of it."""
    app = replace(TASKS, stages=(StagePlan(1, 1.0, 4.0, 5.0), StagePlan(1, cores, 4.0, 5.0)))
    world = replace(WORLD, apps=(app,), troubles=(Trouble(3.0, "close", seconds=50.0, scope="default"),))
    for side in (Stock(world), ours := Ours(world, loop)):
        side.play()
        started = max(pod.started for pod in side.cluster.pods.values())
        assert goes - 1 <= started <= goes + 2
    assert ours.checks.failures == []


def test_a_gang_that_never_comes_whole_is_given_up_by_its_user(loop: asyncio.AbstractEventLoop) -> None:
    """Its driver runs meanwhile, its tasks are held, and whoever comes after it uses the room that they leave."""
    vain = replace(LED, gang=True, announces=True, upfront=True, withheld=1, cancelled=380.0)
    other = replace(LED, name="other", at=10.0)
    world = Ours(replace(WORLD, apps=(vain, other)), loop)
    world.play()
    assert (world.checks.failures, [life.finished for life in world.lives]) == ([], [False, True])
    assert world.lives[0].cancelled


@pytest.mark.parametrize("tidy", [False, True])
def test_an_app_that_comes_again_waits_for_the_end_of_the_one_before(
    loop: asyncio.AbstractEventLoop, *, tidy: bool
) -> None:
    """Under its name, with pods of other names and of other sizes."""
    again = replace(LED, stages=(StagePlan(4, 1.0, 1.0, 5.0),), run=1, after=10.0, tidy=tidy)
    world = Ours(replace(WORLD, apps=(LED, again)), loop)
    world.play()
    assert (world.checks.failures, [life.finished for life in world.lives]) == ([], [True, True])
    assert world.lives[1].started == pytest.approx(world.lives[0].started + 16.0, abs=5.0)
    assert len(world.cluster.pods) == (5 if tidy else 8)


def test_pods_of_a_namespace_that_is_not_managed_any_more_are_let_go(loop: asyncio.AbstractEventLoop) -> None:
    """Those held and those made meanwhile."""
    queues = (QueuePlan("default"),)
    left, halted = (
        Trouble(5.0, "leave", seconds=60.0, scope="team-0"),
        Trouble(0.0, "halt", seconds=90.0, scope="default"),
    )
    world = Ours(replace(WORLD, queues=queues, troubles=(halted, left)), loop)
    world.play()
    assert (world.checks.failures, world.lives[0].finished) == ([], True)
    assert world.finished_at < 1030.0
