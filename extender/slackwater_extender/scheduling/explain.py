"""Numbers behind decisions, in words and in arithmetic, for people and for the operator. Read-only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater.ledger.room import RoomLine
from slackwater.ledger.types import PodClaim
from slackwater.resources import Kinds
from slackwater_cluster.watch.records import NodeRecord, PodRecord
from slackwater_extender.cache import claims
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.scheduling.examine import NodeFits, PodContext, case, examine, named

if TYPE_CHECKING:
    from slackwater_extender.components import Components

SLICE = 100  # nodes per hold of the lock
SHOWN = 10  # nodes listed in an explanation


def nodes(books: ClusterCache, selector: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every node in short, in slices of the lock."""
    return [_short(name, books.nodes[name], lines) for name, lines in lines_of(books, selector)]


def lines_of(
    books: ClusterCache, selector: Mapping[str, str] | None = None
) -> Iterator[tuple[str, Mapping[str, RoomLine]]]:
    """The arithmetic of every selected node; the lock is free between slices, so that no /filter waits for all."""
    chosen = selector or {}
    with books.lock.patiently():
        names = [name for name, record in books.nodes.items() if _selected(record, chosen)]
    for some in _slices(names):
        with books.lock.patiently():
            now = books.clock()
            lines = [(name, books.ledger.explain(name, now)) for name in some if name in books.nodes]
        yield from lines


def _short(name: str, record: NodeRecord, lines: Mapping[str, RoomLine]) -> dict[str, Any]:
    return {
        "name": name,
        "open": record.open,
        "stale": any(line.stale for line in lines.values()),
        **{
            field: {kind: getattr(line, field) for kind, line in lines.items()}
            for field in ("allocatable", "allowed", "declared", "native", "used", "estimate", "drivers", "room")
        },
    }


def node(books: ClusterCache, name: str) -> dict[str, Any]:
    """One node's whole ledger: the arithmetic and the pods. Call with the lock held."""
    record, lines = books.nodes[name], books.ledger.explain(name, books.clock())
    return {
        "name": name,
        "open": record.open,
        "ready": record.ready,
        "cordoned": record.cordoned,
        "labels": dict(record.labels),
        "resources": {kind: {**asdict(line), "arithmetic": arithmetic(line)} for kind, line in lines.items()},
        "pods": [_claimed(books, claim) for claim in books.ledger.claims() if claim.node == name],
    }


def _claimed(books: ClusterCache, claim: PodClaim) -> dict[str, Any]:
    record = books.index.pods.get(claim.uid)
    return {
        "uid": claim.uid,
        "pod": record.key if record else "",
        "state": claim.state,
        "role": claim.role,
        "app": claim.app,
        "managed": claim.managed,
        "declared": named(books.kinds, claim.charged),
        "native": named(books.kinds, claim.native),
    }


def arithmetic(line: RoomLine) -> str:
    """Room = min(AR, NC) − E − drivers, with the numbers in place."""
    basis = "reservations, samples are stale" if line.stale else "learned from samples and what is believed of requests"
    return (
        f"room {line.room:.6g} = min(allowed {line.allowed:.6g}, real {line.real:.6g})"
        f" − estimate {line.estimate:.6g} − drivers {line.drivers:.6g}; the estimate rests on {basis}"
        f" (used {line.used:.6g}, learned {line.learned:.6g}, residual {line.residual:.6g},"
        f" known {line.known:.6g}, reserved {line.reserved:.6g})"
    )


def capacity(books: ClusterCache, selector: Mapping[str, str]) -> dict[str, Any]:
    """Sums over open, selected nodes. Call with the lock held."""
    table = books.ledger.table(books.clock())
    chosen = table.open.copy()
    if selector:
        chosen &= np.fromiter((_selected(books.nodes[name], selector) for name in table.names), np.bool_, len(table))
    kinds = books.kinds
    sums = {
        "allocatable": table.total,
        "room": np.maximum(table.room, 0.0),
        "native_free": np.maximum(table.native, 0),
        # What task pods could still take: the ceilings may keep room from being used.
        "reachable": table.reachable(claims.overcommit(books.governance, kinds)),
    }
    return {
        "kinds": kinds,
        "nodes": int(chosen.sum()),
        "stale_nodes": int((table.stale & chosen).sum()),
        **{name: named(kinds, array[chosen].sum(axis=0).tolist()) for name, array in sums.items()},
        # Tot of the pools: Σ declared of placed pods + room, over all open nodes.
        "pool_total": named(kinds, books.ledger.pool_total(books.clock()).tolist()),
        "provisional": books.ledger.provisional,
    }


