"""Reduces start early while the last maps are held, but never so many that these maps find no room (001, 0004)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.cycle.audit.claims import Claim, holds
from slackwater.cycle.cycle import decide
from slackwater.cycle.podline.earlystart import startable
from slackwater.cycle.snapshot import App, PodGroup
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.snapshots import group, snapshot


def map_reduce(maps: PodGroup, reduces: PodGroup, *more: PodGroup, gang: bool = False) -> App:
    """A started app whose driver runs."""
    groups = (group("mr", Role.DRIVER, running=1), maps, reduces, *more)
    return App("mr", "team", 0.0, groups, started=True, has_driver=True, gang=gang)


@pytest.mark.parametrize(
    ("one_map", "one_reduce", "early"),
    [
        ({"cpu": 1.0}, {"cpu": 2.0, "nvidia.com/gpu": 1.0}, 2),  # a kind that no map asks for takes nothing from maps
        ({"cpu": 1.0}, {"memory": 4.0}, 4),  # nothing in common: as large as one map
        ({}, {"cpu": 1.0}, 4),
    ],
    ids=["gpu reduces", "other kinds", "best-effort maps"],
)
@pytest.mark.parametrize("already", [0, 1])
def test_stages_may_ask_for_different_kinds(
    one_map: dict[str, float], one_reduce: dict[str, float], early: int, already: int
) -> None:
    """CPU preprocessing before GPU training; maps without requests."""
    maps = PodGroup("mr/map", Role.TASK, Resources(one_map), ("m",), running=10, finished=80, expected=91, stage="map")
    waiting = PodGroup(
        "mr/reduce", Role.TASK, Resources(one_reduce), ("a", "b", "c", "d"), running=already, stage="r", waiting=True
    )
    app = map_reduce(maps, waiting)
    assert startable(app, waiting) <= early
    assert startable(app, waiting) > 0 or already
    assert decide(snapshot(app)).verdicts["mr"]


def reduces(held: int = 9, size: float = 1.0, running: int = 0, level: int = 0) -> PodGroup:
    """A stage that waits on the maps."""
    return group("mr", size=size, held=held, running=running, stage=f"reduce{level}", waiting=True, level=level)


@pytest.mark.parametrize(
    ("finished", "running", "size", "already", "early"),
    [
        (79, 11, 1.0, 0, 0),  # four fifths have not finished
        (80, 10, 1.0, 0, 4),  # ½ · 0.8 · 10
        (85, 5, 1.0, 0, 2),  # ⌊½ · 0.85 · 5⌋
        (80, 10, 2.0, 0, 2),  # as large as two maps each
        (80, 10, 1.0, 3, 1),  # three run already
        (80, 10, 1.0, 6, 0),  # more than the share
        (90, 0, 1.0, 0, 0),  # no map runs whose room a held one could have
    ],
)
def test_so_many_start_early(finished: int, running: int, size: float, already: int, early: int) -> None:
    """⌊½ · p · O_m − O_r⌋ in units of a map."""
    maps = group("mr", held=100 - finished - running, running=running, finished=finished, expected=100, stage="map")
    app = map_reduce(maps, reduces(size=size, running=already))
    assert startable(app, app.groups[2]) == early


def test_of_each_kind_of_map_that_is_held_one_runs() -> None:
    """What a small map leaves is no room for a large one."""
    small = group("mr", running=10, finished=90, expected=100, stage="map")
    large = group("mr", size=4.0, held=1, stage="map")
    app = map_reduce(small, reduces(), large)
    assert startable(app, app.groups[2]) == 0


def test_later_stages_and_gangs_do_not_start_early() -> None:
    """The second stage waits for the first one; a gang goes whole."""
    maps = group("mr", held=10, running=10, finished=80, expected=100, stage="map")
    app = map_reduce(maps, reduces(level=1), reduces(level=2))
    assert [startable(app, each) for each in app.groups[2:]] == [4, 0]
    assert startable(map_reduce(maps, reduces(), gang=True), reduces()) == 0


def test_a_round_lets_no_more_go_and_nobody_is_held_for_nobody() -> None:
    """Maps first, then the reduces that may start early; the rest waits for the maps of its app, not for nobody."""
    maps = group("mr", held=2, running=10, finished=48, expected=60, stage="map")
    made = snapshot(map_reduce(maps, reduces()))
    decided = decide(made)
    gone = [release.uid for release in decided.releases]
    assert sum("map" in uid for uid in gone) == 2
    assert sum("reduce" in uid for uid in gone) == 4
    assert {each.claim for each in holds(made, decided)} == {Claim.NOT_READY}


@given(
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 40),
    st.integers(0, 20),
    st.integers(0, 20),
    st.floats(0.1, 8),
)
def test_maps_hold_twice_what_reduces_hold(
    finished: int, running: int, held: int, already: int, waiting: int, size: float
) -> None:
    """Whatever starts early, as long as a map is held."""
    app = map_reduce(
        group("mr", held=held, running=running, finished=finished, stage="map"),
        reduces(held=waiting, size=size, running=already),
    )
    early = startable(app, app.groups[2])
    if held and early:
        assert (already + early) * size <= running / 2 + 1e-9
