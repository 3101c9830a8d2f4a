"""The gatekeeper, behaviour by behaviour: who starts, who goes next, who waits, and what it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App
from slackwater.pools.pools import Category
from slackwater.resources import NOTHING, Resources
from slackwater.roles import Role
from support.builders.nodes import node_table
from support.builders.snapshots import cpu, driver_app, group, pool, queue, released, running_app, snapshot, task_app


class TestAdmission:
    """002: a cap on drivers."""

    def test_admits_as_many_drivers_as_leave_each_room_for_a_task(self) -> None:
        """ADM-01: on C cores with drivers and tasks of one core, half of the cores may hold drivers."""
        apps = [driver_app(f"app{n}", n) for n in range(40)]
        outcome = decide(snapshot(*apps, on=queue(16)))
        assert outcome.started == tuple(f"app{n}" for n in range(8))

    def test_says_the_numbers_of_a_full_budget(self) -> None:
        """The head is told capacity, reservation and charge; the next one who it waits behind."""
        apps = [driver_app(f"app{n}", n) for n in range(3)]
        outcome = decide(snapshot(*apps, on=queue(2)))
        assert outcome.verdicts["app1"].reason is WaitReason.BUDGET
        assert "1 is taken and this driver asks for 1" in outcome.verdicts["app1"].sentence
        assert outcome.verdicts["app2"].sentence == "waits behind app1, which waits for the driver budget"

    def test_the_first_feasible_app_always_starts(self) -> None:
        """With nothing running, an app whose driver and task just fit goes."""
        outcome = decide(snapshot(driver_app("wide", driver=8, task=8), on=queue(16)))
        assert outcome.started == ("wide",)

    def test_an_oversized_app_is_refused_and_blocks_nobody(self) -> None:
        """spark-operator 2512: one app that can never fit must not stop those behind it."""
        outcome = decide(snapshot(driver_app("huge", 0, driver=20), driver_app("next", 1), on=queue(16)))
        assert outcome.verdicts["huge"].refused
        assert outcome.started == ("next",)

    def test_is_infeasible_only_against_the_maximum(self) -> None:
        """Where nodes can be added the head is released towards them, so that an autoscaler sees it."""
        on = queue(16, maximum=cpu(64))
        outcome = decide(snapshot(driver_app("big", driver=20), on=on))
        assert outcome.verdicts["big"].reason is WaitReason.GROWTH
        assert [release.growth for release in outcome.releases] == [True]

    def test_counts_capacity_not_room(self) -> None:
        """Conflict 1: elastic room must not admit drivers that deadlock later."""
        apps = [driver_app(f"app{n}", n) for n in range(40)]
        outcome = decide(snapshot(*apps, on=queue(16, free=1000)))
        assert len(outcome.started) == 8

    def test_a_driver_that_comes_back_keeps_its_seat(self) -> None:
        """A started app whose driver was recreated is charged already and does not queue again."""
        app = replace(driver_app("back"), started=True)
        others = [running_app(f"app{n}", n) for n in range(7)]
        newcomer = driver_app("new", 50)
        outcome = decide(snapshot(app, *others, newcomer, on=queue(16)))
        assert released(outcome) == ["back/driver/0"]
        assert outcome.verdicts["new"].reason is WaitReason.BUDGET

    @pytest.mark.parametrize(("pausing", "reason"), [(False, WaitReason.UNPLACED), (True, WaitReason.NOT_BOUND)])
    def test_a_driver_that_stands_aside_holds_no_budget(self, pausing: bool, reason: WaitReason) -> None:
        """A driver for which placement found no node a moment ago, though one seems to have room, is before nobody."""
        stuck, later = driver_app("stuck", 0), driver_app("later", 1)
        aside = replace(stuck.groups[0], pausing=pausing, unplaceable=not pausing)
        stuck = replace(stuck, groups=(aside,))
        outcome = decide(snapshot(stuck, later, on=queue(2)))
        assert released(outcome) == ["later/driver/0"]
        assert outcome.verdicts["stuck"].reason is reason


class TestHeads:
    """002 the other way round: workers wait for their head."""

    def test_tasks_wait_until_their_driver_is_bound(self) -> None:
        """Kuberay 3592: workers must not fill the cluster before heads run."""
        groups = (group("ray", Role.DRIVER, released=1), group("ray", held=5))
        app = App("ray", "team", 0.0, groups, started=True, has_driver=True)
        outcome = decide(snapshot(app))
        assert released(outcome) == []
        assert outcome.verdicts["ray"].sentence == "its driver is not running yet, and 5 pods have to wait for it"

    def test_executors_that_come_before_their_driver_wait(self) -> None:
        """The framework says there is a driver, even though its pod does not exist yet."""
        app = App("early", "team", 0.0, (group("early", held=2),), started=True, has_driver=True)
        assert decide(snapshot(app)).verdicts["early"].reason is WaitReason.DRIVER

    def test_tasks_that_a_finished_driver_left_behind_go(self) -> None:
        """Nobody is left to wait for; held for ever would be worse."""
        groups = (group("left", Role.DRIVER, finished=1), group("left", held=2))
        app = App("left", "team", 0.0, groups, started=True, has_driver=True)
        assert len(released(decide(snapshot(app)))) == 2

    def test_drivers_go_before_tasks(self) -> None:
        """HST-13: an application master's request wins outright, but for first tasks (decision 0011)."""
        busy = running_app("busy", 0, running=1, held=3)
        outcome = decide(snapshot(busy, driver_app("late", 9), on=queue(16)))
        assert released(outcome)[0] == "late/driver/0"