def rooms(books: ClusterCache) -> dict[str, Any]:
    """Every node's room as arrays, node × kind, for the operator's rounds. Call with the lock held; arrays stay."""
    table = books.ledger.table(books.clock())
    return {
        "kinds": books.kinds,
        "ceiling": claims.overcommit(books.governance, books.kinds),
        "names": table.names,
        "open": table.open,
        "stale": table.stale,
        "total": table.total,
        "room": table.room,
        "native": table.native,
        "requested": table.requested,
    }


def pod(parts: Components, namespace: str, name: str) -> dict[str, Any] | None:
    """Why a pod waits, or why it is where it is; None if there is no such pod."""
    books = parts.books
    with books.lock:
        record = books.pod_named(namespace, name)
        if record is None:
            return None
        found = case(books, record)
        made = _about(books, record, found)
        if found.ours and not record.node and not record.done:
            made["now"] = _now(found, examine(books, found, list(books.nodes)), books.kinds)
    refused = parts.waiting.get(record.uid)
    made["refused_since"] = refused.since if refused else None
    made["decisions"] = [asdict(each) for each in parts.ring.latest(namespace=namespace, pod=name, limit=SHOWN)]
    made["sentence"] = sentence(record, found, made.get("now"))
    return made


def _about(books: ClusterCache, record: PodRecord, found: PodContext) -> dict[str, Any]:
    claim = books.ledger.claim(record.uid)
    return {
        "pod": record.key,
        "uid": record.uid,
        "ours": found.ours,
        "mode": found.mode.value if found.ours else "",
        "app": found.app,
        "driver": found.driver,
        "phase": record.phase,
        "node": record.node,
        "nominated": record.nominated,
        "gates": record.gates,
        "parked": record.parked,
        "refusal": found.refusal.value if found.refusal else "",
        "declared": dict(record.declared),
        "native": dict(record.native),
        "charged_on": claim.node if claim else "",
        "charge_state": claim.state.value if claim else ("charge" if record.uid in books.charges else ""),
    }


def _now(found: PodContext, findings: NodeFits, kinds: Kinds) -> dict[str, Any]:
    return {
        "fitting": findings.fitting,
        "nodes": findings.asked,
        "counts": findings.counts(),
        "best": [
            {"node": each.name, "score": each.score, "room": named(kinds, each.room)} for each in findings.best(SHOWN)
        ],
        "shortlist": found.policy.score.shortlist,
    }


def sentence(record: PodRecord, found: PodContext, now: Mapping[str, Any] | None) -> str:
    """The situation in one sentence."""
    if record.done or record.node:
        return f"it has ended ({record.phase})" if record.done else f"it is on {record.node}"
    if not found.ours:
        return "it is not Slackwater's: another scheduler, an unmanaged namespace, a daemon or a mirror pod"
    if record.gated:
        return "it waits behind the gate slackwater.io/admission; the operator and its TrackedApp say why"
    if found.refusal is not None:
        return f"it is refused everywhere: {found.refusal.value}"
    if now is None or now["fitting"]:
        return f"{now['fitting'] if now else 0} nodes have room; kube-scheduler has not bound it yet"
    why = ", ".join(f"{count} × {reason}" for reason, count in now["counts"].items())
    return f"none of {now['nodes']} nodes serves it: {why}"


def _selected(record: NodeRecord, selector: Mapping[str, str]) -> bool:
    return all(record.labels.get(key) == value for key, value in selector.items())


def _slices(items: Sequence[str]) -> Iterator[Sequence[str]]:
    return (items[start : start + SLICE] for start in range(0, len(items), SLICE))
