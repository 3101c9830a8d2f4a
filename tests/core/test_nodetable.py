"""The table of nodes: measured room that ceilings keep from being used."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.resources import Resources
from slackwater.roles import Role
from support.builders.measuring import measure
from support.builders.nodes import node_table


def ledger(tasks: int, use: float) -> Ledger:
    """A node of 16 cores with tasks that declare 2 and were shrunk to 1."""
    made = Ledger(LedgerConfig(kinds=("cpu",), tau0={"cpu": 1.0}))
    made.upsert_node(NodeSpec("n", (16.0,), (16.0,)))
    for number in range(tasks):
        made.put(PodClaim(str(number), "n", (2.0,), (1.0,), Role.TASK, "", ClaimState.RUNNING, 0.0, (2.0,)))
    for stamp in (1000.0, 2000.0):
        measure(made, stamp, {"n": Sample(stamp, (use,))}, {str(number): (use / tasks,) for number in range(tasks)})
    return made


@pytest.mark.parametrize(
    ("tasks", "use", "reach"), [(4, 4.0, 12.0), (14, 2.0, 4.0), (16, 2.0, 0.0)], ids=["room binds", "near", "full"]
)
def test_room_beyond_the_ceiling_is_not_reached(tasks: int, use: float, reach: float) -> None:
    """With 14 tasks 14 of 16 cores are free by measurement, but native requests leave two tasks of 2."""
    assert ledger(tasks, use).table(2000.0).reachable((2.0,)).sum() == pytest.approx(reach)


def test_placing_a_shrunk_pod_leaves_the_whole_as_it_is() -> None:
    """Σ D + what can be reached: 32 of 16 cores at a ceiling of 2, whoever holds how much of it."""
    made = ledger(10, 2.0)
    before = made.declared() + made.table(2000.0).reachable((2.0,)).sum(axis=0)
    made.reserve(PodClaim("new", "n", (2.0,), (1.0,), Role.TASK, ceiling=(2.0,)), expires=3000.0)
    after = made.declared() + made.table(2000.0).reachable((2.0,)).sum(axis=0)
    assert before.tolist() == pytest.approx([32.0])
    assert after.tolist() == pytest.approx(before.tolist())


def test_closed_nodes_declare_nothing() -> None:
    """They are no part of the pools."""
    made = ledger(16, 2.0)
    made.upsert_node(NodeSpec("n", (16.0,), (16.0,), ready=False))
    assert made.declared().tolist() == [0.0]


def test_a_table_holds_what_an_open_node_has_room_for() -> None:
    """Of every kind that is asked for, on one node, and on the rows that count."""
    table = node_table([[4.0, 1.0], [-1.0, 8.0], [9.0, 9.0]], closed=(2,))
    assert table.holds(Resources(cpu=4.0, memory=1.0))
    assert table.holds(Resources(memory=8.0))  # no matter that it is short of CPU
    assert not table.holds(Resources(cpu=4.0, memory=2.0))
    assert not table.holds(Resources(memory=8.0), np.array([True, False, True]))
    assert not table.holds(Resources({"cpu": 1.0, "nvidia.com/gpu": 1.0}))  # a kind that no node has is nowhere