class TestGangs:
    """All or none."""

    def test_waits_until_all_pods_exist(self) -> None:
        """A gang of four of which three exist holds nothing."""
        app = App("gang", "team", 0.0, (group("gang", held=3, expected=4),), gang=True)
        outcome = decide(snapshot(app))
        assert released(outcome) == []
        assert outcome.verdicts["gang"].sentence == "a gang starts with all of its 4 pods or none; there so far: 3"

    def test_goes_whole_or_not_at_all(self) -> None:
        """Room for three of four releases none."""
        app = task_app("gang", held=4, gang=True)
        assert released(decide(snapshot(app, on=queue(16, free=3)))) == []
        assert len(released(decide(snapshot(app, on=queue(16, free=4))))) == 4

    def test_a_started_gang_larger_than_its_empty_pool_goes_alone(self) -> None:
        """The pool will never be larger; an empty one lets it through, and a busy one is told as the reason."""
        gang = task_app("gang", held=60, demand=60.0, gang=True, started=True, category=Category.SMALL)
        on, pools = queue(100, pool="default"), (pool(100, high=0.1),)
        assert len(released(decide(snapshot(gang, on=on, pools=pools)))) == 60
        busy = App("busy", "team", 0.0, (group("busy", running=1),), started=True, category=Category.SMALL)
        waiting = decide(snapshot(gang, busy, on=on, pools=pools))
        assert waiting.verdicts["gang"].reason is WaitReason.POOL
        assert "asks for 60" in waiting.verdicts["gang"].sentence

    def test_larger_than_the_window_goes_when_nothing_is_on_its_way(self) -> None:
        """Else it would wait for ever."""
        app = task_app("gang", held=10, gang=True)
        assert len(released(decide(snapshot(app, window=5)))) == 10

    @pytest.mark.parametrize("size", [4, 12], ids=["smaller than the window", "larger"])
    @pytest.mark.parametrize("priority", [0, 100])
    def test_places_of_the_window_are_kept_for_a_gang_that_has_room(self, size: int, priority: int) -> None:
        """Each place that comes free would go to a single pod of an endless line, and never all to the gang."""
        gang = task_app("gang", 1, held=size, gang=True, priority=priority)
        line = task_app("line", held=50, started=True)
        going = replace(line, groups=(replace(line.groups[0], released=8),))
        waits = decide(snapshot(going, gang, on=queue(100), window=10))
        assert released(waits) == []
        assert waits.verdicts["gang"].sentence == (
            f"released and not bound yet are 8 pods, and the window allows 10: a gang starts with all of its {size} "
            "pods or none"
        )
        assert waits.verdicts["line"].sentence == (
            "waits behind gang, which waits for the window of released pods to have places for all of it"
        )
        goes = decide(snapshot(line, gang, on=queue(100), window=10))
        assert released(goes)[:size] == list(gang.groups[0].held)

    def test_the_driver_of_a_gang_asks_for_its_own_place_only(self) -> None:
        """Its tasks go after it: until then the window need not hold them."""
        led = App(
            "led", "team", 0.0, (group("led", Role.DRIVER, held=1), group("led", held=9)), gang=True, has_driver=True
        )
        going = App("going", "team", 0.0, (group("going", released=8),), started=True)
        assert released(decide(snapshot(led, going, on=queue(100), window=10))) == ["led/driver/0"]

    def test_no_place_is_kept_from_a_higher_priority_nor_for_a_gang_without_room(self) -> None:
        """Whoever is more urgent goes, and what the gang could not use is nobody's loss."""
        line = task_app("line", held=50, started=True, priority=1)
        going = replace(line, groups=(replace(line.groups[0], released=8),))
        gang = task_app("gang", 1, held=4, gang=True)
        assert len(released(decide(snapshot(going, gang, on=queue(100), window=10)))) == 2
        going = replace(going, priority=0)
        assert len(released(decide(snapshot(going, gang, on=queue(100, free=3), window=10)))) == 2

    def test_a_gang_larger_than_the_window_goes_beside_more_urgent_pods_alone(self) -> None:
        """A trickle of these would keep it for ever, and less urgent ones wait until it has gone."""
        gang = task_app("gang", 1, held=12, gang=True, priority=5)
        for priority, goes in ((9, True), (5, False), (0, False)):
            trickle = App("trickle", "team", 0.0, (group("trickle", released=1),), started=True, priority=priority)
            assert (len(released(decide(snapshot(trickle, gang, on=queue(100), window=10)))) == 12) is goes

    def test_a_gang_of_which_a_part_found_no_node_waits_whole(self) -> None:
        """The others would go without it, and hold their room for nothing."""
        workers, servers = group("mpi", held=2, stage="w"), group("mpi", held=1, stage="s")
        gang = App("mpi", "team", 0.0, (replace(workers, unplaceable=True), servers), gang=True, started=True)
        assert released(decide(snapshot(gang, on=queue(8)))) == []
        assert len(released(decide(snapshot(replace(gang, groups=(workers, servers)), on=queue(8))))) == 3

    def test_those_that_have_ended_are_no_part_of_the_next_try(self) -> None:
        """Failed pods stay: counted, the gang would be larger than the cluster, or look complete with its first pod."""
        ended = replace(group("mpi", held=4), finished=4, expected=4)
        gang = App("mpi", "team", 0.0, (ended,), gang=True, announced=4)
        assert len(released(decide(snapshot(gang, on=queue(4))))) == 4
        first = replace(gang, groups=(replace(ended, held=ended.held[:1]),))
        outcome = decide(snapshot(first, on=queue(4)))
        assert released(outcome) == []
        assert outcome.verdicts["mpi"].reason is WaitReason.GANG


