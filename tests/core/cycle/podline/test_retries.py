"""Pods that were released in vain share a part of the window, and never keep all of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.podline.retries import with_retries_in_turn
from slackwater.cycle.snapshot import App, Snapshot
from support.builders.snapshots import driver_app, queue, running_app, snapshot, task_app

ROOMY = queue(1000)


def tried(app: App) -> App:
    """An app of which every group was released in vain before."""
    return replace(app, groups=tuple(replace(group, tried=True) for group in app.groups))


def on_its_way(name: str, pods: int = 1, namespace: str = "broken") -> App:
    """An app whose pods are tried again just now."""
    app = tried(task_app(name, held=0, namespace=namespace, started=True))
    return replace(app, groups=tuple(replace(group, released=pods) for group in app.groups))


def retries(count: int, namespace: str = "broken", *, size: float = 1.0, paused: bool = False) -> list[App]:
    """So many apps of one pod that are to be tried again, in order of their turn."""
    apps = (task_app(f"{namespace}{at:03}", float(at), size=size, namespace=namespace) for at in range(count))
    return [tried(replace(app, paused=paused)) for app in apps]


def going(found: Snapshot) -> list[str]:
    """The apps of which something is let go, in order."""
    return [release.app for release in decide(with_retries_in_turn(found)).releases]


@pytest.mark.parametrize(("window", "most"), [(200, 50), (20, 5), (5, 1), (2, 1), (1, 1)])
def test_one_namespace_has_a_quarter_of_the_window_for_retries_and_at_least_one_place(window: int, most: int) -> None:
    """Half is for retries of all; of this a namespace alone leaves as much as it takes."""
    assert len(going(snapshot(*retries(100), on=ROOMY, window=window))) == most


def test_those_on_their_way_count() -> None:
    """Of five places three are taken."""
    under_way = [on_its_way(f"w{number}") for number in range(3)]
    assert len(going(snapshot(*under_way, *retries(10), on=ROOMY, window=20))) == 2


def test_untried_pods_get_the_other_places() -> None:
    """They came last."""
    new = [task_app(f"new{number:02}", 1000.0) for number in range(40)]
    gone = going(snapshot(*retries(100), *new, on=ROOMY, window=20))
    assert sum(app.startswith("new") for app in gone) == 15


def test_another_namespace_finds_a_place_at_once() -> None:
    """However many of the first one wait, and were before it."""
    under_way = on_its_way("many", 50)
    late = tried(task_app("late", 5000.0, namespace="team"))
    assert "late" in going(snapshot(under_way, *retries(500), late, on=ROOMY))


def test_whoever_waited_longest_is_tried_first_and_urgent_ones_before() -> None:
    """Turns go by priority, then by the end of the pause."""
    urgent = tried(task_app("urgent", 900.0, namespace="broken", priority=10))
    assert set(going(snapshot(*retries(9), urgent, on=ROOMY, window=8))) == {"urgent", "broken000"}


def test_tasks_are_tried_before_drivers_that_may_wait_for_their_end() -> None:
    """Else drivers that wait for the budget would take the turns of those who hold it."""
    drivers = [tried(driver_app(f"d{number}", namespace="broken")) for number in range(5)]
    started = tried(running_app("runs", 50.0, held=1, namespace="broken"))
    assert going(snapshot(*drivers, started, on=ROOMY, window=4)) == ["runs"]


@pytest.mark.parametrize("kept", ["no node has room", "paused"])
def test_what_cannot_go_takes_no_turn(kept: str) -> None:
    """It stands first, and could not use a place."""
    first = retries(5, size=2000.0) if kept == "no node has room" else retries(5, paused=True)
    assert going(snapshot(*first, tried(task_app("able", 99.0, namespace="broken")), on=ROOMY, window=4)) == ["able"]


def test_drivers_without_a_turn_claim_no_budget() -> None:
    """Eight wait for their turn before five of somebody else, and the budget is for ten."""
    broken = [tried(driver_app(f"b{number}", driver=2.0, task=2.0, namespace="broken")) for number in range(8)]
    good = [driver_app(f"good{number}", 10.0, driver=2.0, task=2.0) for number in range(5)]
    gone = going(snapshot(*broken, *good, on=queue(40), window=16))
    assert sum(app.startswith("good") for app in gone) == 5


def test_a_gang_is_tried_as_a_whole() -> None:
    """Larger than the share: it goes while its namespace has no other retry on its way, and the next one waits."""
    gangs = [tried(task_app(f"gang{number}", float(number), held=8, gang=True)) for number in range(3)]
    assert going(snapshot(*gangs, on=ROOMY, window=10)) == ["gang0"] * 8


def test_it_is_said_that_their_releases_came_to_nothing() -> None:
    """They pause until their turn comes, and the audit knows it."""
    found = with_retries_in_turn(snapshot(*retries(3), on=ROOMY, window=4))
    decided = decide(found)
    assert [decided.verdicts[f"broken00{at}"].reason for at in range(3)] == [
        WaitReason.RELEASED,
        WaitReason.NOT_BOUND,
        WaitReason.NOT_BOUND,
    ]
    assert {hold.claim for hold in holds(found, decided)} == {Claim.NOT_READY}


@given(
    window=st.integers(1, 60),
    counts=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), min_size=1, max_size=12),
)
def test_retries_of_all_never_take_more_than_half_of_the_window(window: int, counts: Sequence[tuple[int, int]]) -> None:
    """Whatever is on its way already: one is let go where none is, and beyond the share none."""
    apps = [app for at, (many, _) in enumerate(counts) for app in retries(many, f"n{at:02}-")]
    apps += [on_its_way(f"w{at}", pods, f"n{at:02}-") for at, (_, pods) in enumerate(counts) if pods]
    before, gone = sum(pods for _, pods in counts), Counter(going(snapshot(*apps, on=ROOMY, window=window)))
    assert before + gone.total() <= max(before, window // 2, 1)
    if not before and any(many for many, _ in counts):
        assert gone


def test_where_nobody_was_tried_nothing_changes() -> None:
    """The same snapshot, not a copy: rounds of a healthy cluster pay nothing."""
    found = snapshot(task_app("a"), driver_app("b"))
    assert with_retries_in_turn(found) is found
