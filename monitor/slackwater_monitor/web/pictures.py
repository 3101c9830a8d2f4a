"""Charts of the dashboard as SVG: slack over time, the heat map of nodes, borders of pools, an app's Gantt chart.

No style attributes: the page's security policy forbids them. Colours are classes, so that one drawing suits day and
night, and every drawing has its numbers in a table beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from slackwater_monitor.amounts import GIBI, amount, percent, seconds
from slackwater_monitor.sources.views import Bar, Course, Node, Race, Tide
from slackwater_simulator.reports.svg import Line, chart, element, number, ticks, unit_of

UNITS = {"cpu": (1.0, "cores"), "memory": (GIBI, "GiB")}
CLASSES = {"requested": "asked", "estimated": "guess", "used": "used"}
HEATS = 10
TANK, DEEP = 460.0, 34  # drawing units of the bar of everything
HATCH = (
    'width="8" height="8" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="slack" width="8" height="8"/><path class="stripe" d="M0 0V8"/>'
)


def slack(course: Course, kind: str, *, since: str = "") -> str:
    """Requested, estimated and used over time, below what there is."""
    if len(course.time) < 2 or kind not in course.lines:
        return ""
    unit, name = UNITS[kind]
    first = course.time[0]
    span = max(course.time[-1] - first, 1e-9)
    size, short = unit_of(span)
    time = (np.asarray(course.time) - first) / size
    lines = [
        _known(css, time, np.asarray(course.lines[kind][line], dtype=np.float64) / unit, line != "estimated")
        for line, css in CLASSES.items()
        if line in course.lines[kind]
    ]
    limit = max(course.lines[kind]["allocatable"], default=0.0) / unit
    top = max([limit, *(float(line.y.max(initial=0.0)) for line in lines)]) or 1.0
    title = f"{'CPU' if kind == 'cpu' else 'Memory'} requested and used over time"
    return chart(title, lines, f"{short}{since}", name, x_max=float(time[-1]) or 1.0, y_max=top, limit=limit)


def tank(kind: str, used: float, asked: float, size: float, *, allowed: float | None = None) -> str:
    """One bar of all there is: used, requested beyond that (the slack), free; it grows where more is asked than is."""
    top = max(size, asked, used)
    if not top > 0:
        return ""
    scale = TANK / top
    marks = [value * scale for value in (used, max(used, asked), top)]
    name = "CPU" if kind == "cpu" else "Memory"
    words = ", ".join(f"{amount(kind, value, unit=True)} {what}" for value, what in (
        (used, "used"), (max(asked - used, 0.0), "requested and not used"), (max(size - asked, 0.0), "not requested"),
    ))  # fmt: skip
    parts = [
        f'<defs><pattern id="hatch-{kind}" {HATCH}</pattern></defs>',
        f'<rect class="ground" width="{number(TANK)}" height="{DEEP}" rx="6"/>',
        f'<rect fill="url(#hatch-{kind})" width="{number(marks[1])}" height="{DEEP}" rx="6"/>',
        f'<rect class="block used" width="{number(marks[0])}" height="{DEEP}" rx="6"/>',
    ]
    parts += [f'<path class="limit" d="M{number(size * scale)} -3V{DEEP + 3}"/>'] if asked > size else []
    if allowed is not None:
        parts.append(f'<path class="mark" d="M{number(allowed * scale)} -3V{DEEP + 3}"/>')
    return element(TANK, DEEP, f"{name}: {words}", "".join(parts))


def progress(found: Race) -> str:
    """Apps finished over time, ours and theirs, below those submitted."""
    if len(found.time) < 2 or not found.submitted[-1]:
        return ""
    size, short = unit_of(max(found.time[-1], 1e-9))
    time = np.asarray(found.time) / size
    lines = [
        Line(css, time, np.asarray(values, dtype=np.float64), filled=css != "driver")
        for css, values in (("driver", found.submitted), ("run", found.ours), ("wait", found.theirs))
    ]
    title = f"Apps finished under {found.name} and under {found.rival}"
    return chart(
        title, lines, f"{short} of virtual time", "apps", x_max=float(time[-1]) or 1.0, y_max=found.submitted[-1]
    )


def _known(css: str, time: NDArray[np.float64], values: NDArray[np.float64], filled: bool) -> Line:
    """A line over the moments at which its value is known."""
    seen = np.isfinite(values)
    return Line(css, time[seen], values[seen], filled=filled)


def tide(found: Tide, *, since: str = "") -> str:
    """The share of the pool for small jobs over time."""
    if len(found.time) < 2:
        return ""
    size, short = unit_of(max(found.time[-1] - found.time[0], 1e-9))
    time = (np.asarray(found.time) - found.time[0]) / size
    line = Line("pool", time, np.asarray(found.delta) * 100, filled=True)
    top = max(10.0, float(line.y.max()) * 1.1)
    title = f"Share of pool {found.pool} for small jobs"
    return chart(title, [line], f"{short}{since}", "%", x_max=float(time[-1]) or 1.0, y_max=top)


def sides(found: Tide, *, since: str = "") -> str:
    """What small and large jobs held of it."""
    if len(found.time) < 2 or not found.small:
        return ""
    size, short = unit_of(max(found.time[-1] - found.time[0], 1e-9))
    time = (np.asarray(found.time) - found.time[0]) / size
    lines = [
        Line(css, time, np.asarray(held), filled=True) for css, held in (("run", found.large), ("wait", found.small))
    ]
    top = max(1.0, *(float(line.y.max()) for line in lines))
    title = f"Slots of pool {found.pool} held by small and by large jobs"
    return chart(title, lines, f"{short}{since}", "slots", x_max=float(time[-1]) or 1.0, y_max=top)


def load(node: Node, kind: str) -> float | None:
    """Estimated use as a share of the node; None where it cannot be known."""
    size = node.allocatable.get(kind, 0.0)
    return node.estimate[kind] / size if size > 0 and kind in node.estimate else None


def heat_class(share: float | None) -> str:
    """One of ten shades, or the class for the unknown."""
    return "unknown" if share is None else f"h{min(int(share * HEATS), HEATS - 1)}"


def heat(nodes: Sequence[Node], kind: str, *, side: float = 26.0, width: float = 920.0) -> str:
    """One square per node, darker the fuller; a cross marks nodes that take no pods."""
    if not nodes:
        return ""
    across = max(1, int(width // side))
    parts = []
    for at, node in enumerate(nodes):
        x, y = at % across * side, at // across * side
        share = load(node, kind)
        words = f"{node.name}: {percent(share)} of {amount(kind, node.allocatable.get(kind), unit=True)}"
        words += "" if node.open else ", takes no pods"
        words += ", samples stale" if node.stale else ""
        arm = side - 14
        cross = f'<path class="cross" d="M{x + 6} {y + 6}l{arm} {arm}m0 -{arm}l-{arm} {arm}"/>'
        parts.append(
            f'<g><title>{escape(words)}</title><rect class="cell {heat_class(share)}{" stale" if node.stale else ""}" '
            f'x="{number(x + 1)}" y="{number(y + 1)}" width="{number(side - 3)}" height="{number(side - 3)}" rx="4"/>'
            f"{'' if node.open else cross}</g>"
        )
    rows = -(-len(nodes) // across)
    shown = min(len(nodes), across) * side
    title = f"{'CPU' if kind == 'cpu' else 'Memory'} of {len(nodes)} nodes, estimated share in use"
    return element(max(shown, 460.0), rows * side, title, "".join(parts))


MOST_BARS = 300
ROW, LEFT, TOP = 16.0, 150.0, 8.0
# Many pods are drawn thin, so that the whole app is seen at once; then only the pointer tells their names.
TALL, NAMED = 720.0, 11.0


def gantt(bars: Sequence[Bar], now: float, *, width: float = 940.0) -> str:
    """A line per pod: waiting from its creation, running from its start."""
    if not bars:
        return ""
    shown = sorted(bars, key=lambda bar: (bar.role != "driver", bar.stage, bar.start or np.inf, bar.pod))[:MOST_BARS]
    first = min(bar.created for bar in shown)
    last = max([now, *(bar.end or bar.start or bar.created for bar in shown)])
    last = max((bar.end for bar in shown), default=now) if all(bar.end is not None for bar in shown) else last  # type: ignore[type-var, assignment]  # none is None here
    span = max(last - first, 1e-9)
    scale = (width - LEFT - 12) / span
    row = min(ROW, max(TALL / len(shown), 2.0))
    height = TOP + row * len(shown) + 26
    size, unit = unit_of(span)
    parts = []
    for value in ticks(0.0, span / size, 8):
        x = LEFT + value * size * scale
        parts.append(f'<path class="grid" d="M{number(x)} {TOP}V{number(height - 22)}"/>')
        parts.append(f'<text class="tick mid" x="{number(x)}" y="{number(height - 8)}">{value:g} {unit}</text>')
    parts.extend(_row(bar, TOP + row * at, row, first, scale, last) for at, bar in enumerate(shown))
    return element(width, height, f"When {len(shown)} pods waited and ran", "".join(parts))


def _row(bar: Bar, y: float, high: float, first: float, scale: float, last: float) -> str:
    def x(moment: float) -> float:
        return LEFT + (moment - first) * scale

    start = bar.start if bar.start is not None else last
    end = bar.end if bar.end is not None else last
    waited = f"waited {seconds(start - bar.created)}"
    ran = f", ran {seconds(end - start)} on {bar.node}" if bar.start is not None else ""
    name = bar.pod if len(bar.pod) <= 22 else f"…{bar.pod[-21:]}"
    css = "driver" if bar.role == "driver" else "run"
    thick = high * 0.7
    running = (
        f'<rect class="block {css}" x="{number(x(start))}" y="{number(y + (high - thick) / 2)}" '
        f'width="{number(max((end - start) * scale, 1.0))}" height="{number(thick)}" rx="1.5"/>'
        if bar.start is not None
        else ""
    )
    named = high >= NAMED or bar.role == "driver"
    label = f'<text class="tick end" x="{number(LEFT - 8)}" y="{number(y + high / 2 + 4)}">{escape(name)}</text>'
    return (
        f"<g><title>{escape(f'{bar.pod}: {waited}{ran}')}</title>{label if named else ''}"
        f'<rect class="block wait thin" x="{number(x(bar.created))}" y="{number(y + high / 2 - thick / 10)}" '
        f'width="{number(max((start - bar.created) * scale, 0.0))}" height="{number(thick / 5)}"/>{running}</g>'
    )
