"""When new tasks may come without a gate: nobody waits, nobody asks for more than room, and half of all is free."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slackwater.cycle.appverdicts import Verdict, WaitReason
from slackwater.cycle.podline.opengate import floods, may_open
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.nodetable import NodeTable
from slackwater.resources import Resources
from slackwater.roles import Role

HAVE = Resources(cpu=16.0, memory=64.0)


def nodes(*left: tuple[float, float], takes: tuple[bool, ...] = (), known: bool = True) -> NodeTable:
    """Nodes of 16 cores and 64 units of memory, by what requests leave of each."""
    names = tuple(f"n{number}" for number in range(len(left)))
    total, rest = np.array([HAVE.vector(("cpu", "memory"))] * len(left)), np.array(left, float)
    flags = np.array(takes or [True] * len(left))
    index = {name: row for row, name in enumerate(names)}
    return NodeTable(("cpu", "memory"), names, index, total, rest, rest, flags, rest if known else None)


def app(held: tuple[str, ...] = (), released: int = 0, **said: Any) -> App:
    """An app whose tasks ask for a core and a unit of memory each."""
    group = PodGroup("tasks", Role.TASK, Resources(cpu=1.0, memory=1.0), held=held, released=released)
    return App("team/etl", "team", 0.0, (group,), **said)


def seen(*apps: App, table: NodeTable | None = None, window: int = 200) -> Snapshot:
    """A moment; by default two empty nodes."""
    return Snapshot(0.0, (Queue("default", HAVE),), apps, window=window, nodes=table or nodes((16, 64), (16, 64)))


def test_on_an_empty_cluster_it_may_open() -> None:
    """Nothing to order, nothing to hold back."""
    assert may_open(seen(), (), is_open=False)


def test_somebody_who_waits_closes_it() -> None:
    """Also a driver; one that was just released waits no longer."""
    waiting = seen(app(held=("a", "b")))
    assert not may_open(waiting, {"a"}, is_open=True)
    assert may_open(waiting, {"a", "b"}, is_open=True)


def flood(held: int, gone: int, reason: WaitReason = WaitReason.WINDOW, left: float = 16, window: int = 4) -> bool:
    """Whether it may open after a round that released some of an app's held pods, and said this of the app."""
    pods = tuple(f"p{number}" for number in range(held))
    snapshot = seen(app(held=pods), table=nodes((left, 64), (left, 64)), window=window)
    return may_open(snapshot, {*pods[:gone]}, {"team/etl": Verdict("team/etl", reason, {})}, is_open=False)


def test_whoever_waits_for_a_place_of_the_full_window_waits_for_our_writes_alone() -> None:
    """There is room for all of them, and nothing to order. Of an app of which some go the rest waits as well."""
    assert flood(held=10, gone=4)
    assert flood(held=10, gone=4, reason=WaitReason.RELEASED)


def test_whoever_waits_for_something_else_in_a_flood_closes_it() -> None:
    """For room, for its owner's bound, or for a node that is large enough while others have half of all free."""
    assert not flood(held=10, gone=4, reason=WaitReason.POOL)
    assert not flood(held=10, gone=3)  # the window still had a place
    large = App("team/sort", "team", 0.0, (PodGroup("t", Role.TASK, Resources(cpu=12.0, memory=1.0), held=("a", "b")),))
    said = {"team/sort": Verdict("team/sort", WaitReason.WINDOW, {})}
    full = seen(large, table=nodes(*[(11, 64)] * 8), window=1)
    assert not may_open(full, {"a"}, said, is_open=False)
    assert may_open(replace(full, nodes=nodes(*[(13, 64)] * 8)), {"a"}, said, is_open=False)


def test_what_is_held_is_not_free() -> None:
    """It will take its room: sixteen cores of thirty-two at most."""
    assert flood(held=16, gone=4)
    assert not flood(held=17, gone=4)


def test_a_flood_fills_the_window_and_ends_at_a_quarter_of_it() -> None:
    """So that it does not flutter."""
    assert not floods(seen(app(released=7), window=10), {"a", "b"}, is_open=False)
    assert floods(seen(app(released=8), window=10), {"a", "b"}, is_open=False)
    assert floods(seen(app(released=3), window=10), (), is_open=True)
    assert not floods(seen(app(released=2), window=10), (), is_open=True)


@pytest.mark.parametrize(
    "asking",
    [app(gang=True), app(strict=True), app(paused=True)],
    ids=["gang", "strict DAG", "paused"],
)
def test_an_app_that_asks_for_more_than_room_closes_it(asking: App) -> None:
    """Its further pods must be held, and they may carry no word of it themselves."""
    assert not may_open(seen(asking), (), is_open=True)


@pytest.mark.parametrize(
    ("left", "is_open", "may"),
    [
        (((8, 32), (8, 32)), False, True),
        (((7.9, 64), (8, 64)), False, False),
        (((16, 31), (16, 32)), False, False),
        (((7, 64), (7, 64)), True, True),
        (((6, 64), (6.7, 64)), True, False),
    ],
    ids=["just half", "cores short", "memory short", "stays open", "closes"],
)
def test_half_of_cores_and_memory_must_be_free(left: tuple[tuple[float, float], ...], is_open: bool, may: bool) -> None:
    """As the stock scheduler counts; once open, two fifths are enough, so that it does not flutter."""
    assert may_open(seen(table=nodes(*left)), (), is_open=is_open) is may


def test_what_is_on_its_way_is_not_free() -> None:
    """No node's sums show it yet."""
    assert may_open(seen(app(released=16)), (), is_open=False)
    assert not may_open(seen(app(released=17)), (), is_open=False)


def test_a_scheduler_that_cannot_keep_up_closes_it() -> None:
    """Whoever stands in its line is out of our hands."""
    assert may_open(seen(app(released=10), window=2), (), is_open=False)
    assert not may_open(seen(app(released=11), window=2), (), is_open=False)


def test_closed_nodes_have_nothing_free() -> None:
    """They count in what there is, not in what is left."""
    assert may_open(seen(table=nodes((16, 64), (16, 64), takes=(True, False))), (), is_open=False)
    assert not may_open(seen(table=nodes((15, 64), (16, 64), takes=(True, False))), (), is_open=False)
    assert not may_open(seen(table=nodes((16, 64), takes=(False,))), (), is_open=False)


def test_without_sums_of_requests_it_stays_closed() -> None:
    """Nobody said what is left."""
    assert not may_open(seen(table=nodes((16, 64), known=False)), (), is_open=True)
    assert not may_open(replace(seen(), nodes=None), (), is_open=True)
