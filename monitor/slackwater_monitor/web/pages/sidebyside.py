"""The same work under both schedulers, node by node, at one moment."""

from __future__ import annotations

from collections.abc import Sequence

from slackwater_monitor.sources.source import Source
from slackwater_monitor.sources.views import Node, SchedulerComparison
from slackwater_monitor.web import figures
from slackwater_monitor.web.pages.frame import KINDS, Values, bounded, frame, node_meter
from slackwater_simulator.charts.amounts import count


def side_by_side(source: Source, found: SchedulerComparison) -> Values:
    """Both schedulers on one scale."""
    seen = source.snapshot()
    nodes = [node for pair in found.nodes for node in pair]
    shown, left_out = bounded(found.nodes)
    most = {kind: _most(nodes, kind) for kind, _ in KINDS}
    return frame(source, seen) | {
        "comparison": found,
        "progress": figures.progress(found),
        "heading": _race(found),
        "rows": [(theirs.name, [_pair(theirs, ours, kind, most[kind]) for kind, _ in KINDS]) for theirs, ours in shown],
        "left_out": left_out,
        "kinds": KINDS,
    }


def _most(nodes: Sequence[Node], kind: str) -> float:
    """Where the longest bar ends."""
    return max((max(node.declared.get(kind, 0.0), node.allocatable.get(kind, 0.0)) for node in nodes), default=0.0)


def _pair(theirs: Node, ours: Node, kind: str, most: float) -> Values:
    return {"kind": kind, "nodes": [(node, node_meter(node, kind, most)) for node in (theirs, ours)]}


def _race(found: SchedulerComparison) -> str:
    """Who is how far, in one sentence."""
    theirs, ours = int(found.theirs[-1]), int(found.ours[-1])
    of = int(found.submitted[-1])
    done = f"{ours:,} of {count(of, 'app is', 'apps are')} done"
    return f"{done} under {found.name}, {theirs:,} under the {found.rival.lower()}"
