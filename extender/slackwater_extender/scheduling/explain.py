"""Numbers behind decisions, in words and in arithmetic, for people and for the operator. Read-only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from slackwater.cycle.appverdicts import describe, singular
from slackwater.ledger.types import PodClaim, RoomLine
from slackwater.placement.reasons import tallied
from slackwater.resources import Resources
from slackwater_cluster import roomsentence
from slackwater_cluster.extenderapi import ReservedPod, RoomsReply
from slackwater_cluster.objects.records import NodeRecord, PodRecord
from slackwater_cluster.pods.nodefit import carries, obstacle
from slackwater_extender.cache import conversion
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.nodereport import node_lines
from slackwater_extender.cache.refusedpods import Unschedulable
from slackwater_extender.scheduling.decisionlog import DecisionLog
from slackwater_extender.scheduling.evaluate import PodContext, case, examine, named

SHOWN = 10  # nodes listed in an explanation
OUTSIDE = "outside the nodes of its queue"


def nodes(cache: ClusterCache, selector: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every node in short, in slices of the lock."""
    return [_short(record, lines) for record, lines in node_lines(cache, selector)]


def _short(record: NodeRecord, lines: Mapping[str, RoomLine]) -> dict[str, Any]:
    return {
        "name": record.name,
        "open": record.open,
        "stale": any(line.stale for line in lines.values()),
        **{
            field: {kind: getattr(line, field) for kind, line in lines.items()}
            for field in ("allocatable", "allowed", "declared", "native", "used", "estimate", "drivers", "room")
        },
    }


def node(cache: ClusterCache, name: str) -> dict[str, Any]:
    """One node's whole ledger: the arithmetic and the pods. Call with the lock held."""
    record, lines = cache.nodes[name], cache.ledger.explain(name, cache.clock())
    return {
        "name": name,
        "open": record.open,
        "ready": record.ready,
        "cordoned": record.cordoned,
        "labels": dict(record.labels),
        "resources": {kind: _whole(line) for kind, line in lines.items()},
        "pods": [_claimed(cache, claim) for claim in cache.ledger.claims_on(name)],
    }


def _whole(line: RoomLine) -> dict[str, Any]:
    return {**line.told(), "arithmetic": roomsentence.sentence(line, "{:.6g}".format)}


def _claimed(cache: ClusterCache, claim: PodClaim) -> dict[str, Any]:
    record = cache.index.pods.get(claim.uid)
    return {
        "uid": claim.uid,
        "pod": record.key if record else "",
        "state": claim.state,
        "role": claim.role,
        "app": cache.recognise(record)[1] if record and claim.managed else "",
        "managed": claim.managed,
        "declared": named(cache.kinds, claim.charged),
        "native": named(cache.kinds, claim.native),
    }


def capacity(cache: ClusterCache, selector: Mapping[str, str]) -> dict[str, Any]:
    """Sums over open, selected nodes. Call with the lock held."""
    table = cache.ledger.table(cache.clock())
    chosen = table.open.copy()
    if selector:
        carrying = (carries(cache.nodes[name], selector.items()) for name in table.names)
        chosen &= np.fromiter(carrying, np.bool_, len(table))
    kinds, unplaced = cache.kinds, [claim.charged for claim, _ in cache.unplaced()]
    sums = {
        "allocatable": table.total,
        "room": np.maximum(table.room, 0.0),
        "native_free": np.maximum(table.native, 0),
        # What task pods could still take: the ceilings may keep room from being used.
        "reachable": table.reachable(conversion.overcommit(cache.governance, kinds)),
    }
    return {
        "kinds": kinds,
        "nodes": int(chosen.sum()),
        "stale_nodes": int((table.old() & chosen).sum()),
        **{name: named(kinds, array[chosen].sum(axis=0).tolist()) for name, array in sums.items()},
        # Tot of the pools: Σ declared of placed pods + room, over all open nodes.
        "pool_total": named(kinds, cache.ledger.pool_total(cache.clock()).tolist()),
        # On their way: with a node they count in its room, without one beside all rooms.
        "reservations": len(cache.ledger.reservations()),
        "reserved": named(kinds, [sum(each) for each in zip(*unplaced, strict=True)] or [0.0] * len(kinds)),
    }


def rooms(cache: ClusterCache, instance: str = "") -> RoomsReply:
    """Every node's room as arrays, node × kind, for the operator's rounds.

    They are written out with the lock free, as a table given out never changes.
    """
    with cache.lock:
        table = cache.ledger.table(cache.clock())
        ceiling = conversion.overcommit(cache.governance, cache.kinds)
        unplaced = cache.unplaced()
    assert table.requested is not None  # noqa: S101 - the ledger's tables have it
    return RoomsReply(
        kinds=table.kinds,
        ceiling=ceiling,
        names=table.names,
        open=table.open.tolist(),
        stale=table.old().tolist(),
        total=table.total.tolist(),
        room=table.room.tolist(),
        native=table.native.tolist(),
        requested=table.requested.tolist(),
        reserved=[ReservedPod(it.uid, namespace, named(table.kinds, it.charged)) for it, namespace in unplaced],
        instance=instance,
    )