class TestLimits:
    """Window, pause, foreign gates, missing queues."""

    def test_never_releases_more_than_the_window(self) -> None:
        """Released and unbound pods of earlier rounds count."""
        app = running_app("app", held=50)
        busy = App("busy", "team", 0.0, (group("busy", released=3),), started=True)
        assert len(released(decide(snapshot(app, busy, on=queue(100), window=10)))) == 7

    def test_says_when_the_window_is_full(self) -> None:
        """With the numbers."""
        busy = App("busy", "team", 0.0, (group("busy", released=10, held=1),), started=True)
        outcome = decide(snapshot(busy, on=queue(100), window=10))
        assert outcome.verdicts["busy"].sentence == "released and not bound yet are 10 pods; the window allows 10"

    def test_never_releases_more_than_is_free(self) -> None:
        """And says which kind lacks."""
        outcome = decide(snapshot(running_app("app", held=5, size=2), on=queue(16, free=5)))
        assert len(released(outcome)) == 2
        alone = decide(snapshot(running_app("app", held=5, size=2), on=queue(16, free=1)))
        assert "have 1 cpu free in all, and a pod of this app asks for 2" in alone.verdicts["app"].sentence

    def test_pods_that_no_node_can_take_do_not_take_the_turn_of_others(self) -> None:
        """Free in all is not free on one node: what placement refused waits, with that reason, and others go."""
        wide = App("wide", "team", 0.0, (group("wide", held=3, size=4, unplaceable=True),), started=True)
        outcome = decide(snapshot(wide, running_app("thin", 1, held=2), on=queue(16, free=4)))
        assert released(outcome) == ["thin/task/0", "thin/task/1"]
        assert "no single node of queue default has room for 4 cpu" in outcome.verdicts["wide"].sentence

    @pytest.mark.parametrize(
        ("what", "remedy"),
        [
            ("app", "remove slackwater.io/pause from it"),
            ("queue", "remove its annotation slackwater.io/pause and set its spec.state to open"),
        ],
    )
    def test_paused_releases_nothing(self, what: str, remedy: str) -> None:
        """An app by annotation, or a whole queue by annotation or by its specification: each way out is named."""
        app = running_app("app", held=5, paused=what == "app")
        outcome = decide(snapshot(app, on=queue(paused=what == "queue")))
        assert released(outcome) == []
        assert outcome.verdicts["app"].reason is WaitReason.PAUSED
        assert outcome.verdicts["app"].sentence.endswith(f" is paused; to let it go on, {remedy}")

    @pytest.mark.parametrize(
        ("maximum", "remedy"),
        [(None, "add nodes to the queue"), (cpu(16), "raise the queue's maximum")],
        ids=["the nodes are all there is", "a maximum is stated"],
    )
    @pytest.mark.parametrize("kind", ["driver", "gang"])
    def test_what_is_too_large_is_told_what_can_be_raised(
        self, kind: str, maximum: Resources | None, remedy: str
    ) -> None:
        """A maximum that nobody stated cannot be."""
        gang = App("app", "team", 0.0, (group("app", held=20, size=1, expected=20),), gang=True)
        app = gang if kind == "gang" else driver_app("app", driver=12, task=12)
        world = replace(snapshot(app, on=queue(16, maximum=maximum)), nodes=node_table([[16.0]], kinds=("cpu",)))
        said = decide(world).verdicts["app"]
        assert said.refused
        assert said.sentence.endswith(remedy)

    def test_draining_lets_started_apps_finish(self) -> None:
        """Nothing new starts, what runs goes on."""
        outcome = decide(snapshot(running_app("old", held=2), driver_app("new", 1), on=queue(draining=True)))
        assert [uid.split("/")[0] for uid in released(outcome)] == ["old", "old"]
        assert outcome.verdicts["new"].reason is WaitReason.DRAINING

    def test_pods_with_a_foreign_gate_are_left_alone(self) -> None:
        """They are counted and explained, never released."""
        app = App("app", "team", 0.0, (group("app", blocked=3),), started=True)
        outcome = decide(snapshot(app))
        assert released(outcome) == []
        assert outcome.verdicts["app"].reason is WaitReason.FOREIGN

    @pytest.mark.parametrize(
        ("what", "reason"),
        [
            ("elsewhere", WaitReason.ELSEWHERE),
            ("unknown", WaitReason.LOOKED_UP),
            ("stranded", WaitReason.NOT_BOUND),
        ],
    )
    def test_what_else_keeps_pods_from_being_released_has_a_sentence_of_its_own(
        self, what: str, reason: WaitReason
    ) -> None:
        """Nobody else keeps a gate on them; where somebody does on others of the app, that is said first."""
        kept: dict[str, Any] = {what: 3}
        alone, beside = (App("app", "team", 0.0, (group("app", blocked=n, **kept),), started=True) for n in (3, 4))
        said = decide(snapshot(alone)).verdicts["app"]
        assert (said.reason, said.numbers) == (reason, {"count": 3})
        said = decide(snapshot(beside)).verdicts["app"]
        assert (said.reason, said.numbers) == (WaitReason.FOREIGN, {"count": 1})

    def test_an_app_without_a_queue_is_told_so(self) -> None:
        """Its namespace belongs to none."""
        outcome = decide(snapshot(task_app("lost", queue="elsewhere")))
        assert "add it to one" in outcome.verdicts["lost"].sentence

    def test_an_empty_cluster_decides_nothing(self) -> None:
        """Zero capacity, no apps, no queues: no error."""
        on = replace(queue(0), total=NOTHING)
        assert decide(snapshot(on=on)).releases == ()
        assert decide(snapshot(driver_app("app"), on=on)).verdicts["app"].refused
