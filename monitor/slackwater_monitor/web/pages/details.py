"""The page of one thing: an app, a pod, a node, a queue, a pool. Pod and node say what `slackwater explain` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from slackwater.errors import Unavailable
from slackwater_monitor.screen import first_in_line
from slackwater_monitor.sources.explanation import Explanation, arithmetic
from slackwater_monitor.sources.source import Source
from slackwater_monitor.sources.views import Amounts, App, Bar, Node, Snapshot, pool_of
from slackwater_monitor.web import figures
from slackwater_monitor.web.pages.frame import KINDS, Values, bounded, frame, node_meter, ratio, room_meter
from slackwater_monitor.web.query import Query

MOST_NODES = 20  # whose room is shown on a pod's page
MOST_BEFORE = 20  # apps listed as standing before a pod


def app(source: Source, query: Query, namespace: str, name: str) -> Values | None:
    """One app with its Gantt chart; None where there is none."""
    del query
    seen = source.snapshot()
    found = next((each for each in seen.apps if (each.namespace, each.name) == (namespace, name)), None)
    if found is None:
        return None
    bars = sorted(source.gantt(namespace, name), key=lambda bar: (bar.role != "driver", bar.stage, bar.pod))
    if not found.used:
        found = _measured(found, bars, source.used(namespace))
    shares = {kind: ratio(found.used.get(kind, 0.0), found.declared.get(kind, 0.0)) for kind, _ in KINDS}
    return frame(source, seen) | {
        "app": found,
        "bars": bars[: figures.MOST_BARS],
        "held": next((bar.pod for bar in bars if bar.start is None and bar.end is None), ""),
        "left_out": max(len(bars) - figures.MOST_BARS, 0),
        "gantt": figures.pods(bars, seen.at, virtual=source.virtual),
        "shares": shares if found.used else {},
        "kinds": KINDS,
    }


def _measured(found: App, bars: Sequence[Bar], used: Mapping[str, Amounts]) -> App:
    """The app with the measured use of its running pods, where its own status does not tell."""
    mine = [used[bar.pod] for bar in bars if bar.end is None and bar.pod in used]
    if not mine:
        return found
    sums = {kind: sum(each.get(kind, 0.0) for each in mine) for kind, _ in KINDS}
    shares = [share for kind, _ in KINDS if (share := ratio(sums[kind], found.declared.get(kind, 0.0))) is not None]
    whole = found.efficiency if found.efficiency is not None else max(shares, default=None)
    return replace(found, used=sums, efficiency=whole)


def pod(source: Source, query: Query, namespace: str, name: str) -> Values | None:
    """Why a pod waits or why it is where it is, with the numbers as bars; None where there is none."""
    del query
    found = source.explain(namespace, name)
    if found is None:
        return None
    seen = source.snapshot()
    asked = (found.ledger or {}).get("declared") or {}
    values = frame(source, seen)
    values["problems"] = [*values["problems"], *found.problems]
    rooms = _rooms(found, seen, asked) if found.waits else []
    return values | {
        "found": found,
        "name": f"{namespace}/{name}",
        "asked": asked,
        "rooms": rooms,
        "cut": _cut((found.ledger or {}).get("now") or {}),
        "scored": any(row["score"] is not None for row in rooms),
        "here": _place(seen, found.node),
        "before": _before(found, seen)[:MOST_BEFORE],
        "kinds": [each for each in KINDS if each[0] in asked] or list(KINDS),
    }


def _rooms(found: Explanation, seen: Snapshot, asked: Amounts) -> list[Values]:
    """Room per node beside what the pod asks for: first the nodes that the extender would choose, then the roomiest.

    Where more would serve it than the extender names, the others are left out: nobody knows which of them would.
    """
    now = (found.ledger or {}).get("now") or {}
    best = {each["node"]: each["score"] for each in now.get("best") or ()}
    nodes = [replace(node, room=found.rooms.get(node.name, node.room)) for node in seen.nodes]
    known = [node for node in nodes if node.name in best or not _cut(now)]
    ordered = sorted(known, key=lambda node: (node.name not in best, -node.room.get("cpu", 0.0), node.name))
    most = {kind: max((node.room.get(kind, 0.0) for node in nodes), default=0.0) for kind, _ in KINDS}
    return [
        {
            "node": node,
            "serves": node.name in best,
            "score": best.get(node.name),
            "bars": [(kind, room_meter(kind, node.room, asked, most[kind])) for kind, _ in KINDS if kind in asked],
        }
        for node in ordered[:MOST_NODES]
    ]


def _cut(now: Mapping[str, Any]) -> bool:
    """Whether more nodes would serve a pod than are named."""
    return int(now.get("fitting") or 0) > len(now.get("best") or ())


def _place(seen: Snapshot, name: str) -> Values | None:
    """The node that the pod is on, as bars."""
    node = next((node for node in seen.nodes if node.name == name), None) if name else None
    return (
        None
        if node is None
        else {"node": node, "bars": [(kind, words, node_meter(node, kind)) for kind, words in KINDS]}
    )


def _before(found: Explanation, seen: Snapshot) -> list[App]:
    """Apps of the same queue that come first."""
    mine = found.app
    if not found.waits or mine is None or not mine.position:
        return []
    return [
        each
        for each in first_in_line(seen.apps)
        if each.queue == mine.queue and each.position and each.position < mine.position
    ]


def node(source: Source, query: Query, name: str) -> Values | None:
    """A node: reserved, used, believed, allowed, how its room comes about, its pods; None where there is none."""
    del query
    seen = source.snapshot()
    here = next((each for each in seen.nodes if each.name == name), None)
    if here is None:
        return None
    found, problems = _ledger(source, name)
    pods = sorted(found.get("pods") or (), key=lambda pod: (-float(pod["declared"].get("cpu", 0.0)), pod["pod"]))
    return frame(source, seen) | {
        "problems": [*seen.problems, *problems],
        "node": here,
        "rows": [_kind(here, kind, words) for kind, words in KINDS],
        "sentences": [(kind, arithmetic(kind, line)) for kind, line in (found.get("resources") or {}).items()],
        "pods": pods,
        "kinds": KINDS,
    }


def _ledger(source: Source, name: str) -> tuple[dict[str, Any], list[str]]:
    """What the extender knows of a node, or why that is not known."""
    try:
        return source.ledger(name) or {}, []
    except Unavailable as problem:
        return {}, [f"the ledger of {name}: {problem}"]


def _kind(node: Node, kind: str, words: str) -> Values:
    return {"kind": kind, "name": words, "bar": node_meter(node, kind), "load": figures.load(node, kind)}


def queue(source: Source, query: Query, name: str) -> Values | None:
    """A queue: its test in numbers, its pool, who waits in it and who runs; None where there is none."""
    del query
    seen = source.snapshot()
    found = next((each for each in seen.queues if each.name == name), None)
    if found is None:
        return None
    mine = [each for each in first_in_line(seen.apps) if each.queue == name]
    runs = [each for each in mine if not each.waits and not each.over]
    return frame(source, seen) | {
        "queue": found,
        "pool": pool_of(name, seen.pools),
        "waiting": bounded([each for each in mine if each.waits]),
        "running": bounded(runs),
        "finished": sum(1 for each in mine if each.phase == "Finished"),
    }


def pool(source: Source, query: Query, name: str) -> Values | None:
    """A pool: its border now and over time, and the apps it counts; None where there is none."""
    seen = source.snapshot()
    found = next((each for each in seen.pools if each.name == name), None)
    if found is None:
        return None
    moved = [each for each in source.borders() if each.pool == name]
    mine = [each for each in first_in_line(seen.apps) if each.queue == found.queue and not each.over]
    return frame(source, seen) | {
        "pool": found,
        "charts": figures.pools(moved, query.since(seen.at), virtual=source.virtual),
        "groups": [(size, bounded([each for each in mine if each.category == size])) for size in ("small", "large")],
    }