def pod(
    cache: ClusterCache, waiting: Unschedulable, decisions: DecisionLog, namespace: str, name: str
) -> dict[str, Any] | None:
    """Why a pod waits, or why it is where it is; None if there is no such pod."""
    with cache.lock:
        record = cache.pod_named(namespace, name)
        if record is None:
            return None
        found = case(cache, record)
        made = _about(cache, record, found)
        waits = found.ours and not record.node and not record.done
        usable, others = _reached(cache, record) if waits else ([], {})
        now = _now(cache, found, usable, others) if waits else None
    if now is not None:
        made["now"] = now | _sizes(record.declared, usable)
    refused = waiting.get(record.uid)
    made["refused_since"] = refused.since if refused else None
    made["decisions"] = [asdict(each) for each in decisions.latest(namespace=namespace, pod=name, limit=SHOWN)]
    made["sentence"] = sentence(record, found, made.get("now"))
    return made


def _about(cache: ClusterCache, record: PodRecord, found: PodContext) -> dict[str, Any]:
    claim = cache.ledger.claim(record.uid)
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
        "charge_state": claim.state.value if claim else "",
    }


def _now(
    cache: ClusterCache, found: PodContext, usable: Sequence[NodeRecord], others: Mapping[str, int]
) -> dict[str, Any]:
    """How the nodes that the pod can use look for it now, and what keeps it off the others."""
    findings = examine(cache, found, [each.name for each in usable]) if usable else None
    return {
        "fitting": findings.fitting if findings else 0,
        "nodes": len(usable),
        "out_of_reach": others,
        "counts": findings.counts() if findings else {},
        "best": [
            {"node": each.name, "score": each.score, "room": named(cache.kinds, each.room)}
            for each in (findings.best(SHOWN) if findings else ())
        ],
        "shortlist": found.policy.score.shortlist,
    }


def _reached(cache: ClusterCache, pod: PodRecord) -> tuple[list[NodeRecord], dict[str, int]]:
    """The nodes that the pod's queue selects and the pod accepts; the others counted by what keeps it off them."""
    selector = cache.governance.queue_for(pod.namespace).node_selector
    usable, others = list[NodeRecord](), Counter[str]()
    for record in cache.nodes.values():
        why = obstacle(pod.constraints, record) if carries(record, selector.items()) else OUTSIDE
        if why:
            others[why] += 1
        else:
            usable.append(record)
    return usable, dict(others.most_common())


def _sizes(declared: Resources, usable: Sequence[NodeRecord]) -> dict[str, Any]:
    """Whether usable nodes are too small for the pod also when they are empty. Records never change: no lock needed."""
    most = _too_small(declared, usable)
    apart = bool(most) and declared.fits(Resources(most))  # each kind is somewhere, all of them nowhere
    return {"too_small": most, "nearest": nearest(declared, usable) if apart else ""}


def _too_small(declared: Resources, usable: Sequence[NodeRecord]) -> dict[str, float]:
    """By kind, the most that any usable node offers; empty where one of them, emptied, could take the pod."""
    offers = [each.allocatable for each in usable]
    if not offers or any(declared.fits(each) for each in offers):
        return {}
    return {kind: max(each[kind] for each in offers) for kind in declared}


def nearest(declared: Resources, usable: Sequence[NodeRecord]) -> str:
    """The usable node, and what of it, that comes nearest to taking the pod when it is empty."""

    def enough(node: NodeRecord) -> float:
        return min(node.allocatable[kind] / amount for kind, amount in declared.items())

    best = max(usable, key=enough)
    short = declared.lacking(best.allocatable)
    return f"{best.name} with {describe(Resources({kind: best.allocatable[kind] for kind in short}))}"


def sentence(record: PodRecord, found: PodContext, now: Mapping[str, Any] | None) -> str:
    """The situation in one sentence."""
    if record.done or record.node:
        return f"it has ended ({record.phase})" if record.done else f"it is on {record.node}"
    if not found.ours:
        return "it is not Slackwater's: another scheduler, an unmanaged namespace, a daemon or a mirror pod"
    vain = _in_vain(record, now)
    if record.gated or vain:
        return vain or "it waits behind the gate slackwater.io/admission; the operator and its TrackedApp say why"
    if found.refusal is not None:
        return f"it is refused everywhere: {found.refusal.value}"
    if now is None or now["fitting"]:
        return f"nodes with room: {now['fitting'] if now else 0}; kube-scheduler has not bound it yet"
    why = tallied(now["counts"])
    return singular(f"none of {now['nodes']} nodes serves it: {why}")


def _in_vain(record: PodRecord, now: Mapping[str, Any] | None) -> str:
    """Why no node of today will ever serve the pod; "" where one may."""
    if now is None or (now["nodes"] and not now["too_small"]):
        return ""
    if not now["nodes"]:
        why = tallied(now["out_of_reach"])
        return f"no node can ever serve it: {why or 'there is none'}"
    most = Resources(now["too_small"])
    short = record.declared.lacking(most)
    why = f"is that large (at most {describe(Resources({kind: most[kind] for kind in short}))})"
    if not short:
        why = f"has all of it; the nearest is {now['nearest']}"
    return (
        f"it can never fit: it asks for {describe(record.declared)}, and none of the {now['nodes']} nodes it can "
        f"use {why}"
    )
