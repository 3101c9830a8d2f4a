"""Ledgers for tests: made from lists, and asked as if a pod were not there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import LedgerConfig, NodeSpec, PodClaim
from slackwater.nodes import NodeTable


def rebuilt(nodes: Iterable[NodeSpec], claims: Iterable[PodClaim], config: LedgerConfig | None = None) -> Ledger:
    """A ledger from what the API lists. Stale, so without overcommit, until each node's first sample."""
    ledger = Ledger(config)
    for node in nodes:
        ledger.upsert_node(node)
    for claim in claims:
        ledger.put(claim)
    return ledger


def table_without(ledger: Ledger, uid: str, now: float) -> NodeTable:
    """The table as if this pod were not there: a pod asked about again does not count itself."""
    table, claim = ledger.table(now), ledger.claim(uid)
    spot = ledger.spot(claim.node, now, uid) if claim else None
    if claim is None or spot is None:
        return table
    room, native = table.room.copy(), table.native.copy()
    row = table.index[claim.node]
    room[row], native[row] = spot.room, spot.native
    return replace(table, room=room, native=native)


def changed(ledger: Ledger, uid: str, **fields: Any) -> None:
    """The watch shows a pod that differs in some fields of its claim."""
    claim = ledger.claim(uid)
    assert claim is not None
    ledger.put(claim._replace(**fields))
