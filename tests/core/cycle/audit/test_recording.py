"""Snapshots and decisions survive being written down."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from slackwater.cycle.audit.recording import KNOWN, decision, jsonable, record, recorded, value
from slackwater.cycle.cycle import decide
from slackwater.cycle.snapshot import App, Order, PodGroup, Pool, Queue, Snapshot
from slackwater.errors import InvalidInput
from slackwater.nodetable import NodeTable
from slackwater.pools.pools import Category
from slackwater.resources import Resources
from slackwater.roles import Role


def table(count: int) -> NodeTable:
    """Empty nodes of 8 cores."""
    names = tuple(f"n{number}" for number in range(count))
    whole = np.full((count, 1), 8.0)
    flags = np.ones(count, bool)
    return NodeTable(("cpu",), names, {n: r for r, n in enumerate(names)}, whole, whole / 3, whole, flags)


def snapshot(nodes: int = 2) -> Snapshot:
    """Two apps, a pool, and numbers with many digits."""
    task = PodGroup("t", Role.TASK, Resources(cpu=1 / 3), held=("a0", "a1"), running=2)
    driver = PodGroup("d", Role.DRIVER, Resources(cpu=0.1, memory=2.0**30), held=("b0",))
    apps = (
        App("a", "team", 0.1, (task,), started=True, category=Category.SMALL, demand=4.0),
        App("b", "team", 7.25, (driver,), has_driver=True, task_request=Resources(cpu=1 / 7)),
    )
    pool = Pool("p", Resources(cpu=1 / 3), tot=24.0, nominal=24.0, releases={Category.LARGE: 1 / 9})
    queue = Queue("default", Resources(cpu=16.0), free=Resources(cpu=5.0), order=Order.FAIR, pool="p")
    return Snapshot(100.0 + 1 / 3, (queue,), apps, (pool,), nodes=table(nodes), reach={"x": np.array([True] * nodes)})


@pytest.mark.parametrize("nodes", [2, 0])
def test_a_snapshot_comes_back_as_it_was(nodes: int) -> None:
    """Through text and back, every digit and every array."""
    before = snapshot(nodes)
    after = value(json.loads(json.dumps(jsonable(before))))
    assert after == before
    assert after.nodes.names == before.nodes.names  # type: ignore[union-attr] # both have nodes
    assert np.array_equal(after.nodes.room, before.nodes.room)  # type: ignore[union-attr]
    assert after.nodes.room.shape == (nodes, 1)
    assert np.array_equal(after.reach["x"], before.reach["x"])


def test_what_was_decided_is_decided_again() -> None:
    """A recorded round holds what is needed to repeat it."""
    seen = snapshot()
    line = json.loads(json.dumps(record(seen, decide(seen))))
    again, then = recorded(line)
    assert decision(decide(again)) == then
    assert then["releases"]


def test_another_decision_is_noticed() -> None:
    """The comparison is not blind: a snapshot without its first app decides otherwise."""
    seen = snapshot()
    _, then = recorded(record(seen, decide(seen)))
    assert decision(decide(replace(seen, apps=seen.apps[1:]))) != then


def test_defaults_are_not_written() -> None:
    """Most fields of most groups are at their default; leaving them out keeps a line short."""
    written = jsonable(PodGroup("t", Role.TASK, Resources(cpu=1.0)))
    assert set(written) == {"@", "key", "role", "request"}


def test_what_is_not_known_is_named() -> None:
    """A class that joins the snapshot must be added here, and the error says where."""
    with pytest.raises(InvalidInput, match="KNOWN"):
        jsonable(object())
    with pytest.raises(InvalidInput, match="--record"):
        recorded({"snapshot": 1})


@pytest.mark.parametrize(
    ("snapshot", "said"),
    [
        pytest.param({"@": "Later"}, "Later", id="class"),
        pytest.param({"@": "PodGroup", "later": 1}, "unexpected keyword argument 'later'", id="field"),
        pytest.param({"@": "amounts", "cpu": math.nan}, "cpu: nan is not usable", id="number"),
    ],
)
def test_what_of_a_round_cannot_be_read_is_told(snapshot: object, said: str) -> None:
    """A recording of another version is one that the operator wrote: to hear that it is none would help nobody."""
    with pytest.raises(InvalidInput, match=f"it cannot be read, perhaps as it is of another version .*{said}"):
        recorded({"snapshot": snapshot, "decision": {}})


def test_every_class_of_a_snapshot_is_known() -> None:
    """Whatever a snapshot is made of can be read back by name."""
    assert {"Snapshot", "App", "PodGroup", "Queue", "Pool", "NodeTable"} <= set(KNOWN)
