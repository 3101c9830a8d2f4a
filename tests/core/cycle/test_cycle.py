"""The gatekeeper, behaviour by behaviour: who starts, who goes next, who waits, and what it is told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater.cycle.cycle import Round, decide
from slackwater.cycle.snapshot import App, Order
from slackwater.cycle.verdicts import WaitReason
from slackwater.pools.pools import Category
from slackwater.resources import NOTHING
from slackwater.roles import Role
from support.builders.snapshots import (
    cpu,
    driver_app,
    group,
    pool,
    queue,
    running_app,
    snapshot,
    task_app,
)


def released(outcome: Round) -> list[str]:
    """The uids in order of release."""
    return [release.uid for release in outcome.releases]


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


class TestPools:
    """004: small jobs are not trapped behind large ones."""

    def test_a_small_app_passes_a_large_one_that_fills_its_pool(self) -> None:
        """The large pool is full, the small pool is not."""
        large = task_app("large", 0, held=300, demand=300.0)
        small = task_app("small", 1, held=10, demand=10.0)
        running = running_app("old", -1, running=89, demand=90.0)
        outcome = decide(
            snapshot(running, large, small, on=queue(100, free=10, pool="default"), pools=(pool(100),), window=500)
        )
        assert outcome.started == ("small",)
        assert outcome.categories["small"] is Category.SMALL
        assert "large pool" in outcome.verdicts["large"].sentence

    def test_categories_use_nominal_slots(self) -> None:
        """Conflict 2: elastic slots must not change an app's class."""
        app = task_app("app", held=15, demand=15.0)
        for tot in (100.0, 200.0):
            outcome = decide(snapshot(app, on=queue(100, pool="default"), pools=(pool(tot, nominal=100.0),)))
            assert outcome.categories["app"] is Category.LARGE

    def test_small_apps_are_tried_first(self) -> None:
        """Conflict 3: one waiting line per category, one reservation, small first."""
        apps = [driver_app("large", 0, demand=50.0), driver_app("small", 1, demand=2.0)]
        outcome = decide(snapshot(*apps, on=queue(2, pool="default"), pools=(pool(100),)))
        assert outcome.started == ("small",)

    def test_a_driver_whose_pool_is_closed_waits_while_the_other_side_uses_the_room(self) -> None:
        """Conflict 7: both gates; the room goes to the small app, whose pool is open."""
        full = running_app("full", 0, running=90, demand=91.0)
        small = task_app("small", 2, held=9, demand=9.0)
        on = queue(100, free=9, pool="default")
        outcome = decide(snapshot(full, driver_app("late", 1, demand=50.0), small, on=on, pools=(pool(100, 0.05),)))
        assert outcome.verdicts["late"].reason is WaitReason.POOL
        assert {release.app for release in outcome.releases} == {"small"}

    def test_a_closed_pool_holds_nothing_back_that_nobody_else_can_use(self) -> None:
        """The same room with nobody of the other side there."""
        full = running_app("full", 0, running=98, demand=99.0)
        on = queue(1000, free=5, pool="default")
        outcome = decide(snapshot(full, driver_app("late", 1, demand=50.0), on=on, pools=(pool(100, 0.05),)))
        assert outcome.started == ("late",)

    def test_an_owners_bound_is_a_claim_even_while_nobody_waits(self) -> None:
        """A tenth of the slots stays free for small apps to come, because the pool's owner said so."""
        large = running_app("large", 0, running=80, held=50, demand=131.0)
        on, pools = queue(1000, free=19, pool="default"), (pool(100, 0.1, low=0.1),)
        assert len(released(decide(snapshot(large, on=on, pools=pools)))) == 9

    def test_slots_that_come_free_one_by_one_are_not_lent_before_an_app_whose_pool_has_them(self) -> None:
        """One slot is free: the small app's driver takes it, though it needs a task too, not one more large task."""
        large = running_app("large", running=98, held=50)
        small = driver_app("small", 1, demand=2.0)
        on = queue(1000, free=1, pool="default")
        assert released(decide(snapshot(large, small, on=on, pools=(pool(100),)))) == ["small/driver/0"]

    @pytest.mark.parametrize("waited", [10.0, 400.0], ids=["fresh", "longer than patience"])
    def test_an_app_that_lost_patience_is_not_held_back_by_the_room_kept_for_it(self, waited: float) -> None:
        """Its pool is full and a node has room: it starts there, and sooner rather than later if it waited long."""
        full = running_app("full", -500, running=98, demand=99.0)
        late = driver_app("late", -waited, demand=50.0)
        outcome = decide(snapshot(full, late, on=queue(1000, free=5, pool="default"), pools=(pool(100, 0.05),)))
        assert released(outcome) == ["late/driver/0"]

    def test_pods_of_started_apps_stay_inside_their_pool(self) -> None:
        """A started large app may not take the small pool's slots while small apps want them."""
        small = task_app("small", 1, held=10, demand=10.0)
        large = running_app("large", 0, running=80, held=50, demand=131.0)
        outcome = decide(
            snapshot(
                large,
                small,
                on=queue(1000, free=19, pool="default"),
                pools=(pool(100, 0.1, nominal=100.0),),
                window=500,
            )
        )
        per_app = [uid.split("/")[0] for uid in released(outcome)]
        assert per_app.count("small") == 10
        assert 81 + per_app.count("large") <= 90

    def test_slots_promised_to_a_started_app_outside_its_pool_are_a_demand(self) -> None:
        """The border had moved to one slot; a small app that was let in for four gets them back, as far as is fair."""
        small = running_app("small", 1, held=3, demand=4.0, category=Category.SMALL)
        large = running_app("large", 0, running=8, held=20, demand=29.0, category=Category.LARGE)
        outcome = decide(snapshot(large, small, on=queue(1000, free=3, pool="default"), pools=(pool(10.0, 0.1),)))
        assert outcome.adjustments["default"].delta == pytest.approx(0.4)
        assert [uid.split("/")[0] for uid in released(outcome)] == ["small"] * 3

    def test_when_both_pools_are_short_neither_gets_more_than_half_against_the_other(self) -> None:
        """Decision 0003: max-min fair between the two."""
        small = [running_app(f"small{n}", n, held=9, demand=10.0, category=Category.SMALL) for n in range(3)]
        large = running_app("large", 9, held=90, demand=91.0, category=Category.LARGE)
        outcome = decide(snapshot(*small, large, on=queue(1000, pool="default"), pools=(pool(20.0, 0.1),)))
        assert outcome.adjustments["default"].delta == pytest.approx(0.5)

    def test_an_app_of_unknown_size_counts_as_large(self) -> None:
        """Nobody gets a small app's fast lane by saying nothing."""
        outcome = decide(snapshot(driver_app("quiet"), on=queue(16, pool="default"), pools=(pool(100),)))
        assert outcome.categories["quiet"] is Category.LARGE

    def test_estimates_the_wait_from_what_will_be_released(self) -> None:
        """Both need slots that come back after 30 and 60 seconds."""
        full = running_app("full", 0, running=99, demand=100.0)
        waiting = [task_app(f"gang{n}", 1 + n, held=20, demand=20.0, gang=True) for n in range(2)]
        outlook = ((30.0, 20.0), (60.0, 20.0))
        outcome = decide(
            snapshot(
                full, *waiting, on=queue(100, free=0, pool="default"), pools=(pool(100, outlook=outlook),), window=500
            )
        )
        assert [outcome.verdicts[f"gang{n}"].wait for n in range(2)] == [30.0, 60.0]
        assert [outcome.verdicts[f"gang{n}"].position for n in range(2)] == [1, 2]

    def test_an_overdue_gang_is_no_longer_overtaken(self) -> None:
        """Kueue 8309: a gang must not starve behind a stream of smaller ones."""
        full = running_app("full", 0, running=79, demand=80.0)
        gang = task_app("gang", -1000, held=30, demand=30.0, gang=True)
        stream = [task_app(f"quick{n}", -5, held=12, demand=12.0) for n in range(3)]
        on = queue(100, free=20, pool="default")
        outcome = decide(snapshot(full, gang, *stream, on=on, pools=(pool(100),), window=500))
        assert outcome.started == ()
        assert outcome.verdicts["quick0"].numbers["claimant"] == "gang"
        assert "room is kept for gang for another 200 s" in outcome.verdicts["quick0"].sentence

    def test_what_is_assembled_gives_its_room_back_at_its_deadline(self) -> None:
        """A gang that does not come together in one patience lets the others go for the next."""
        full = running_app("full", 0, running=79, demand=80.0)
        gang = task_app("gang", -700, held=30, demand=30.0, gang=True)
        stream = [task_app(f"quick{n}", -5, held=12, demand=12.0) for n in range(3)]
        on = queue(100, free=20, pool="default")
        outcome = decide(snapshot(full, gang, *stream, on=on, pools=(pool(100),), window=500))
        assert len(released(outcome)) == 20


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
        assert "needs 60.0" in waiting.verdicts["gang"].sentence

    def test_larger_than_the_window_goes_when_nothing_is_on_its_way(self) -> None:
        """Else it would wait for ever."""
        app = task_app("gang", held=10, gang=True)
        assert len(released(decide(snapshot(app, window=5)))) == 10


