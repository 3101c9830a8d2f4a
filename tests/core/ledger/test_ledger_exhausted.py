"""Where a kubelet evicts, memory ran out: the floor ends until a sample of memory comes, or none comes in time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.roles import Role
from support.builders.measuring import measure

NODE = NodeSpec("n", (16.0, 64.0), (16.0, 64.0))
EVICTED = PodClaim("p", "n", (1.0, 50.0), (1.0, 50.0), Role.TASK, "app", ClaimState.RUNNING, 0.0)


def ledger_of(*names: str, memory: float = 40.0, allowance: float = 0.875) -> Ledger:
    """Nodes of 64 of memory, of which so much was in use for a long time that no pod asked for."""
    made = Ledger(LedgerConfig(allowance=allowance))
    for name in names:
        made.upsert_node(replace(NODE, name=name))
    for at in (400.0, 800.0, 1200.0):
        sample(made, at, memory, *names)
    return made


def sample(ledger: Ledger, at: float, memory: float, *names: str) -> None:
    """So much memory is in use on these nodes; NaN: nobody can tell."""
    measure(ledger, at, {name: Sample(at, (0.0, memory)) for name in names}, {})


def room(ledger: Ledger, now: float) -> float:
    """Room of memory on the first node, which one row and the table must agree on."""
    table, spot = ledger.table(now), ledger.spot("n", now)
    assert spot is not None
    assert spot.room == pytest.approx(table.room[0].tolist())
    return float(table.room[0, 1])


def crowded(ledger: Ledger, now: float, *names: str) -> list[bool]:
    """Whether the floor of memory has ended on these nodes."""
    return [ledger.explain(name, now)["memory"].crowded for name in names]


@pytest.mark.parametrize("allowance", [0.875, 1.0])
def test_an_eviction_ends_the_floor_whatever_the_node_allows(allowance: float) -> None:
    """Memory ran out also where all of it may be given away. What was measured stays what was measured."""
    ledger = ledger_of("n", allowance=allowance)
    assert room(ledger, 1201.0) == pytest.approx(64.0)
    ledger.evicted(EVICTED)
    assert room(ledger, 1201.0) == pytest.approx(allowance * 64.0 - 40.0)
    assert ledger.explain("n", 1201.0)["memory"].used == pytest.approx(40.0)


def test_an_eviction_ends_the_floor_no_longer_than_samples_of_memory_come() -> None:
    """Nothing would ever lift it: a node on which nothing ran any more took nobody for days."""
    ledger = ledger_of("n", memory=0.0)
    ledger.put(EVICTED)
    measure(ledger, 1600.0, {"n": Sample(1600.0, (1.0, 50.0))}, {"p": (1.0, 50.0)})
    ledger.evicted(EVICTED)
    ledger.remove("p")
    assert room(ledger, 1601.0) < 20.0
    assert crowded(ledger, 1601.0, "n") == [True]
    for late in (5000.0, 100000.0):
        assert room(ledger, late) == pytest.approx(64.0)
        assert crowded(ledger, late, "n") == [False]


def test_only_a_sample_of_memory_brings_the_floor_back() -> None:
    """One of CPU alone says nothing of it."""
    ledger = ledger_of("n")
    ledger.evicted(EVICTED)
    sample(ledger, 1201.0, np.nan, "n")
    assert crowded(ledger, 1201.0, "n") == [True]
    sample(ledger, 1202.0, 40.0, "n")
    assert crowded(ledger, 1202.0, "n") == [False]


def test_an_eviction_is_of_its_node_whichever_nodes_come_and_go() -> None:
    """Rows move up when a node goes, and the last one is used again by the next that comes."""
    ledger = ledger_of("n", "gone", "low")
    ledger.evicted(EVICTED._replace(node="low"))
    ledger.remove_node("gone")
    ledger.upsert_node(replace(NODE, name="new"))
    assert crowded(ledger, 1201.0, "n", "low", "new") == [False, True, False]
    ledger.remove_node("new")
    ledger.remove_node("low")
    ledger.upsert_node(replace(NODE, name="low"))
    assert crowded(ledger, 1201.0, "n", "low") == [False, False]


def test_of_a_kind_that_is_not_measured_nothing_runs_out() -> None:
    """No sample would ever bring the floor back."""
    ledger = Ledger(LedgerConfig(measured=frozenset({"cpu"})))
    ledger.upsert_node(NODE)
    sample(ledger, 1200.0, np.nan, "n")
    ledger.evicted(EVICTED)
    assert crowded(ledger, 1201.0, "n") == [False]
