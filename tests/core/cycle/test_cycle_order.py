"""The order of held pods, behaviour by behaviour: who goes next, and who waits for others of its app."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.cycle import decide
from slackwater.cycle.podline import candidates
from slackwater.cycle.snapshot import App, Order
from slackwater.pools.pools import Branch, Category
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.snapshots import driver_app, group, pool, queue, released, running_app, snapshot, task_app


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
        ("held", "preference", "first"),
        [(2, True, "late"), (6, True, "early"), (8, True, "early"), (2, False, "early")],
        ids=["less", "the same", "more", "without preference"],
    )
    def test_of_equals_the_app_goes_first_whose_tasks_hold_least(self, held: int, preference: bool, first: str) -> None:
        """Tasks of one app use alike: side by side with others they fill nodes better than one app after the other."""
        apps = running_app("early", 0, running=6, held=4), running_app("late", 5, running=held, held=4)
        outcome = decide(snapshot(*apps, on=queue(16, free=2), preference=preference))
        assert released(outcome) == [f"{first}/task/0", f"{first}/task/1"]

    @pytest.mark.parametrize(("served", "first"), [(0.0, "early"), (701.0, "late"), (None, "early")])
    def test_an_app_that_got_nothing_for_longer_than_patience_waits_for_nobody_who_came_later(
        self, served: float | None, first: str
    ) -> None:
        """One of its tasks never ends, and new apps come for ever: those hold nothing, so they would always be next."""
        early = replace(running_app("early", 0, running=6, held=4), served=served)
        late = replace(running_app("late", 5, held=4), served=999.0)
        outcome = decide(replace(snapshot(early, late, on=queue(16, free=2)), now=1000.0))
        assert released(outcome) == [f"{first}/task/0", f"{first}/task/1"]

    def test_an_app_with_pods_on_their_way_has_its_turn_already(self) -> None:
        """Else, until these are bound, it would go on to take whatever comes free."""
        on_its_way = group("early", running=6, released=1, held=4)
        early = App("early", "team", 0, (on_its_way,), started=True)
        late = replace(running_app("late", 5, held=4), served=999.0)
        outcome = decide(replace(snapshot(early, late, on=queue(16, free=2)), now=1000.0))
        assert released(outcome) == ["late/task/0", "late/task/1"]

    def test_a_driver_that_comes_again_goes_before_new_ones_whatever_its_tasks_hold(self) -> None:
        """Its node was lost, its tasks run and wait for it: behind every new driver it would wait for ever."""
        groups = group("early", Role.DRIVER, 2.0, held=1), group("early", Role.TASK, 1.0, running=6)
        again = App("early", "team", 0, groups, started=True, has_driver=True)
        outcome = decide(snapshot(again, driver_app("new", 10, driver=2.0), on=queue(32, free=2)))
        assert [each.app for each in outcome.releases] == ["early"]

    def test_what_an_app_holds_is_summed_once_however_many_groups_it_has(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Else a round with an app of a thousand different pods would take a million sums, and stop everybody."""
        real, summed = candidates._taken_by_tasks, list[str]()

        def counted(app: App) -> dict[str, float]:
            summed.append(app.id)
            return real(app)

        monkeypatch.setattr(candidates, "_taken_by_tasks", counted)
        groups = [group(f"wide{number}", Role.TASK, 1 + number / 100, running=1, held=1) for number in range(20)]
        decide(snapshot(App("wide", "team", 0, tuple(groups), started=True), on=queue(16, free=2)))
        assert 1 <= len(summed) <= 2  # a round lends what is left in a second line

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
        assert outcome.verdicts["mr"].reason is WaitReason.UNPLACED

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

    def test_a_kind_that_no_open_node_has_is_no_share_of_a_fair_queue(self) -> None:
        """The only node with a GPU is cordoned: who still runs on it would come after everybody until that ends."""
        card = replace(group("a"), request=Resources({"cpu": 1.0, "gpu": 1.0}), running=1)
        mine = App("a", "one", 0.0, (card,), started=True)
        waiting = App("b", "one", 2.0, (group("b", held=2),), started=True)
        other = App("c", "two", 1.0, (replace(group("c", held=9), running=5),), started=True)
        outcome = decide(snapshot(mine, waiting, other, on=queue(8, free=2, order=Order.FAIR)))
        assert [uid.partition("/")[0] for uid in released(outcome)] == ["b", "b"]

    def test_fair_queues_start_apps_by_weighted_share(self) -> None:
        """A namespace of double weight starts two apps for each one of the other."""
        apps = [driver_app(f"{ns}{n}", n, namespace=ns) for ns in "ab" for n in range(10)]
        outcome = decide(snapshot(*apps, on=queue(12, order=Order.FAIR, weights={"b": 2.0})))
        assert sorted(app[0] for app in outcome.started) == ["a", "a", "b", "b", "b", "b"]

    @pytest.mark.parametrize("short", [False, True], ids=["large apps want nothing", "both pools are short"])
    def test_a_fair_queue_is_fair_while_both_pools_are_short(self, short: bool) -> None:
        """Smallest demand first holds inside a namespace: one that has much gets no further ahead by small demands."""
        on = queue(100, free=2, pool="default", order=Order.FAIR)
        rich = running_app("rich", 0, running=30, category=Category.SMALL, namespace="a")
        other = running_app("other", 0, running=66, held=40 * short, category=Category.LARGE, namespace="c")
        waiting = [
            task_app(f"{ns}{n}", n, held=n, demand=float(n), category=Category.SMALL, namespace=ns, gang=True)
            for ns, n in (("a", 1), ("b", 3), ("b", 2))
        ]
        outcome = decide(snapshot(rich, other, *waiting, on=on, pools=(pool(100, 0.3),)))
        assert (outcome.adjustments["default"].branch is Branch.BOTH_SHORT) is short
        assert outcome.started == ("b2",)


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
