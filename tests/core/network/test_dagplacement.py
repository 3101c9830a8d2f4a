"""Placing a level (paper 003): both keys, room, and each task seeing those before it."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.errors import BadNumber
from slackwater.network.dagplacement import Input, Key, LevelNodes, LevelTask, place
from slackwater.network.transfer import Transfers

BOTH = pytest.mark.parametrize("key", list(Key))


def hosts(nodes: int, room: float = 4.0, speed: float = 10.0, *, serial: bool = False) -> LevelNodes:
    """Equal nodes with one kind of room and equal links."""
    return LevelNodes(np.full((nodes, 1), room), np.full((nodes, nodes), speed), np.zeros(nodes), serial)


def chosen(
    level: list[LevelTask], where: LevelNodes, traffic: Transfers | None = None, key: Key = Key.EARLIEST_START
) -> dict[str, int | None]:
    """Task name → node."""
    return {site.task.name: site.node for site in place(level, where, traffic or Transfers(), key)}


@BOTH
def test_roots_spread(key: Key) -> None:
    """Tasks without inputs take the least loaded node in turn."""
    level = [LevelTask(f"t{number}", (1.0,)) for number in range(4)]
    assert chosen(level, hosts(3), key=key) == {"t0": 0, "t1": 1, "t2": 2, "t3": 0}


@BOTH
def test_child_goes_to_its_data(key: Key) -> None:
    """Reading locally beats every transfer."""
    assert chosen([LevelTask("child", (1.0,), (Input(2, 64.0),))], hosts(4), key=key) == {"child": 2}


@BOTH
def test_walk_goes_on_past_a_full_node(key: Key) -> None:
    """The printed step back would never end."""
    where = hosts(3)
    where.room[1] = 0.5
    assert chosen([LevelTask("child", (1.0,), (Input(1, 64.0),))], where, key=key) == {"child": 0}


@BOTH
def test_task_that_fits_nowhere_stays_pending(key: Key) -> None:
    """It is answered with no node, and the others are still placed."""
    sites = place([LevelTask("big", (9.0,), rank=1), LevelTask("small", (1.0,))], hosts(2), Transfers(), key)
    assert [(site.task.name, site.node) for site in sites] == [("big", None), ("small", 0)]


def test_higher_rank_chooses_first() -> None:
    """The last place goes to the more important task."""
    level = [LevelTask("low", (4.0,)), LevelTask("high", (4.0,), rank=5)]
    assert chosen(level, hosts(1)) == {"high": 0, "low": None}


@BOTH
def test_busy_links_are_avoided(key: Key) -> None:
    """Of two otherwise equal nodes the one with less inbound data wins."""
    traffic = Transfers()
    traffic.begin(1, 0, 500)
    assert chosen([LevelTask("root", (1.0,))], hosts(2), traffic, key) == {"root": 1}


def test_placed_inputs_enter_the_traffic() -> None:
    """The next level sees the transfers of this one."""
    traffic, where = Transfers(), hosts(2)
    where.room[0] = 0.0
    place([LevelTask("child", (1.0,), (Input(0, 64.0),))], where, traffic)
    assert traffic.matrix(2).tolist() == [[0, 64], [0, 0]]
    assert where.room.tolist() == [[0.0], [4.0]]  # the caller's arrays stay as they were


def test_serial_hosts_queue_and_earliest_start_weighs_that_against_the_transfer() -> None:
    """Two children of 10 s near the data and one elsewhere: 20 MB over 10 MB/s is quicker than a third turn."""
    level = [LevelTask(f"c{number}", (1.0,), (Input(0, 20.0),), seconds=10.0) for number in range(2)]
    sites = place(level, hosts(2, serial=True), Transfers())
    assert [(site.node, site.start) for site in sites] == [(0, 0.0), (1, 2.0)]


def test_literal_key_prefers_data_to_everything() -> None:
    """That is what makes it slower: both children queue on the node that holds the data."""
    level = [LevelTask(f"c{number}", (1.0,), (Input(0, 20.0),), seconds=10.0) for number in range(2)]
    sites = place(level, hosts(2, serial=True), Transfers(), Key.LITERAL)
    assert [(site.node, site.start) for site in sites] == [(0, 0.0), (0, 10.0)]


def test_unreachable_nodes_come_last_or_not_at_all() -> None:
    """The hard bandwidth test is an option."""
    where = hosts(2, speed=0.0)
    where.room[0] = 0.0
    child = [LevelTask("child", (1.0,), (Input(0, 1.0),))]
    assert place(child, where, Transfers())[0].node == 1
    assert place(child, where, Transfers(), need_bandwidth=True)[0].node is None


def test_no_nodes_and_no_tasks_are_no_error() -> None:
    """Empty in, empty out."""
    nothing = LevelNodes(np.zeros((0, 1)), np.zeros((0, 0)), np.zeros(0))
    assert place([], hosts(2), Transfers()) == []
    assert place([LevelTask("root", (1.0,))], nothing, Transfers())[0].node is None


@pytest.mark.parametrize(
    ("task", "field"),
    [
        pytest.param(LevelTask("t", (float("nan"),)), "t.demand", id="nan-demand"),
        pytest.param(LevelTask("t", (1.0,), (Input(0, float("inf")),)), "t.inputs.size", id="infinite-size"),
        pytest.param(LevelTask("t", (1.0,), (Input(7, 1.0),)), "t.inputs.node", id="unknown-node"),
    ],
)
def test_bad_number_names_task_and_field(task: LevelTask, field: str) -> None:
    """The sentence says which task to mend."""
    with pytest.raises(BadNumber) as caught:
        place([task], hosts(2), Transfers())
    assert caught.value.field == field
