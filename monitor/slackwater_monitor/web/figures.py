"""The dashboard's figures: slack over time, the heat map of nodes, borders of pools, an app's pods over time.

Every drawing has its numbers in a table beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from slackwater_monitor.sources.views import Bar, BorderHistory, Node, SchedulerComparison, TimeSeries
from slackwater_simulator.charts import gantt
from slackwater_simulator.charts.amounts import UNITS, amount, percent, seconds, title
from slackwater_simulator.charts.heat import Square, squares
from slackwater_simulator.charts.lines import Line, known, over_time
from slackwater_simulator.charts.page import Figure

LINES = {"requested": "asked", "estimated": "guess", "used": "used"}
NOTHING_SEEN = "Nothing was seen yet; this fills while the monitor runs."


def slack(course: TimeSeries, kind: str, name: str) -> Figure:
    """Requested, estimated and used over time, below what there is."""
    shown = {line: css for line, css in LINES.items() if line in course.lines.get(kind, {})}
    legend = (*((css, line) for line, css in shown.items()), ("limit", "allocatable"))
    if len(course.time) < 2 or not shown:
        return Figure(title(kind), "", NOTHING_SEEN, legend)
    unit, amounts = UNITS[kind]
    time = _since_first(course.time)
    lines = [
        known(css, time, np.asarray(course.lines[kind][line], dtype=np.float64) / unit, filled=line != "estimated")
        for line, css in shown.items()
    ]
    limit = max(course.lines[kind]["allocatable"], default=0.0) / unit
    words = f"{title(kind)} requested and used over time"
    return Figure(title(kind), "", over_time(words, lines, amounts, end=time[-1], limit=limit, name=name), legend)


def progress(found: SchedulerComparison) -> Figure:
    """Apps finished over time, ours and theirs, below those submitted."""
    legend = (("driver", "submitted"), ("run", found.name), ("wait", found.rival))
    made = Figure("Apps finished", "", "", legend)
    if len(found.time) < 2 or not found.submitted[-1]:
        return made
    lines = [
        Line(css, np.asarray(found.time), np.asarray(values, dtype=np.float64), filled=css != "driver")
        for (css, _), values in zip(legend, (found.submitted, found.ours, found.theirs), strict=True)
    ]
    words = f"Apps finished under {found.name} and under {found.rival}"
    return replace(made, svg=over_time(words, lines, "apps", top=found.submitted[-1], name="{unit} of virtual time"))


def border(found: BorderHistory, name: str) -> Figure:
    """The share of the pool for small jobs over time."""
    line = Line("pool", _since_first(found.time), np.asarray(found.delta) * 100, filled=True)
    words = f"Share of pool {found.pool} for small jobs"
    svg = over_time(words, [line], "%", top=max(10.0, line.top * 1.1), name=name)
    return Figure(f"{found.pool}: share for small jobs", "", svg)


def slots(found: BorderHistory, name: str) -> Figure:
    """How many slots of a pool small and large jobs held over time."""
    time = _since_first(found.time)
    lines = [
        Line(css, time, np.asarray(held), filled=True) for css, held in (("run", found.large), ("wait", found.small))
    ]
    svg = over_time(f"Slots of pool {found.pool} held by small and by large jobs", lines, "slots", name=name)
    return Figure(f"{found.pool}: who holds slots", "", svg, (("wait", "small jobs"), ("run", "large jobs")))


def pools(found: Sequence[BorderHistory], name: str) -> list[Figure]:
    """Border and holders of every pool whose border was seen to move."""
    seen = [each for each in found if len(each.time) >= 2]
    return [figure for each in seen for figure in (border(each, name), *([slots(each, name)] if each.small else []))]


def _since_first(time: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.asarray(time, dtype=np.float64) - time[0]


def load(node: Node, kind: str) -> float | None:
    """Estimated use as a share of the node; None where it cannot be known."""
    size = node.allocatable.get(kind, 0.0)
    return node.estimate[kind] / size if size > 0 and kind in node.estimate else None


def heat(nodes: Sequence[Node], kind: str) -> str:
    """One square per node, darker the fuller."""
    return squares(
        f"{title(kind)} of {len(nodes)} nodes, estimated share in use",
        [Square(_told(node, kind), load(node, kind), node.open, node.stale) for node in nodes],
    ) if nodes else ""  # fmt: skip


def _told(node: Node, kind: str) -> str:
    words = f"{node.name}: {percent(load(node, kind))} of {amount(kind, node.allocatable.get(kind), unit=True)}"
    return words + ("" if node.open else ", takes no pods") + (", samples stale" if node.stale else "")


MOST_BARS = 300
ROW, LEFT = 16.0, 150.0
# Many pods are drawn thin, so that the whole app is seen at once; then only the pointer tells their names.
TALL, NAMED = 720.0, 11.0


def pods(bars: Sequence[Bar], now: float) -> str:
    """A line per pod: waiting from its creation, running from its start."""
    shown = sorted(bars, key=lambda bar: (bar.role != "driver", bar.stage, bar.start or np.inf, bar.pod))[:MOST_BARS]
    if not shown:
        return ""
    first = min(bar.created for bar in shown)
    ends = [bar.end for bar in shown if bar.end is not None]
    moments = (moment for bar in shown for moment in (bar.created, bar.start, bar.end) if moment is not None)
    last = max(ends) if len(ends) == len(shown) else max(now, *moments)
    high = min(ROW, max(TALL / len(shown), 2.0))
    tracks = [_track(bar, high, first, last) for bar in shown]
    return gantt.gantt(f"When {len(shown)} pods waited and ran", tracks, max(last - first, 1e-9), left=LEFT, gap=0.0)


def _track(bar: Bar, high: float, first: float, last: float) -> gantt.Track:
    start = bar.start if bar.start is not None else last
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
