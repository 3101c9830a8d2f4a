"""What the extender would say of a pod or a node, read off a play: the same answers, shown by the same pages."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from slackwater.cycle.appverdicts import WaitReason
from slackwater.ledger.types import RoomLine
from slackwater.resources import least
from slackwater_monitor.sources.explanation import Explanation, in_numbers
from slackwater_monitor.sources.simulated.apps import NAMESPACE, apps, bars, pod_name, queues
from slackwater_monitor.sources.simulated.play import KINDS, Floats, Play
from slackwater_monitor.sources.views import Amounts, App, Bar, Node, pool_of
from slackwater_simulator.results.status import DRIVER

SEEN = "The room of each node is what the gate saw when it last looked, at most ten seconds ago."
SHARED_OUT = (
    "The room of each node is approximate: a node may show room here that the gate did not see. "
    "This play keeps one estimate for all nodes together, and the page shares it out among them."
)
SHOWN = 10  # nodes listed in an explanation, as the extender lists them


def explained(play: Play, name: str, now: float) -> Explanation | None:
    """A pod of the play; None where there is none (yet)."""
    number = _job(play, name)
    found = next((bar for bar in bars(play, number, now) if bar.pod == name), None) if number is not None else None
    if found is None or number is None:
        return None
    known = apps(play, now)
    app = next(app for app in known if app.name == play.jobs[number].id)
    queue = next(queue for queue in queues(play, known, now) if queue.name == app.queue)
    waits = not found.node
    asked, nodes = _request(play, number, found.stage), play.nodes(now)
    seen = play.room(now, driver=found.stage == "driver") if waits else None
    if seen is not None:
        nodes = _as_seen(play, nodes, seen)
    if waits and app.begins is None:
        app = replace(app, begins=_begins(play, number, name, now))
    here = next((node for node in nodes if node.name == found.node), None)
    best = _best(nodes, asked)
    # Of a node as the gate saw it only the room is known, not what it was made of.
    chosen = here or next((node for node in nodes if seen is None and best and node.name == best[0]["node"]), None)
    return Explanation(
        pod=f"{NAMESPACE}/{name}",
        sentence=_sentence(found, app),
        waits=waits,
        phase=found.phase,
        node=found.node,
        app=app,
        queue=queue,
        pool=pool_of(queue.name, play.pools(now)),
        ledger={"declared": asked, "native": asked, "now": _now(nodes, best, asked) if waits else None},
        resources=in_numbers(chosen.name, _lines(play, chosen, now)) if chosen is not None else {},
        rooms={node.name: node.room for node in nodes} if seen is not None else {},
        note=_note(app, seen=seen is not None, fits=waits and bool(best)),
    )


def _note(app: App, *, seen: bool, fits: bool) -> str:
    if seen:
        return SEEN
    return SHARED_OUT if fits and app.reason == WaitReason.FRAGMENTED else ""


def _as_seen(play: Play, nodes: list[Node], seen: Floats) -> list[Node]:
    """The nodes with the room that the gate saw: a play knows the sum of its estimates only, and shares it out."""
    kinds, rows = play.outcome.cluster.kinds, np.maximum(seen, 0.0).tolist()
    return [replace(node, room=dict(zip(kinds, row, strict=True))) for node, row in zip(nodes, rows, strict=True)]


def ledger(play: Play, name: str, now: float) -> dict[str, Any] | None:
    """A node of the play with its pods; None where there is none."""
    node = next((node for node in play.nodes(now) if node.name == name), None)
    if node is None:
        return None
    rows, at = play.rows, [each.name for each in play.outcome.cluster.nodes].index(name)
    here = np.flatnonzero(play.active(now) & (rows.node == at))
    used = play.usage.at(now)
    pods = [_pod(play, int(row), used[row].tolist()) for row in here]
    return {"name": name, "open": node.open, "resources": _lines(play, node, now), "pods": pods}


def _pod(play: Play, row: int, used: list[float]) -> dict[str, Any]:
    job, stage = play.jobs[play.rows.job[row]], int(play.rows.stage[row])
    return {
        "uid": str(row),
        "pod": f"{NAMESPACE}/{pod_name(job, stage, int(play.rows.task[row]))}",
        "app": f"{NAMESPACE}/{job.id}",
        "role": "driver" if stage == DRIVER else "task",
        "state": "running",
        "declared": dict(zip(play.outcome.cluster.kinds, play.requests[row].tolist(), strict=True)),
        "used": dict(zip(("cpu", "memory"), used, strict=True)),
    }


def _job(play: Play, name: str) -> int | None:
    """The job whose pods are called so; of job-1 and job-1-2 the longer name."""
    fitting = [at for at, job in enumerate(play.jobs) if name.startswith(f"{job.id}-")]
    return max(fitting, key=lambda at: len(play.jobs[at].id), default=None)


def _request(play: Play, number: int, stage: str) -> dict[str, float]:
    job, kinds = play.jobs[number], play.outcome.cluster.kinds
    if stage == "driver" and job.driver is not None:
        return dict(zip(kinds, job.driver.request, strict=False))
    return dict(zip(kinds, next(each.request for each in job.stages if each.name == stage), strict=False))


def _begins(play: Play, number: int, name: str, now: float) -> float | None:
    """Seconds until the pod starts, which a play knows; None where it never does."""
    rows, job = play.rows, play.jobs[number]
    for row in np.flatnonzero((rows.job == number) & (rows.allocated > now)).tolist():
        if pod_name(job, int(rows.stage[row]), int(rows.task[row])) == name:
            return float(rows.start[row]) - now
    return None


def _sentence(found: Bar, app: App) -> str:
    if found.end is not None:
        return "it has ended"
    if found.node:
        return f"it is on {found.node}"
    return f"it is held: {app.message}" if app.reason else f"it waits: {app.message}"  # as `explain` says it


def _best(nodes: list[Node], asked: Amounts) -> list[dict[str, Any]]:
    """The nodes that have room for it, the roomiest first."""
    fitting = [node for node in nodes if not _lack(node, asked)]
    ordered = sorted(fitting, key=lambda node: (-node.room.get("cpu", 0.0), node.name))
    return [{"node": node.name, "score": None, "room": dict(node.room)} for node in ordered]


def _now(nodes: list[Node], best: list[dict[str, Any]], asked: Amounts) -> dict[str, Any]:
    lacks = Counter(lack for node in nodes if (lack := _lack(node, asked)))
    return {"fitting": len(best), "nodes": len(nodes), "counts": dict(lacks.most_common()), "best": best[:SHOWN]}


def _lack(node: Node, asked: Amounts) -> str:
    """What a node has too little of; "" where the pod fits."""
    short = (kind for kind, amount in asked.items() if node.room.get(kind, 0.0) < least(amount))
    return next((f"too little {'CPU' if kind == 'cpu' else kind}" for kind in short), "")


def _lines(play: Play, node: Node, now: float) -> dict[str, dict[str, Any]]:
    """The arithmetic of a node's room, in the words of the extender."""
    at = [each.name for each in play.outcome.cluster.nodes].index(node.name)
    drivers: list[dict[str, float]] = [dict(zip(KINDS, each[at].tolist(), strict=True)) for each in play.drivers(now)]
    return {
        kind: _line(node, kind, Drivers(*(each.get(kind, 0.0) for each in drivers))).told() for kind in node.allocatable
    }


class Drivers(NamedTuple):
    """Of one kind, what the drivers of a node asked for, what they use, and what they are charged."""

    declared: float
    used: float
    charged: float


def _line(node: Node, kind: str, drivers: Drivers) -> RoomLine:
    """As the ledger keeps them, drivers stand apart: what is used and estimated here is of the other pods."""
    size, declared, believed = node.allocatable[kind], node.declared[kind], node.estimate[kind]
    used, reserved = max(node.used.get(kind, 0.0) - drivers.used, 0.0), declared - drivers.declared
    charged = min(drivers.charged, believed)  # a play knows only the sum of what was believed, drivers included
    return RoomLine(
        capacity=size,
        allocatable=size,
        allowed=node.allowed[kind],
        real=size,
        used=used,
        learned=used,
        residual=max(believed - charged - used, 0.0),
        reserved=reserved,
        known=reserved,
        estimate=believed - charged,
        declared=declared,
        drivers=charged,
        native=declared,
        # A node's page shows no room below 0, and a sum must add up.
        room=node.room[kind] or min(0.0, max(node.allowed[kind] - believed, size - declared)),
        stale=False,
        requested=size - declared,
    )
