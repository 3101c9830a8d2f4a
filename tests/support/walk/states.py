"""What operator and extender make of a cluster, as plain values that can be compared with those of a fresh start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from slackwater.cycle.audit.recording import jsonable, record
from slackwater.cycle.cycle import decide
from slackwater_cluster.governance import Governance
from slackwater_operator.cache.snapshot import take_snapshot
from slackwater_operator.cache.strays import OPTED_OUT
from support.search.transport import ask
from support.walk.programs import TEAMS, Pair, Store

DIGITS = 3  # of a pool's border: its status, from which a fresh start takes it, keeps four


def state(pair: Pair) -> dict[str, Any]:
    """Everything that is decided by, in the whole pair."""
    cache, parts = pair.cache, pair.extender.parts
    rooms = ask(parts, "/v1/rooms")
    del rooms["instance"]
    snapshot = take_snapshot(cache, pair.store.now, pair.loop.run_until_complete(pair.client.rooms()))
    return {
        "governance of the operator": governance(cache.governing, pair.store),
        "governance of the extender": governance(parts.cache.governance, pair.store),
        "rooms": rooms,
        "nodes": ask(parts, "/v1/nodes"),
        "terms": parts.cache.ledger.terms,
        "claims": {claim.uid: tuple(claim) for claim in parts.cache.ledger.claims()},
        "guarded": {
            pod.uid: parts.cache.guard.verdict(pod, parts.cache.recognise(pod)[1], driver=pod.name.startswith("driver"))
            for pod in pair.store.waiting.values()
        },
        "apps": {app: _view(view) for app, view in cache.views.items()},
        "freed": sorted(pod.uid for pod in cache.freed(pair.store.now + OPTED_OUT)),
        "round": _by_name(record(snapshot, decide(snapshot))),
    }


def governance(known: Governance, store: Store) -> dict[str, Any]:
    """Every answer about who is governed by what."""
    names = [*TEAMS, "elsewhere"]
    return {
        "managed": {name: known.managed(name) for name in names},
        "mode": {name: known.mode(name) for name in names},
        "policy": {name: known.policy(name) for name in names},
        "queue": {name: known.queue_of(name) for name in names},
        "queues": {name: known.queue(name) for name in known.queue_names()},
        "pools": {name: known.pool_of(name) for name in known.queue_names()},
        "pool specs": dict(known.pools),
        "rules": known.role_rules(),
    }


def differences(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Where two states are not the same; sums may differ in their last digits."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted({*one, *other}, key=str):
            if key not in one or key not in other:
                yield f"{where}.{key}: only in {'the running one' if key in one else 'a fresh start'}"
            else:
                yield from differences(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and len(one) == len(other):
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from differences(mine, theirs, f"{where}[{number}]")
    elif isinstance(one, float) and isinstance(other, float):
        if abs(one - other) > 1e-6 * max(1.0, abs(one), abs(other)):
            yield f"{where}: {one} runs, {other} after a fresh start"
    elif one != other:
        yield f"{where}: {one!r} runs, {other!r} after a fresh start"


def _view(view: Any) -> Any:
    return _groups(jsonable(view.groups)), view.counts, view.priority, view.started, view.submitted, view.size


def _by_name(round_: dict[str, Any]) -> dict[str, Any]:
    """Apps by name and pods in order: those that come in one turn stand in no order before they are decided on."""
    seen = round_["snapshot"]
    apps = {app["id"]: {**app, "groups": _groups(app["groups"])} for app in seen["apps"]}
    pools = {pool["name"]: {**pool, "delta": round(pool.get("delta", 0.0), DIGITS)} for pool in seen.get("pools", ())}
    borders = {pool: round(delta, DIGITS) for pool, delta in round_["decision"]["borders"].items()}
    return {"snapshot": {**seen, "apps": apps, "pools": pools}, "decision": {**round_["decision"], "borders": borders}}


def _groups(groups: list[dict[str, Any]]) -> dict[str, Any]:
    """Groups of pods by what they are; their numbers are those of the order in which they were found."""
    found = {}
    for group in groups:
        role, stage, _ = group["key"].split("/")
        ordered = {name: sorted(value) for name, value in group.items() if isinstance(value, list)}
        found[f"{role}/{stage}/{group['request']}"] = {**group, **ordered, "key": ""}
    return found
