"""When new tasks may come without a gate: nobody waits, nobody asks for more than room, and half of all is free."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slackwater.cycle.podline.opengate import may_open
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
