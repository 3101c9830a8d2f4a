"""The dashboard's figures: slack over time, the heat map of nodes, borders of pools, an app's pods over time.

Every drawing has its numbers in a table beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater_monitor.sources.views import Bar, BorderHistory, Node, SchedulerComparison, TimeSeries
from slackwater_simulator.charts import gantt
from slackwater_simulator.charts.amounts import UNITS, amount, count, percent, seconds, title
from slackwater_simulator.charts.heat import Square, squares
from slackwater_simulator.charts.lines import Line, known, over_time
from slackwater_simulator.charts.page import Figure

LINES = {"requested": "asked", "estimated": "guess", "used": "used"}
NOTHING_SEEN = "Nothing was seen in this time; it fills while the monitor runs."
VIRTUAL = "{unit} of virtual time"
Floats = NDArray[np.float64]


def slack(course: TimeSeries, kind: str, since: float, *, virtual: bool) -> Figure:
    """Requested, estimated and used over time, below what there is, from a moment on."""
    shown = {line: css for line, css in LINES.items() if line in course.lines.get(kind, {})}
    legend = (*((css, line) for line, css in shown.items()), ("limit", "allocatable"))
    moments = np.asarray(course.time, dtype=np.float64)
    inside = moments >= since
    if inside.sum() < 2 or not shown:
        return Figure(title(kind), "", NOTHING_SEEN, legend)
    unit, amounts = UNITS[kind]
    span = _span(moments[inside], virtual=virtual)
    lines = [
        known(
            css,
            span.x,
            np.asarray(course.lines[kind][line], dtype=np.float64)[inside] / unit,
            filled=line != "estimated",
            name=line,
        )
        for line, css in shown.items()
    ]
    limit = max(course.lines[kind]["allocatable"], default=0.0) / unit
    words = f"{title(kind)} requested and used over time"
    svg = over_time(
        words, lines, amounts, begin=span.begin, end=span.end, limit=limit, name=span.name, since=span.since
    )
    return Figure(title(kind), "", svg, legend)


class Span(NamedTuple):
    """The moments of a chart: where they lie, its ends, what is written below, and the Unix second of x = 0."""

    x: Floats
    begin: float
    end: float
    name: str
    since: float | None


def _span(moments: Floats, *, virtual: bool) -> Span:
    """Virtual time as it passed; that of a cluster by the clock on the wall."""
    if virtual:
        return Span(moments, float(moments[0]), float(moments[-1]), VIRTUAL, None)
    first = float(moments[0])
    return Span(moments - first, 0.0, max(float(moments[-1]) - first, 1e-9), "time of day, UTC", first)


def progress(found: SchedulerComparison) -> Figure:
    """Apps finished over time, ours and theirs, below those submitted."""
    legend = (("sent", "submitted"), ("ours", found.name), ("stock", found.rival))
    made = Figure("Apps finished", "", "", legend)
    if len(found.time) < 2 or not found.submitted[-1]:
        return made
    lines = [
        Line(css, np.asarray(found.time), np.asarray(values, dtype=np.float64), filled=css == "ours", name=name)
        for (css, name), values in zip(legend, (found.submitted, found.ours, found.theirs), strict=True)
    ]
    words = f"Apps finished under {found.name} and under {found.rival}"
    return replace(made, svg=over_time(words, lines, "apps", top=found.submitted[-1], name=VIRTUAL))


def border(found: BorderHistory, *, virtual: bool) -> Figure:
    """The share of the pool for small jobs over time."""
    span = _span(np.asarray(found.time, dtype=np.float64), virtual=virtual)
    line = Line("pool", span.x, np.asarray(found.delta) * 100, filled=True, name="share")
    words, top = f"Share of pool {found.pool} for small jobs", max(10.0, line.top * 1.1)
    svg = over_time(words, [line], "%", begin=span.begin, end=span.end, top=top, name=span.name, since=span.since)
    return Figure(f"{found.pool}: share for small jobs", "", svg)


def slots(found: BorderHistory, *, virtual: bool) -> Figure:
    """How many slots of a pool (in a play: pods) small and large jobs held over time."""
    unit = "pods" if virtual else "slots"
    span = _span(np.asarray(found.time, dtype=np.float64), virtual=virtual)
    legend = (("wait", "small jobs"), ("run", "large jobs"))
    lines = [
        Line(css, span.x, np.asarray(held), filled=True, name=name)
        for (css, name), held in zip(legend, (found.small, found.large), strict=True)
    ]
    words = f"{unit.capitalize()} of pool {found.pool} held by small and by large jobs"
    svg = over_time(words, lines, unit, begin=span.begin, end=span.end, name=span.name, since=span.since)
    return Figure(f"{found.pool}: who {'runs pods' if virtual else 'holds slots'}", "", svg, legend)


def pools(found: Sequence[BorderHistory], since: float, *, virtual: bool) -> list[Figure]:
    """Border and holders of every pool whose border was seen to move, from a moment on."""
    seen = [each for each in (_from(each, since) for each in found) if len(each.time) >= 2]
    return [
        figure
        for each in seen
        for figure in (border(each, virtual=virtual), *([slots(each, virtual=virtual)] if each.small else []))
    ]


def _from(found: BorderHistory, since: float) -> BorderHistory:
    first = int(np.searchsorted(np.asarray(found.time), since))
    columns = (found.time, found.delta, found.small, found.large)
    return BorderHistory(found.pool, *(values[first:] for values in columns))


def load(node: Node, kind: str) -> float | None:
    """Estimated use as a share of the node; None where it cannot be known."""
    size = node.allocatable.get(kind, 0.0)
    return node.estimate[kind] / size if size > 0 and kind in node.estimate else None


def heat(nodes: Sequence[Node], kind: str) -> str:
    """One square per node, darker the fuller."""
    return squares(
        f"{title(kind)} of {count(len(nodes), 'node')}, estimated share in use",
        [Square(_told(node, kind), load(node, kind), node.open, node.stale) for node in nodes],
    ) if nodes else ""  # fmt: skip


def _told(node: Node, kind: str) -> str:
    words = f"{node.name}: {percent(load(node, kind))} of {amount(kind, node.allocatable.get(kind), unit=True)}"
    return words + ("" if node.open else ", takes no pods") + (", samples stale" if node.stale else "")


MOST_BARS = 300
ROW, LEFT = 16.0, 150.0
# Many pods are drawn thin, so that the whole app is seen at once; then only the pointer tells their names.
TALL, NAMED = 720.0, 11.0


def pods(bars: Sequence[Bar], now: float, *, virtual: bool) -> str:
    """A line per pod: waiting from its creation, running from its start."""
    shown = sorted(bars, key=lambda bar: (bar.role != "driver", bar.stage, bar.start or np.inf, bar.pod))[:MOST_BARS]
    if not shown:
        return ""
    first = min(bar.created for bar in shown)
    ends = [bar.end for bar in shown if bar.end is not None]
    moments = (moment for bar in shown for moment in (bar.created, bar.start, bar.end) if moment is not None)
    last = max(ends) if len(ends) == len(shown) else max(now, *moments)
    high = min(ROW, max(TALL / len(shown), 2.0))
    since = None if virtual else first
    tracks = [_track(bar, high, first, last) for bar in shown]
    words = f"When {count(len(shown), 'pod')} waited and ran"
    return gantt.gantt(words, tracks, max(last - first, 1e-9), left=LEFT, gap=0.0, since=since)


def _track(bar: Bar, high: float, first: float, last: float) -> gantt.Track:
    start = bar.waited_until(last)
    end = bar.end if bar.end is not None else last
    ran = f", ran {seconds(end - start)} on {bar.node}" if bar.start is not None else ""
    words = f"{bar.pod}: waited {seconds(start - bar.created)}{ran}"
    drawn = []
    if start > bar.created:
        drawn.append(gantt.Bar("block wait thin", bar.created - first, start - first, words, high * 0.43, high * 0.14))
    if bar.start is not None:
        css = f"block pod {'driver' if bar.role == 'driver' else 'run'}"
        drawn.append(gantt.Bar(css, start - first, end - first, words, high * 0.15, high * 0.7))
    name = bar.pod if len(bar.pod) <= 22 else f"…{bar.pod[-21:]}"
    return gantt.Track(name if high >= NAMED or bar.role == "driver" else "", high, drawn)