class TestOrder:
    """001 and 003: which pods of started apps go next."""

    def test_higher_priority_goes_first(self) -> None:
        """PriorityClass before everything else."""
        low = running_app("low", 0, held=4)
        high = running_app("high", 5, held=4, priority=10)
        outcome = decide(snapshot(low, high, on=queue(16, free=4)))
        assert [uid.split("/")[0] for uid in released(outcome)] == ["high"] * 4

    def test_the_better_fitting_request_goes_first(self) -> None:
        """FFD-DP: on equal urgency the larger dot product wins."""
        outcome = decide(snapshot(running_app("thin", 0, held=1), running_app("wide", 1, held=1, size=4)))
        assert released(outcome)[0] == "wide/task/0"

    def test_without_preference_the_earlier_app_goes_first(self) -> None:
        """001 switched off: first come, first served, whatever fits better."""
        apps = running_app("thin", 0, held=2), running_app("wide", 1, held=1, size=4)
        assert released(decide(snapshot(*apps, preference=False))) == ["thin/task/0", "thin/task/1", "wide/task/0"]

    @pytest.mark.parametrize(
        ("held", "first"), [(2, ["mr/map/0", "mr/map/1"]), (0, ["mr/reduce/0", "mr/reduce/1"])], ids=["held", "all out"]
    )
    def test_waiting_stages_start_early_but_not_before_the_pods_they_wait_for(
        self, held: int, first: list[str]
    ) -> None:
        """Decision 0004: with half of the maps to come a reduce would sit on their room; once all are out it may go."""
        groups = (
            group("mr", Role.DRIVER, running=1),
            group("mr", held=held, running=2, finished=6, expected=8 + held, stage="map"),
            group("mr", held=3, running=1, expected=4, stage="reduce", waiting=True),
        )
        app = App("mr", "team", 0.0, groups, started=True, has_driver=True)
        assert released(decide(snapshot(app)))[: held or 2] == first
        assert len(released(decide(snapshot(app)))) == (held or 3)

    def test_stages_that_others_wait_for_become_urgent_as_they_proceed(self) -> None:
        """HaSTE rules (i) and (ii) between apps: maps whose reduces hold much go before maps nobody waits for."""
        groups = (
            group("mr", Role.DRIVER, running=1),
            group("mr", held=2, running=2, finished=6, expected=10, stage="map"),
            group("mr", running=4, expected=4, stage="reduce", waiting=True),
        )
        late = App("mr", "team", 9.0, groups, started=True, has_driver=True)
        outcome = decide(snapshot(running_app("early", 0, held=4), late))
        assert released(outcome)[:2] == ["mr/map/0", "mr/map/1"]

    def test_says_that_a_stage_waits_for_the_one_before_it(self) -> None:
        """Where only the reduces are left to explain."""
        groups = (
            group("mr", Role.DRIVER, running=1),
            group("mr", held=1, stage="map", unplaceable=True),
            group("mr", held=3, stage="reduce", waiting=True, level=1),
        )
        app = App("mr", "team", 0.0, groups, started=True, has_driver=True)
        outcome = decide(snapshot(app))
        assert released(outcome) == []
        assert outcome.verdicts["mr"].reason is WaitReason.FRAGMENTED

    def test_strict_dag_stages_wait_for_their_parents(self) -> None:
        """Conflict 5: a strict DAG goes by levels."""
        groups = (
            group("dag", released=1, stage="root"),
            group("dag", held=2, stage="child", level=1),
        )
        app = App("dag", "team", 0.0, groups, started=True, strict=True)
        outcome = decide(snapshot(app))
        assert released(outcome) == []
        assert outcome.verdicts["dag"].sentence == "stage child (level 1) starts once the stages before it are placed"
        placed = replace(app, groups=(group("dag", running=1, stage="root"), groups[1]))
        assert len(released(decide(snapshot(placed)))) == 2

    def test_fair_queues_serve_the_namespace_that_has_least(self) -> None:
        """DRF between namespaces, at the release of pods too."""
        rich = running_app("rich", 0, running=6, held=9, namespace="a")
        poor = running_app("poor", 1, held=9, namespace="b")
        outcome = decide(snapshot(rich, poor, on=queue(32, free=5, order=Order.FAIR)))
        assert [uid.split("/")[0] for uid in released(outcome)] == ["poor"] * 5

    def test_fair_queues_start_apps_by_weighted_share(self) -> None:
        """A namespace of double weight starts two apps for each one of the other."""
        apps = [driver_app(f"{ns}{n}", n, namespace=ns) for ns in "ab" for n in range(10)]
        outcome = decide(snapshot(*apps, on=queue(12, order=Order.FAIR, weights={"b": 2.0})))
        assert sorted(app[0] for app in outcome.started) == ["a", "a", "b", "b", "b", "b"]


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
        assert "have 1 cpu free in all, a pod of this app asks for 2" in alone.verdicts["app"].sentence

    def test_pods_that_no_node_can_take_do_not_take_the_turn_of_others(self) -> None:
        """Free in all is not free on one node: what placement refused waits, with that reason, and others go."""
        wide = App("wide", "team", 0.0, (group("wide", held=3, size=4, unplaceable=True),), started=True)
        outcome = decide(snapshot(wide, running_app("thin", 1, held=2), on=queue(16, free=4)))
        assert released(outcome) == ["thin/task/0", "thin/task/1"]
        assert "no single node of queue default has room for 4 cpu" in outcome.verdicts["wide"].sentence

    @pytest.mark.parametrize("what", ["app", "queue"])
    def test_paused_releases_nothing(self, what: str) -> None:
        """An app or a whole queue, by annotation."""
        app = running_app("app", held=5, paused=what == "app")
        outcome = decide(snapshot(app, on=queue(paused=what == "queue")))
        assert released(outcome) == []
        assert outcome.verdicts["app"].reason is WaitReason.PAUSED

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

    def test_an_app_without_a_queue_is_told_so(self) -> None:
        """Its namespace belongs to none."""
        outcome = decide(snapshot(task_app("lost", queue="elsewhere")))
        assert "add it to one" in outcome.verdicts["lost"].sentence

    def test_an_empty_cluster_decides_nothing(self) -> None:
        """Zero capacity, no apps, no queues: no error."""
        on = replace(queue(0), total=NOTHING)
        assert decide(snapshot(on=on)).releases == ()
        assert decide(snapshot(driver_app("app"), on=on)).verdicts["app"].refused


def test_the_first_task_of_a_running_driver_goes_before_new_drivers() -> None:
    """Room for one pod: a driver that runs without a task would else wait while others take what it waits for."""
    waiting = running_app("old", 0.0, held=2, size=2.0, driver=2.0)
    new = driver_app("new", 1.0, driver=2.0, task=2.0)
    decided = decide(snapshot(waiting, new, on=queue(16, free=2)))
    assert [release.app for release in decided.releases] == ["old"]


def test_drivers_go_before_further_tasks() -> None:
    """Whoever has a task running makes progress: a new app may start beside it."""
    going = running_app("old", 0.0, running=1, held=2, size=2.0, driver=2.0)
    new = driver_app("new", 1.0, driver=2.0, task=2.0)
    decided = decide(snapshot(going, new, on=queue(16, free=2)))
    assert [release.app for release in decided.releases] == ["new"]
