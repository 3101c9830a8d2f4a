"""Ledgers for tests: the design's example, ledgers made from lists, and asked as if a pod were not there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from slackwater.estimation.margins import Margin
from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, LedgerConfig, NodeSpec, PodClaim, Sample
from slackwater.nodetable import NodeTable
from slackwater.roles import Role
from support.builders.measuring import measure

# The arithmetic of the paper's room for a kind that is kept back; what margins and the floor add has tests of its own.
KEPT = Margin(allowance=0.875, peak=0.15)
CPU = LedgerConfig(kinds=("cpu",), margins={"cpu": KEPT}, floor=False)
NODE = NodeSpec("n", allocatable=(16.0,), capacity=(16.0,))


def task(uid: str, node: str = "n", **more: object) -> PodClaim:
    """A task that declares 2 and was shrunk to 1."""
    claim = PodClaim(uid, node, (2.0,), (1.0,), Role.TASK, ceiling=(2.0,))
    return claim._replace(**more)  # type: ignore[arg-type]  # any field of the claim


def steady(ledger: Ledger, used: float, pods: dict[str, tuple[float, ...]] | None = None, at: float = 0.0) -> None:
    """Two samples far enough apart for the estimate to have learned all there is."""
    for stamp in (1000.0, 2000.0):
        measure(ledger, at, {"n": Sample(stamp, (used,))}, pods)


def six_tasks() -> Ledger:
    """The node of the design's example, with six tasks that use 0.5 each."""
    ledger = Ledger(CPU)
    ledger.upsert_node(NODE)
    for n in range(6):
        ledger.put(task(f"old-{n}", state=ClaimState.RUNNING, started=0.0))
    steady(ledger, 3.0, {f"old-{n}": (0.5,) for n in range(6)})
    return ledger


def numbers(ledger: Ledger, now: float = 0.0) -> tuple[float, float, float]:
    """E, what can still be placed, and Tot."""
    line = ledger.explain("n", now)["cpu"]
    return line.estimate, line.free, float(ledger.pool_total(now)[0])


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
