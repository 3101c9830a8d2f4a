"""Placements and binds: what is on its way counts, until it comes true, lapses or goes elsewhere."""

from __future__ import annotations

from dataclasses import replace

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState
from support.builders.ledgers import CPU, NODE, changed, task


def test_placements_expire_unless_they_come_true() -> None:
    """An answer nobody used gives its room back; a bind stops the clock."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    for uid in ("lost", "bound"):
        assert ledger.reserve(task(uid), expires=60.0)
    changed(ledger, "bound", node="n", state=ClaimState.BOUND)
    assert ledger.expire(59.0) == []
    assert [claim.uid for claim in ledger.expire(60.0)] == ["lost"]
    assert ledger.table(60.0).room[0, 0] == 12.0
    assert not ledger.reservations()


def test_a_bound_pod_is_not_placed_again() -> None:
    """A late answer must not undo what the API says."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(task("p"))
    assert not ledger.reserve(task("p", "elsewhere"), expires=60.0)
    assert ledger.claim("p") == task("p")


def test_terminating_pods_are_charged_until_gone() -> None:
    """Their memory is still there."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(task("p"))
    changed(ledger, "p", state=ClaimState.TERMINATING)
    assert ledger.table(0.0).room[0, 0] == 12.0
    assert ledger.remove("p") is not None
    assert ledger.remove("p") is None
    assert ledger.table(0.0).room[0, 0] == 14.0


def test_a_pod_bound_elsewhere_takes_its_charge_along() -> None:
    """The nominated node was taken by someone else."""
    ledger = Ledger(CPU)
    for name in ("n", "m"):
        ledger.upsert_node(replace(NODE, name=name))
    ledger.reserve(task("p"), expires=60.0)
    changed(ledger, "p", node="m", state=ClaimState.BOUND)
    assert ledger.table(0.0).room[:, 0].tolist() == [14.0, 12.0]


def test_a_resize_counts_at_once() -> None:
    """In place, without a restart."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    ledger.put(task("p"))
    changed(ledger, "p", declared=(6.0,), native=(3.0,))
    table = ledger.table(0.0)
    assert (table.room[0, 0], table.native[0, 0]) == (8.0, 13.0)
