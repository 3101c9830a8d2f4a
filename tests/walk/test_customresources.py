"""Whatever is written into custom resources, operator and extender come to where a fresh start does (`make walk`)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from slackwater_operator.cache.snapshot import take_snapshot
from support.logs import quietly
from support.walk.moves import wander
from support.walk.programs import Pair
from support.walk.values import Path, Value, values
from support.walk.walk import CONFIGURED, WRITTEN, Walk


@pytest.fixture
def walk() -> Iterator[Walk]:
    """A loaded cluster under both programs."""
    loop = asyncio.new_event_loop()
    with quietly():
        yield Walk(loop)
    loop.close()


def by_field(kind: str, part: str = "spec") -> dict[Path, list[Value]]:
    """All values of each field."""
    found: dict[Path, list[Value]] = {}
    for each in values(kind, part):
        found.setdefault(each.path, []).append(each)
    return found


@pytest.mark.parametrize("kind", CONFIGURED)
def test_every_field_is_followed_and_nonsense_leaves_the_last_good(walk: Walk, kind: str) -> None:
    """All values of each field under load; after each field the state is that of a fresh start."""
    for path, each in by_field(kind).items():
        refused = [value for value in each if not value.meant]
        for value in refused:
            walk.refuse(kind, value)
        walk.start_with(kind, refused[0])
        for value in each:
            if value.meant:
                walk.allow(kind, value)
                walk.running.step()
        walk.go(".".join(path))


@pytest.mark.parametrize(("kind", "part"), WRITTEN, ids=lambda each: each)
def test_nobody_stumbles_over_what_others_wrote_for_the_operator(walk: Walk, kind: str, part: str) -> None:
    """One value that is allowed and one that is not, in each field: the watchers go on, and so does a new leader."""
    for each in by_field(kind, part).values():
        walk.write(kind, part, next(value for value in reversed(each) if value.meant))
        walk.write(kind, part, next(value for value in each if not value.meant))


@pytest.mark.parametrize("seed", [2, 26])
def test_objects_come_and_go_under_load(walk: Walk, seed: int) -> None:
    """Modes, pools, queues and labels change in any order; after each the state is that of a fresh start."""
    wander(walk, seed, 10)


def test_a_pool_deleted_while_apps_run_in_it_is_forgotten(walk: Walk) -> None:
    """One that is made again under its name begins at its own share, not where the border stood before."""
    walk.store.remove("ReservationPool", "default")
    walk.go("pool deleted")
    walk.store.apply("ReservationPool", "default", spec={"queue": "default", "delta": {"initial": 0.6}})
    assert take_snapshot(walk.running.cache, walk.store.now, None).pools[0].delta == 0.6
    walk.go("pool made again")


def test_a_fresh_start_does_not_know_what_a_broken_policy_said_before(walk: Walk) -> None:
    """The one difference that is meant: the running programs enforce on, a new leader holds nothing."""
    walk.store.apply("SlackPolicy", "default", spec={"mode": "perhaps"})
    assert walk.running.holds("team-a")
    assert not Pair(walk.store, walk.loop).holds("team-a")
