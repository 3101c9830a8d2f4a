"""The gatekeeper with reservation pools: two sides, a border, and who may use what of the other."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest

from slackwater.cycle import queuepass
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App
from slackwater.pools.pools import Category
from support.builders.snapshots import driver_app, group, pool, queue, released, running_app, snapshot, task_app


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

    def test_a_side_without_a_running_task_runs_what_can_go_whatever_its_owner_keeps(self) -> None:
        """A bound leaves the side less than one map. Its reduces are smaller, but they wait for the maps."""
        maps, reduces = group("app", size=6, held=4, stage="m"), group("app", size=1, held=2, stage="r", waiting=True)
        app = App("app", "team", 0.0, (maps, replace(reduces, level=1)), category=Category.LARGE)
        on, pools = queue(8, pool="default"), (pool(8, 0.5, low=0.5),)
        for started in (True, False):
            assert released(decide(snapshot(replace(app, started=started), on=on, pools=pools))) == ["app/m/0"]

    def test_a_driver_that_must_wait_does_not_measure_what_its_side_may_run(self) -> None:
        """Drivers hold all that the bound leaves to large apps: a task goes, though a driver would ask for less."""
        apps = [running_app(f"app{n}", n, held=4, size=2, category=Category.LARGE) for n in range(3)]
        waiting = driver_app("late", 9, driver=1, task=2, category=Category.LARGE)
        on, pools = queue(16, free=13, pool="default"), (pool(16, 0.8, low=0.8),)
        assert released(decide(snapshot(*apps, waiting, on=on, pools=pools)))[:1] == ["app0/task/0"]

    def test_the_more_urgent_task_goes_first_beyond_a_bound(self) -> None:
        """Though one of lower priority would ask for less."""
        apps = [task_app(f"p{n}", held=2, size=4 - n, priority=1 - n, started=True) for n in range(2)]
        apps = [replace(app, category=Category.LARGE) for app in apps]
        on, pools = queue(16, pool="default"), (pool(16, 0.9, low=0.9),)
        assert released(decide(snapshot(*apps, on=on, pools=pools))) == ["p0/task/0"]

    def test_a_bound_is_told_with_what_pods_hold(self) -> None:
        """Three drivers and a task hold five cores of the 3.2 that the bound leaves; no less are said to be taken."""
        busy = running_app("busy", running=1, size=2, category=Category.LARGE)
        apps = [running_app(f"app{n}", n, held=4, size=2, category=Category.LARGE) for n in range(2)]
        on, pools = queue(16, free=11, pool="default"), (pool(16, 0.8, low=0.8),)
        said = decide(snapshot(busy, *apps, on=on, pools=pools)).verdicts["app0"].sentence
        assert said == "bounds of delta leave large apps 3.2 cpu of 16: 5 is taken and this app asks for 2"

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

    @pytest.mark.parametrize(("priority", "goes"), [(10, "late"), (0, "low")])
    def test_what_nobody_can_use_goes_to_a_waiting_app_before_pods_of_lower_priority(
        self, priority: int, goes: str
    ) -> None:
        """The pool's slots are promised to tasks that fit nowhere now; the one core that is free serves one task."""
        wide = running_app("wide", 0, held=1, size=5, demand=6.0, priority=10, category=Category.LARGE)
        low = running_app("low", 0, running=5, held=3, demand=9.0, category=Category.LARGE)
        late = task_app("late", 9, held=1, priority=priority, category=Category.LARGE)
        outcome = decide(snapshot(wide, low, late, on=queue(1000, free=1, pool="default"), pools=(pool(10.0),)))
        assert released(outcome) == [f"{goes}/task/0"]

    @pytest.mark.parametrize(("apps", "pods"), [(1, 1), (2, 1), (4, 1), (1, 4)])
    def test_apps_that_go_before_others_of_their_pool_take_nothing_of_the_other_one(self, apps: int, pods: int) -> None:
        """Two slots of either side are free: two large tasks go within the border, whoever they belong to."""
        wide = running_app("wide", 0, held=1, size=50, demand=51.0, priority=10, category=Category.LARGE)
        low = running_app("low", 0, running=6, held=10, demand=40.0, category=Category.LARGE)
        small = running_app("small", 1, running=7, held=10, demand=18.0, category=Category.SMALL)
        late = [task_app(f"late{n}", 9, held=pods, priority=10, category=Category.LARGE) for n in range(apps)]
        on, pools = queue(1000, free=4, pool="default"), (pool(20.0, 0.5),)
        gone = released(decide(snapshot(wide, low, small, *late, on=on, pools=pools)))
        assert [uid.split("/")[0] for uid in gone].count("small") == 2
        assert [uid for uid in gone if uid.startswith("late")] == [
            each.groups[0].held[number] for each in late for number in range(pods)
        ][:2]

    def test_what_waits_of_such_an_app_goes_beyond_the_border_before_pods_of_lower_priority(self) -> None:
        """Of its four tasks three go within the border, and the last into the slot that small apps cannot use."""
        wide = running_app("wide", 0, held=1, size=50, demand=51.0, priority=10, category=Category.LARGE)
        low = running_app("low", 0, running=6, held=10, demand=40.0, category=Category.LARGE)
        small = running_app("small", 1, running=7, held=1, demand=9.0, category=Category.SMALL)
        late = task_app("late", 9, held=4, priority=10, category=Category.LARGE)
        on, pools = queue(1000, free=6, pool="default"), (pool(20.0, 0.5),)
        gone = released(decide(snapshot(wide, low, small, late, on=on, pools=pools)))
        assert gone == [*late.groups[0].held[:3], "small/task/0", late.groups[0].held[3], "low/task/0"]

    @pytest.mark.parametrize("bounds", [{"low": 0.6}, {"low": 0.0}], ids=["its owner", "nobody"])
    def test_no_line_is_made_of_apps_to_which_a_full_pool_leaves_nothing(self, bounds: dict[str, float]) -> None:
        """Thousands may wait for it; whether its owner keeps the room or the border does, each is looked at once."""
        low = running_app("low", 0, running=60, held=10, demand=90.0, category=Category.LARGE)
        wide = running_app("wide", 0, held=1, size=50, demand=400.0, priority=99, category=Category.LARGE)
        late = [task_app(f"late{n}", 9, held=2, priority=10, category=Category.LARGE) for n in range(20)]
        small = running_app("small", 1, running=30, held=9, demand=40.0, category=Category.SMALL)
        on, pools = queue(1000, free=4, pool="default"), (pool(97.0, 0.6, **bounds),)
        with patch("slackwater.cycle.queuepass._line", side_effect=queuepass._line) as made:
            gone = released(decide(snapshot(wide, low, small, *late, on=on, pools=pools)))
        assert [uid.split("/")[0] for uid in gone].count("small") == 4
        assert made.call_count == 1

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
