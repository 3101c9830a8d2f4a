"""A ledger rebuilt from lists, and the rows of tables as nodes come and go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.estimation.calibration import ENOUGH
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, Sample
from support.builders.ledgers import CPU, NODE, numbers, rebuilt, six_tasks, task
from support.builders.measuring import measure


def test_a_restart_finds_the_estimate_of_steady_pods_again() -> None:
    """Rebuilt from lists, then one sample: use and the age of containers tell the rest (EST-17)."""
    ledger = six_tasks()
    ledger.put(task("young", state=ClaimState.RUNNING, started=1995.0))
    uses = {f"old-{n}": (0.5,) for n in range(6)} | {"young": (0.5,)}
    again = rebuilt(ledger.nodes, ledger.claims(), CPU)
    assert again.table(0.0).old().all()
    assert numbers(again)[0] == 14.0
    measure(again, 0.0, {"n": Sample(2000.0, (4.5,))}, uses)  # 3.5 of the pods, 1 of the system
    assert numbers(again)[0] == pytest.approx(1.0 + 3.5 + 0.875**5 * 1.5)


def test_restart_without_use_by_pod_is_the_larger_of_use_and_requests() -> None:
    """Nothing is known of the pods: max(U, Σ RR)."""
    again = rebuilt([NODE], six_tasks().claims(), CPU)
    measure(again, 0.0, {"n": Sample(2000.0, (3.0,))})
    assert numbers(again)[0] == 12.0


def test_rows_follow_their_nodes_when_one_goes() -> None:
    """Names, rooms and samples stay together."""
    ledger = Ledger(CPU)
    for name in "abc":
        ledger.upsert_node(replace(NODE, name=name))
    ledger.put(task("p", "c"))
    measure(ledger, 0.0, {"b": Sample(1.0, (5.0,))})
    ledger.remove_node("a")
    table = ledger.table(0.0)
    assert (table.names, dict(table.index)) == (("b", "c"), {"b": 0, "c": 1})
    assert table.room[:, 0].tolist() == [9.0, 12.0]
    assert table.old().tolist() == [False, True]
    assert np.array_equal(table.native[:, 0], [16.0, 15.0])


def test_a_table_given_out_does_not_learn_of_nodes_that_come_later() -> None:
    """Its index would name rows that its arrays do not have; also where a node changed before another came."""
    ledger = Ledger()
    ledger.upsert_node(NodeSpec("a", (4.0, 8.0)))
    first = ledger.table(0.0)
    ledger.upsert_node(NodeSpec("b", (4.0, 8.0)))
    ledger.upsert_node(NodeSpec("c", (4.0, 8.0)))
    second = ledger.table(0.0)
    ledger.upsert_node(NodeSpec("a", (5.0, 8.0)))
    ledger.upsert_node(NodeSpec("d", (4.0, 8.0)))
    ledger.remove_node("b")
    tables = (first, second, ledger.table(0.0))
    assert [list(each.index) for each in tables] == [list(each.names) for each in tables]
    assert [each.names for each in tables] == [("a",), ("a", "b", "c"), ("a", "c", "d")]


def test_what_is_too_young_to_promise_is_so_after_a_restart() -> None:
    """One promise for a hundred nodes is one story, whoever tells it; those of a whole horizon are known again."""
    terms = LedgerConfig(risk=0.01, horizon=120.0)
    ledger, exceeded = Ledger(terms), np.zeros(ENOUGH, np.bool_)
    memory = ledger.risks()["memory"]
    for compared in range(1, memory.least + 1):
        memory.learn(np.linspace(-1.0, 1.0, ENOUGH), exceeded)
        again = Ledger(terms)
        again.remember(ledger.learned())
        assert again.risks()["memory"].young == memory.young == (compared < memory.least)
