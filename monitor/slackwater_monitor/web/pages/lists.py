"""The pages that list things: nodes, queues, pools, apps. Filters and order stand in the address."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from slackwater_monitor.screen import first_in_line
from slackwater_monitor.sources.source import Source
from slackwater_monitor.sources.views import App, Node
from slackwater_monitor.web import figures
from slackwater_monitor.web.pages.frame import KINDS, Values, bounded, frame, node_meter
from slackwater_monitor.web.query import Query, choices, narrowed

STATES: dict[str, Callable[[Node], bool]] = {
    "open": lambda node: node.open,
    "takes no pods": lambda node: not node.open,
    "stale": lambda node: node.stale,
}
LINES = ("used", "estimate", "declared", "room")


def _amount(line: str, kind: str) -> Callable[[Node], float]:
    return lambda node: float(getattr(node, line).get(kind, 0.0))


def _full(kind: str) -> Callable[[Node], float]:
    return lambda node: figures.load(node, kind) or 0.0


NODE_ORDERS: dict[str, Callable[[Node], Any]] = {
    "node": lambda node: node.name,
    **{f"{line}-{kind}": _amount(line, kind) for line in LINES for kind, _ in KINDS},
    **{f"full-{kind}": _full(kind) for kind, _ in KINDS},
}
APP_ORDERS: dict[str, Callable[[App], Any]] = {
    "app": lambda app: (app.namespace, app.shown),
    "phase": lambda app: app.phase,
    "queue": lambda app: app.queue,
    "size": lambda app: app.category,
    "held": lambda app: app.pods.get("held", 0),
    "running": lambda app: app.pods.get("bound", 0),
    "done": lambda app: app.pods.get("finished", 0),
    "used": lambda app: app.efficiency if app.efficiency is not None else -1.0,
}


def _any(node: Node) -> bool:
    return bool(node.name)


def nodes(source: Source, query: Query) -> Values:
    """Heat maps, and every node with its arithmetic."""
    seen = source.snapshot()
    ordered = sorted(seen.nodes, key=lambda node: node.name)
    fullest = sorted(seen.nodes, key=lambda node: (-(figures.load(node, "cpu") or 0.0), node.name))
    wanted = STATES.get(query.get("state"), _any)
    found = query.ordered([node for node in fullest if query.get("find") in node.name and wanted(node)], NODE_ORDERS)
    shown, left_out = bounded(found)
    return frame(source, seen) | {
        "maps": [(name, figures.heat(ordered, kind)) for kind, name in KINDS],
        "rows": [(node, [_cells(node, kind) for kind, _ in KINDS]) for node in shown],
        "left_out": left_out,
        "kinds": KINDS,
        "lines": LINES,
        "states": list(STATES),
    }


def _cells(node: Node, kind: str) -> Values:
    return {"kind": kind, "load": figures.load(node, kind), "bar": node_meter(node, kind)}


def queue(source: Source, query: Query) -> Values:
    """Queues with their test in numbers, and everybody who waits, with reason and estimate."""
    seen = source.snapshot()
    waiting = [app for app in narrowed(first_in_line(seen.apps), query) if app.waits]
    shown, left_out = bounded(waiting)
    return frame(source, seen) | {
        "waiting": shown,
        "left_out": left_out,
        "fields": choices([app for app in seen.apps if app.waits], query, "namespace", "queue"),
    }


def pools(source: Source, query: Query) -> Values:
    """The border between small and large jobs, now and over time."""
    seen = source.snapshot()
    drawn = figures.pools(source.borders(), query.since(seen.at), virtual=source.virtual)
    return frame(source, seen) | {"charts": drawn}


def apps(source: Source, query: Query) -> Values:
    """The apps that were asked for, in the order that was asked for."""
    seen = source.snapshot()
    shown, left_out = bounded(query.ordered(narrowed(first_in_line(seen.apps), query), APP_ORDERS))
    return frame(source, seen) | {
        "apps": shown,
        "left_out": left_out,
        "fields": choices(seen.apps, query, "namespace", "queue", "phase"),
    }
