"""Drivers leave tasks a node: 002's reserve, node by node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.cycle.appsize import AppSizes
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.snapshot import App, Snapshot
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, driver_app, group, queue, released, snapshot, task_app


def on_nodes(*apps: App, total: list[float], room: list[float] | None = None, **more: object) -> Snapshot:
    """These apps on nodes of so many cores, of which so much is left."""
    left = total if room is None else room
    table = node_table([[each] for each in left], total=[[each] for each in total], kinds=("cpu",))
    return snapshot(*apps, on=queue(sum(total), free=sum(left)), nodes=table, **more)  # type: ignore[arg-type]


def led(name: str, *, driver: float, task: float, held: int = 1, seat: str = "node-0", **more: object) -> App:
    """A started app whose driver sits on a node and whose tasks wait."""
    groups = (
        group(name, Role.DRIVER, driver, running=1, seats=(seat,)),
        group(name, Role.TASK, task, held=held),
    )
    return App(name, "team", 0.0, groups, started=True, has_driver=True, **more)  # type: ignore[arg-type]


def on_pools(home: str, *tasks: tuple[str, float], gang: bool = False) -> Snapshot:
    """An app of a driver of 2 cores and of kinds of tasks, on two empty nodes of 4 cores, of the pools a and b."""
    groups = [group("app", Role.DRIVER, 2, held=1, constraints=home)]
    groups += [group("app", Role.TASK, size, held=1, stage=pool, constraints=pool) for pool, size in tasks]
    app = App("app", "team", 0.0, tuple(groups), has_driver=True, gang=gang)
    return on_nodes(app, total=[4.0, 4.0], reach={"a": np.array([True, False]), "b": np.array([False, True])})


class TestItsOwnTasks:
    """A driver must not sit where its own task has to run."""

    def test_a_driver_goes_beside_the_node_that_its_task_needs(self) -> None:
        """Seed 177: on nodes of 4 and 32 cores, a driver whose task asks for 32 goes to the small one."""
        decided = decide(on_nodes(driver_app("app", driver=2, task=32), total=[4.0, 32.0]))
        assert [(release.uid, release.avoid) for release in decided.releases] == [("app/driver/0", ("node-1",))]

    def test_nodes_that_tasks_could_do_without_are_spare(self) -> None:
        """Seed 51075: of 3 places for a gang of 2 a driver may take one, of 2 none."""
        app = driver_app("app", driver=1, task=2, together=2)
        first = decide(on_nodes(app, driver_app("more", 1, driver=1), total=[2.0, 4.0, 1.0])).releases[0]
        assert (first.avoid, first.spare) == (("node-0", "node-1"), ("node-0", "node-1"))
        barred = decide(on_nodes(app, total=[2.0, 2.0, 1.0])).releases[0]
        assert (barred.avoid, barred.spare) == (("node-0", "node-1"), ())

    def test_a_driver_keeps_off_a_node_that_its_later_stage_needs_though_another_driver_is_there(self) -> None:
        """That one ends some time, its own does not: on nodes of 2 and 8 cores, it waits for the small one."""
        other = led("other", driver=4, task=1, held=0, seat="node-1")
        mine = driver_app("app", driver=1, task=1)
        later = replace(group("app", Role.TASK, 8, stage="later"), expected=1, waiting=True)
        app = replace(mine, groups=(*mine.groups, later))
        decided = decide(on_nodes(other, app, total=[2.0, 8.0], room=[0.0, 4.0]))
        assert decided.releases == ()
        assert decided.verdicts["app"].reason is WaitReason.LAST_NODE
        decided = decide(on_nodes(other, app, total=[2.0, 8.0], room=[2.0, 4.0]))
        assert [(release.uid, release.avoid) for release in decided.releases] == [("app/driver/0", ("node-1",))]

    def test_a_driver_and_a_task_that_fit_no_nodes_together_are_refused(self) -> None:
        """Stock would start the driver and let it wait for ever."""
        decided = decide(on_nodes(driver_app("app", driver=3, task=5), driver_app("next", 1), total=[6.0, 2.0]))
        assert decided.verdicts["app"].reason is WaitReason.TASK_BESIDE_DRIVER
        assert decided.verdicts["app"].refused
        assert "asks for 3 cpu and a task for 5 cpu" in decided.verdicts["app"].sentence
        assert decided.started == ("next",)

    def test_a_kind_of_task_that_never_fits_beside_the_driver_keeps_no_node_while_another_does(self) -> None:
        """It would wait for ever on empty nodes, for tasks that wait for it; of a gang none can do without the rest."""
        decided = decide(on_pools("a", ("b", 1.0), ("a", 4.0)))
        assert released(decided) == ["app/driver/0"]
        for gang, kinds in ((False, [("a", 4.0)]), (True, [("b", 1.0), ("a", 4.0)])):
            refused = decide(on_pools("a", *kinds, gang=gang)).verdicts["app"]
            assert (refused.reason, refused.refused) == (WaitReason.TASK_BESIDE_DRIVER, True)

    def test_kinds_of_tasks_that_need_different_nodes_whole_leave_the_driver_one(self) -> None:
        """Wherever it goes, it is in the way of one of them."""
        world = on_pools("", ("a", 4.0), ("b", 4.0))
        assert [(each.uid, each.avoid) for each in decide(world).releases] == [("app/driver/0", ("node-0",))]

    def test_a_driver_is_refused_for_a_first_stage_that_fits_nowhere_beside_it(self) -> None:
        """Later ones would fit, and never come."""
        world = on_pools("a", ("a", 4.0), ("b", 1.0))
        (app,) = world.apps
        later = replace(app.groups[2], waiting=True)
        decided = decide(replace(world, apps=(replace(app, groups=(*app.groups[:2], later)),)))
        assert decided.verdicts["app"].reason is WaitReason.TASK_BESIDE_DRIVER

    def test_a_driver_made_anew_is_refused_for_the_task_that_the_last_one_kept_out(self) -> None:
        """Seed 50208: because tasks of an earlier stage had ended, it was held for ever and told of the budget."""
        fresh = driver_app("app", driver=4, task=6)
        ended = group("app", Role.TASK, 0.8, finished=2)
        decided = decide(on_nodes(replace(fresh, groups=(*fresh.groups, ended)), total=[1.0, 1.0, 8.0]))
        assert decided.verdicts["app"].reason is WaitReason.TASK_BESIDE_DRIVER

    def test_pods_of_others_may_leave_no_node_for_now(self) -> None:
        """Seed 197: beside a daemon there is no room for driver and task; it waits, as daemons may go."""
        world = replace(
            on_nodes(driver_app("app", driver=4, task=4), total=[8.0], room=[7.0]), foreign=np.array([[1.0]])
        )
        decided = decide(world)
        assert decided.verdicts["app"].reason is WaitReason.LAST_NODE
        assert not decided.verdicts["app"].refused
        assert "tasks of its own app need" in decided.verdicts["app"].sentence
        assert [(each.claim, each.claimant) for each in holds(world, decided)] == [(Claim.RESERVE, "app")]


def announced(task: float, *, running: int = 0, home: float = 4.0) -> Snapshot:
    """An app of which only the driver is there, for a small node; of its tasks only the size is known."""
    lead = group("app", Role.DRIVER, 1, held=1 - running, running=running, seats=("node-0",) * running)
    app = App(
        "app",
        "team",
        0.0,
        (replace(lead, constraints="on demand"),),
        started=bool(running),
        has_driver=True,
        task_request=cpu(task),
    )
    return on_nodes(app, total=[home, 16.0], reach={"on demand": np.array([True, False])})


class TestTasksThatWereAnnounced:
    """Nobody says where they may run until they are there: a driver on demand, its tasks on large spot nodes."""

    def test_a_driver_whose_nodes_are_too_small_for_its_tasks_starts_if_others_are_not(self) -> None:
        """It was refused for ever, and the stock scheduler runs it: its tasks may be meant for other nodes."""
        assert released(decide(announced(8))) == ["app/driver/0"]

    def test_it_is_refused_where_no_node_at_all_would_take_one(self) -> None:
        """That is true wherever they may run."""
        assert decide(announced(17)).verdicts["app"].reason is WaitReason.TASK_BESIDE_DRIVER

    def test_a_driver_that_runs_is_not_in_the_way_of_tasks_that_another_node_would_take(self) -> None:
        """To give it up would not help them."""
        seen = announced(8, running=1, home=8.0)
        nodes = DriverNodes(seen)
        assert nodes.serves(seen.apps[0])
        assert nodes.in_the_way(seen.apps[0]) is None


class TestTasksOfOthers:
    """A driver must not take the last node of a task that waits."""

    def test_a_driver_waits_while_a_started_app_needs_the_node_whole(self) -> None:
        """Seed 88: it would sit beside a task, and the next task that asks for the whole node would never find it."""
        whole = replace(task_app("whole", held=3, size=2.0), started=True)
        world = on_nodes(whole, driver_app("late", 1, driver=1, task=1), total=[2.0], room=[1.0])
        decided = decide(world)
        assert released(decided) == []
        assert decided.verdicts["late"].sentence.startswith("its driver would take a node of queue default that tasks")
        assert {each.app: each.claim for each in holds(world, decided)}["late"] is Claim.RESERVE

    def test_of_several_apps_that_need_the_node_the_first_is_named(self) -> None:
        """In whatever order apps are listed: the sentence is written on a pod, and must not change from day to day."""
        needs = [replace(task_app(name, held=3, size=2.0), started=True) for name in ("first", "second")]
        late = driver_app("late", 1)
        for listed in ([*needs, late], [late, *reversed(needs)]):
            decided = decide(on_nodes(*listed, total=[2.0], room=[1.0]))
            assert decided.verdicts["late"].numbers["claimant"] == "first"

    def test_the_app_that_is_named_needs_a_node_on_which_the_driver_has_room(self) -> None:
        """Another one needs a node that is full: the driver does not wait for that."""
        reach = {"first": np.array([True, False]), "second": np.array([False, True])}
        larger, smaller = (
            App(name, "team", 0.0, (group(name, size=size, held=3, constraints=on),), started=True)
            for name, size, on in (("larger", 4.0, "first"), ("smaller", 3.0, "second"))
        )
        world = on_nodes(larger, smaller, driver_app("late", 1), total=[4.0, 3.0], room=[0.0, 2.0], reach=reach)
        decided = decide(world)
        assert decided.verdicts["late"].numbers["claimant"] == "smaller"
        assert {each.app: each.claimant for each in holds(world, decided)}["late"] == "smaller"

    def test_a_driver_goes_where_another_node_is_left(self) -> None:
        """Two such nodes: one is enough."""
        whole = replace(task_app("whole", held=3, size=2.0), started=True)
        decided = decide(on_nodes(whole, driver_app("late", 1), total=[2.0, 2.0], room=[1.0, 0.0]))
        assert released(decided) == ["late/driver/0"]

    def test_two_drivers_of_a_round_do_not_take_both_nodes(self) -> None:
        """What the first one takes counts for the second."""
        whole = replace(task_app("whole", held=3, size=4.0), started=True)
        apps = (whole, driver_app("a", 1), driver_app("b", 2))
        decided = decide(on_nodes(*apps, total=[4.0, 4.0], room=[1.0, 1.0]))
        assert released(decided) == ["a/driver/0"]

    def test_tasks_of_an_app_that_starts_count_for_drivers_alike_that_were_looked_at_before(self) -> None:
        """Apps that ask alike are looked at once, until somebody starts whose tasks need what they would take."""
        large, early, late = driver_app("large", task=4), driver_app("early"), driver_app("late")
        nodes = DriverNodes(on_nodes(large, early, late, total=[4.0, 3.0]))
        assert nodes.bars(early, cpu(1)).barred is None
        nodes.start(large)
        found = nodes.bars(late, cpu(1))
        assert (found.barred is not None and found.barred.tolist()) == [True, False]
        assert [app for app, _ in found.needs] == ["large"]


class TestKeptSizes:
    """Whoever decides round after round hands in what it has measured."""

    def test_an_app_that_changed_is_looked_at_again(self) -> None:
        """Its tasks ask for more than in the round before: they fit only the node that its driver must leave them."""
        kept = AppSizes()
        for task, avoided in ((1.0, ()), (32.0, ("node-1",)), (1.0, ())):
            world = on_nodes(driver_app("app", driver=2, task=task), total=[4.0, 32.0])
            assert [release.avoid for release in decide(world, sizes=kept).releases] == [avoided]

    def test_apps_that_are_gone_are_forgotten(self) -> None:
        """A gatekeeper that runs for months keeps no more than it needs."""
        kept = AppSizes()
        for number in range(400):
            decide(on_nodes(driver_app(f"app{number}"), total=[4.0]), sizes=kept)
        assert kept.count <= 2 + 100 + 1


class TestTasksWithoutAPlace:
    """What can never run beside the drivers there are claims nothing."""

    def test_the_reserve_is_not_kept_for_tasks_that_no_node_could_take(self) -> None:
        """Seeds 119, 182, 219: the budget was kept for ever for an app that its own driver blocks."""
        hopeless = led("hopeless", driver=3, task=8)
        decided = decide(on_nodes(hopeless, driver_app("next", 1, driver=2), total=[8.0], room=[5.0]))
        assert released(decided) == ["next/driver/0"]

    def test_the_reserve_is_not_kept_for_a_task_that_is_larger_than_any_node(self) -> None:
        """Nobody will ever run it: no driver leaves room for one, be it within the budget or into room left over."""
        hopeless = led("hopeless", driver=2, task=100)
        others = [driver_app(f"next-{number}", 1 + number, driver=2, task=2) for number in range(2)]
        decided = decide(on_nodes(hopeless, *others, total=[8.0, 8.0], room=[6.0, 8.0]))
        assert released(decided) == ["next-0/driver/0", "next-1/driver/0"]

    def test_a_driver_all_of_whose_tasks_are_larger_than_any_node_is_refused_and_one_of_some_starts(self) -> None:
        """It starts for the others, as where a task finds no node beside it."""
        lead, huge = group("app", Role.DRIVER, 1.0, held=1), group("app", Role.TASK, 100.0, held=1, stage="huge")
        alone = App("app", "team", 0.0, (lead, huge), has_driver=True)
        both = replace(alone, groups=(lead, huge, group("app", Role.TASK, 1.0, held=1, stage="small")))
        refused = decide(on_nodes(alone, total=[8.0])).verdicts["app"]
        assert (refused.reason, refused.numbers["ask"]) == (WaitReason.INFEASIBLE, 101)
        assert released(decide(on_nodes(both, total=[8.0]))) == ["app/driver/0"]

    @pytest.mark.parametrize("running", [0, 1])
    def test_the_reserve_is_kept_for_the_kinds_that_have_a_place(self, running: int) -> None:
        """8 cores never fit beside the driver, 1 core does, also as long as its own runs."""
        hopeless = led("app", driver=2, task=8)
        other = group("app", Role.TASK, 1.0, held=1 - running, running=running, stage="small")
        both = replace(hopeless, groups=(*hopeless.groups, other))
        left = [6.0 - running]
        decided = decide(on_nodes(both, driver_app("next", 1, driver=2, task=2), total=[8.0], room=left))
        assert released(decided)[-1] == "next/driver/0"

    def test_a_later_stage_claims_nothing_while_an_earlier_one_has_no_place(self) -> None:
        """Seed 411: the second stage would fit, but its turn never comes."""
        groups = (
            group("app", Role.DRIVER, 1.0, running=1, seats=("node-0",)),
            group("app", Role.TASK, 8.0, held=1, stage="first"),
            group("app", Role.TASK, 7.0, held=1, stage="second", level=1, waiting=True),
        )
        stuck = App("app", "team", 0.0, groups, started=True, has_driver=True)
        decided = decide(on_nodes(stuck, driver_app("next", 1, driver=4, task=3), total=[8.0], room=[7.0]))
        assert released(decided) == ["next/driver/0"]

    def test_no_node_is_kept_for_tasks_of_an_app_whose_driver_has_ended(self) -> None:
        """Seed 9141: four tasks were announced, three came, and the driver failed; nobody will make the fourth."""
        ended = (
            group("ended", Role.DRIVER, 2.0, finished=1),
            replace(group("ended", Role.TASK, 8.0, finished=3), expected=4),
        )
        before = App("ended", "team", 0.0, ended, started=True, has_driver=True)
        announced = App("announced", "team", 0.0, ended[:1], started=True, has_driver=True, task_request=cpu(8))
        decided = decide(on_nodes(before, announced, driver_app("next", 1, driver=2), total=[8.0]))
        assert released(decided) == ["next/driver/0"]

    def test_names_the_task_that_its_own_driver_keeps_from_running(self) -> None:
        """It could run if the driver were elsewhere; one that another driver blocks is not named."""
        own, other = led("own", driver=3, task=8), led("other", driver=1, task=8, seat="node-1")
        nodes = DriverNodes(on_nodes(own, total=[8.0]))
        blocked = nodes.in_the_way(own)
        assert blocked is not None
        assert (blocked.request, blocked.together) == (cpu(8), 1)
        assert DriverNodes(on_nodes(own, other, total=[8.0, 2.0])).in_the_way(other) is None

    def test_tasks_that_another_driver_keeps_out_are_told_where_their_own_is_given_up(self) -> None:
        """World 51917: without them its next driver would be let in at once, and be in the way again."""
        one, two = led("one", driver=4, task=7), led("two", driver=2, task=5)
        nodes = DriverNodes(on_nodes(one, two, total=[8.0]))
        assert nodes.in_the_way(two) is None
        kept_out = nodes.unserved(two)
        assert kept_out is not None
        assert kept_out.request == cpu(5)
        assert DriverNodes(on_nodes(two, total=[8.0])).unserved(two) is None


def test_a_third_stage_waits_until_the_second_is_placed() -> None:
    """Seed 350: it sat on the node that the second stage needed, and waited for it."""
    groups = (
        group("app", Role.TASK, 1.0, running=1, stage="a"),
        group("app", Role.TASK, 8.0, held=1, stage="b", level=1, waiting=True),
        group("app", Role.TASK, 1.0, held=1, stage="c", level=2, waiting=True),
    )
    app = App("app", "team", 0.0, groups, started=True)
    decided = decide(on_nodes(app, total=[8.0], room=[7.0]))
    assert released(decided) == []


@pytest.mark.parametrize("strict", [False, True])
def test_a_stage_does_not_start_where_the_one_before_it_never_can(strict: bool) -> None:
    """Seed 90259: its pods held the node for ever, and were given up and made anew again and again."""
    groups = (
        group("app", Role.TASK, 16.0, held=1, stage="a"),
        group("app", Role.TASK, 1.0, held=2, stage="b", level=1, waiting=True),
    )
    app = App("app", "team", 0.0, groups, started=True, strict=strict)
    decided = decide(on_nodes(app, total=[8.0]))
    assert released(decided) == []
    assert decided.verdicts["app"].reason is WaitReason.TOO_LARGE


def test_no_node_is_kept_for_a_driver_that_may_not_take_it() -> None:
    """Seed 90314: the node was emptied for a driver that waited long, and then kept for the tasks of another app."""
    groups = (
        group("dag", Role.TASK, 2.0, held=4, running=2, stage="a"),
        group("dag", Role.TASK, 8.0, held=1, stage="b", level=1, waiting=True),
    )
    dag = App("dag", "team", 0.0, groups, started=True)
    decided = decide(on_nodes(dag, driver_app("whole", -400, driver=8), total=[8.0, 1.0], room=[4.0, 1.0]))
    assert [(release.app, release.group.stage) for release in decided.releases] == [("dag", "a")] * 2
    assert decided.verdicts["whole"].reason is not WaitReason.RELEASED


def test_an_app_whose_driver_was_given_up_starts_after_those_it_was_given_up_for() -> None:
    """Seed 90299: it was back in the room before them, and was given up again and again."""
    waiting = task_app("tasks", 1, held=4, size=2, started=True)
    given_up = driver_app("given-up", driver=5, task=1)
    both = on_nodes(waiting, replace(given_up, behind="tasks"), total=[8.0, 1.0])
    decided = decide(both)
    assert {release.app for release in decided.releases} == {"tasks"}
    assert decided.verdicts["given-up"].reason is WaitReason.BEHIND
    assert "room, for which a driver of this app was given up" in decided.verdicts["given-up"].sentence
    alone = decide(on_nodes(replace(given_up, behind="tasks"), total=[8.0, 1.0]))
    assert released(alone) == ["given-up/driver/0"], "room that nobody else can use is no reason to wait"


def test_a_gang_does_not_overtake_a_single_pod_of_higher_priority() -> None:
    """Seed 380: gangs went before all others."""
    gang = task_app("gang", 0, held=2, size=2, gang=True, started=True)
    high = task_app("high", 1, held=1, size=4, priority=10, started=True)
    decided = decide(on_nodes(gang, high, total=[4.0]))
    assert released(decided) == ["high/task/0"]


def test_a_driver_does_not_start_while_its_task_has_no_place() -> None:
    """Seed 219: daemons left no node for its tasks; it started, was given up as a stall, and started again."""
    world = on_nodes(driver_app("app", driver=1, task=7), total=[8.0, 8.0], room=[6.0, 6.0])
    decided = decide(replace(world, foreign=np.array([[2.0], [2.0]])))
    assert released(decided) == []
    assert decided.verdicts["app"].reason is WaitReason.LAST_NODE


class TestTasksThatRoomDoesNotHelp:
    """Drivers leave them none, be it by sum or node by node: it would lie idle for as long as they wait."""

    def sleeper(self, task: float = 7.0, **more: object) -> App:
        """A driver of 1 core runs; four tasks are held."""
        return led("sleeper", driver=1, task=task, held=4, **more)  # type: ignore[arg-type]

    def asleep(self, cause: str) -> App:
        """… and room is not what they wait for."""
        if cause == "paused":
            return self.sleeper(paused=True)
        return replace(self.sleeper(gang=True, announced=9), submitted=-400.0)

    @pytest.mark.parametrize("cause", ["paused", "its gang is incomplete"])
    @pytest.mark.parametrize("driver", [4.0, 9.0], ids=["by sum", "by node"])
    def test_a_driver_of_another_app_starts(self, cause: str, driver: float) -> None:
        """With 31 of 32 cores idle nobody started for as long as the tasks of one app were paused."""
        new = driver_app("new", 1, driver=driver)
        nodes = {"total": [16.0, 16.0], "room": [15.0, 16.0]}
        assert released(decide(on_nodes(self.asleep(cause), new, **nodes))) == ["new/driver/0"]

    @pytest.mark.parametrize("cause", ["nothing", "its gang is being made", "a release came to nothing"])
    def test_what_goes_soon_keeps_its_room(self, cause: str) -> None:
        """A controller takes a moment to make all pods of a gang; what came to nothing is tried again."""
        gang = {"gang": True, "announced": 5} if cause == "its gang is being made" else {}
        app = self.sleeper(task=7, **gang)
        if cause == "a release came to nothing":
            app = replace(app, groups=(app.groups[0], replace(app.groups[1], pausing=True, tried=True)))
        new = driver_app("new", 1, driver=9)
        world = on_nodes(app, new, total=[16.0, 16.0, 10.0], room=[15.0, 0.0, 0.0])
        assert "new/driver/0" not in released(decide(world))

    def test_tasks_of_a_paused_queue_keep_no_node_from_another_queue(self) -> None:
        """Their app is not paused, but nothing of it goes either."""
        other = replace(queue(20.0, free=19.0), name="other", paused=True)
        sleeper = replace(self.sleeper(task=12), queue="other")
        world = on_nodes(sleeper, driver_app("new", 1, driver=5), total=[16.0, 4.0], room=[15.0, 4.0])
        assert released(decide(replace(world, queues=(*world.queues, other)))) == ["new/driver/0"]

    def test_a_started_gang_that_is_larger_than_all_nodes_keeps_none(self) -> None:
        """Two tasks of it had ended; the next three together never fit, and no driver of the queue started any more."""
        groups = (group("gang", Role.TASK, 4, held=2, finished=2), group("gang", Role.TASK, 0.5, held=1, stage="small"))
        gang = App("gang", "team", 0.0, groups, started=True, gang=True)
        world = on_nodes(gang, driver_app("new", 1, driver=2, task=0.5), total=[8.0])
        assert released(decide(world)) == ["new/driver/0"]

    def test_a_started_gang_whose_stages_fit_one_by_one_keeps_the_nodes_of_the_next(self) -> None:
        """All stages together are more than the nodes have, but they do not run together."""
        groups = (
            group("gang", size=2, running=6, stage="first"),
            group("gang", size=10, held=1, stage="last", level=1, waiting=True),
        )
        gang = App("gang", "team", 0.0, groups, started=True, gang=True, strict=True)
        drivers = [driver_app(name, 1, driver=4, task=0.5) for name in ("one", "two")]
        world = on_nodes(gang, *drivers, total=[10.0, 10.0], room=[4.0, 4.0])
        assert len(released(decide(world))) == 1
