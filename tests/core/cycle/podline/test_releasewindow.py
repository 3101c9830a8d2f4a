"""Pods that were released in vain take at most half of the window from others, and nobody waits longer for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.audit.recording import decision, record, recorded
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App
from support.builders.snapshots import driver_app, queue, snapshot, task_app

ROOMY = queue(1000)


def tried(app: App) -> App:
    """An app of which every group was released in vain before."""
    return replace(app, groups=tuple(replace(group, tried=True) for group in app.groups))


def on_their_way(name: str, pods: int, namespace: str = "broken", *, again: bool = True, priority: int = 0) -> App:
    """An app of which so many pods are released and not bound."""
    app = task_app(name, held=0, namespace=namespace, started=True, priority=priority)
    app = replace(app, groups=tuple(replace(group, released=pods) for group in app.groups))
    return tried(app) if again else app


def retries(count: int, namespace: str = "broken", *, priority: int = 0) -> list[App]:
    """So many apps of one pod that are to be tried again."""
    apps = (task_app(f"{namespace}{at:03}", namespace=namespace, priority=priority) for at in range(count))
    return [tried(app) for app in apps]


def going(*apps: App, window: int, free: float = 1000.0) -> Counter[str]:
    """Of each app, how many pods go; what is held after it is held for somebody."""
    found = snapshot(*apps, on=queue(1000, free=free), window=window)
    decided = decide(found)
    assert Claim.NOBODY not in {hold.claim for hold in holds(found, decided)}
    return Counter(release.app for release in decided.releases)


class TestOthers:
    """Who goes for the first time."""

    def test_they_find_half_of_a_window_that_is_full_of_retries(self) -> None:
        """These went while nobody else waited."""
        assert going(on_their_way("w", 20), task_app("new", held=50), window=20)["new"] == 10

    def test_they_find_it_also_where_retries_went_first_in_the_same_round(self) -> None:
        """These came before them."""
        gone = going(*retries(50), task_app("new", 10.0, held=50), window=20)
        assert gone["new"] == 10
        assert gone.total() == 30

    @pytest.mark.parametrize("again", [True, False])
    def test_where_retries_have_half_or_less_all_stand_alike(self, again: bool) -> None:
        """Whoever is next gets the next place, and the window is not exceeded."""
        held = task_app("next", held=50)
        assert going(on_their_way("w", 10), tried(held) if again else held, window=20)["next"] == 10

    def test_a_window_of_one_lets_one_go_beside_a_retry(self) -> None:
        """The smallest there is."""
        assert going(on_their_way("w", 1), task_app("new", held=5), window=1)["new"] == 1


class TestRetries:
    """Who was released in vain before."""

    @pytest.mark.parametrize("namespaces", [1, 3])
    def test_while_nobody_else_waits_they_have_the_whole_window(self, namespaces: int) -> None:
        """After an outage of the scheduler all are retries: as many go at once as ever."""
        apps = [app for number in range(namespaces) for app in retries(60, f"n{number}-")]
        assert 40 <= going(*apps, window=40).total() < 40 + namespaces

    def test_those_on_their_way_count(self) -> None:
        """From the round before."""
        assert going(on_their_way("w", 15), *retries(60), window=20).total() == 5

    def test_one_of_each_namespace_goes_whoever_fills_the_window(self) -> None:
        """The others of it wait for the places of those who were before."""
        gone = going(on_their_way("w", 20), *retries(60, "good"), *retries(60, "fine"), window=20)
        assert gone == Counter({"good000": 1, "fine000": 1})

    def test_one_of_higher_priority_does_not_wait_for_another_namespace_while_lower_ones_go(self) -> None:
        """A crowd of its own namespace it waits for."""
        urgent = tried(task_app("urgent", priority=5))
        for namespace, goes in (("broken", True), ("team", False)):
            gone = going(on_their_way("w", 20, namespace), urgent, task_app("new"), window=20)
            assert (gone["urgent"], gone["new"]) == (goes, 1)

    def test_priority_decides_who_gets_the_last_place(self) -> None:
        """A retry before a first try of lower priority, and the other way round."""
        again, new = tried(task_app("again")), task_app("new")
        full = on_their_way("w", 19, again=False)
        assert going(full, replace(again, priority=1), new, window=20) == Counter({"again": 1})
        assert going(full, again, replace(new, priority=1), window=20) == Counter({"new": 1})

    def test_a_driver_is_one_like_any_other(self) -> None:
        """Its budget is tested before."""
        broken = [tried(driver_app(f"b{number}", namespace="broken")) for number in range(30)]
        new = [driver_app(f"new{number}", 10.0) for number in range(30)]
        gone = going(*broken, *new, window=20)
        assert sum(count for app, count in gone.items() if app.startswith("new")) == 10


class TestGangs:
    """All of them or none."""

    def test_a_gang_of_others_finds_half_of_the_window(self) -> None:
        """Whole."""
        gangs = [task_app(name, held=6, gang=True) for name in ("a", "b")]
        assert going(on_their_way("w", 20), *gangs, window=20) == Counter({"a": 6})

    def test_one_that_waits_for_room_takes_nothing(self) -> None:
        """Others behind it are tried at once, be they retries or not."""
        gang = tried(task_app("gang", held=8, size=100.0, gang=True, namespace="broken"))
        gone = going(gang, *retries(5), task_app("new"), window=20, free=700)
        assert gone.total() == 6

    def test_one_that_was_tried_before_stands_like_any_other(self) -> None:
        """It keeps the places that it lacks, and does not wait for pods that are tried again."""
        gang = tried(task_app("gang", held=8, gang=True))
        assert going(on_their_way("w", 20), gang, window=20) == Counter({"gang": 8})
        assert not going(on_their_way("f", 15, again=False), gang, task_app("new", 10.0, held=9), window=20)

    def test_one_of_others_keeps_places_from_all_of_its_priority(self) -> None:
        """It would wait for ever otherwise."""
        gang = task_app("gang", held=15, gang=True)
        assert not going(on_their_way("w", 8), gang, *retries(9), *retries(9, "good"), task_app("new"), window=20)


class TestWords:
    """What is said, and kept."""

    def test_whoever_waits_for_the_window_is_told_how_many_are_on_their_way(self) -> None:
        """Be it a retry or not."""
        found = snapshot(on_their_way("w", 20), *retries(2), task_app("new", held=10), task_app("z", 9.0), on=ROOMY)
        verdicts = decide(replace(found, window=20)).verdicts
        full = "released and not bound yet are 30 pods; the window allows 20"
        assert {verdicts[app].sentence for app in ("broken000", "broken001", "z")} == {full}

    def test_a_recorded_round_is_decided_again_alike(self) -> None:
        """What was tried is recorded."""
        found = snapshot(on_their_way("w", 20), *retries(9), task_app("new", held=50), on=ROOMY, window=20)
        again, then = recorded(record(found, decide(found)))
        assert decision(decide(again)) == then
        assert len(then["releases"]) == 10


@given(
    window=st.integers(1, 40),
    broken=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30)), max_size=6),
    others=st.tuples(st.integers(0, 30), st.integers(0, 40)),
)
def test_nobody_is_held_who_would_go_if_all_were_first_tries(
    window: int, broken: Sequence[tuple[int, int]], others: tuple[int, int]
) -> None:
    """And never more than a window and a half are let go, and one of each namespace."""
    apps = [app for at, (held, _) in enumerate(broken) for app in retries(held, f"n{at}-")]
    apps += [on_their_way(f"w{at}", pods, f"n{at}-") for at, (_, pods) in enumerate(broken) if pods]
    apps += [on_their_way("f", others[0], again=False), task_app("new", held=others[1])]
    gone = going(*apps, window=window)
    fresh = [replace(app, groups=tuple(replace(group, tried=False) for group in app.groups)) for app in apps]
    assert going(*fresh, window=window).total() <= gone.total()
    before = others[0] + sum(pods for _, pods in broken)
    waiting = sum(held > 0 and not pods for held, pods in broken)
    assert sum(gone[app.id] for app in apps if app.groups[0].tried) <= max(0, window - before) + waiting
    assert gone["new"] <= max(0, window - others[0] - min(before - others[0], window // 2))


@given(st.permutations([*retries(6), *retries(6, "good"), task_app("new", held=9), on_their_way("w", 12)]))
def test_the_order_in_which_apps_are_listed_makes_no_difference(apps: Sequence[App]) -> None:
    """Equal snapshots give equal rounds."""

    def gone(listed: Sequence[App]) -> list[str]:
        return [release.uid for release in decide(snapshot(*listed, on=ROOMY, window=14)).releases]

    assert gone(apps) == gone(sorted(apps, key=lambda app: app.id))
