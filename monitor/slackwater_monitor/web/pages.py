"""What each page shows: values for its template, made from a source. No HTML but the charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from slackwater_monitor.screen import first_in_line
from slackwater_monitor.sources.source import Source
from slackwater_monitor.sources.views import Amounts, App, Bar, Snapshot, TimeSeries
from slackwater_monitor.web import figures
from slackwater_simulator.charts.amounts import amount, seconds
from slackwater_simulator.charts.capacity import capacity_bar

Values = dict[str, Any]
KINDS = (("cpu", "CPU"), ("memory", "Memory"))
MOST_ROWS = 500


def overview(source: Source) -> Values:
    """What is wasted and what is made of it, at one glance; then over time, who wastes, and who is next."""
    seen, course, comparison = source.snapshot(), source.history(), source.comparison()
    axis = _axis(source, course)
    return _common(source, seen) | {
        "headline": headline(seen),
        "change": change(seen),
        "capacities": [_capacity(seen, kind, name) for kind, name in KINDS],
        "comparison": comparison,
        "progress": figures.progress(comparison) if comparison is not None else None,
        "charts": [figures.slack(course, kind, axis) for kind, _ in KINDS],
        "wasters": wasters(seen.apps)[:5],
        "waiting": [app for app in first_in_line(seen.apps) if app.waits][:8],
        "counts": _counts(seen.apps),
        "closed": sum(1 for node in seen.nodes if not node.open),
        "stale": sum(1 for node in seen.nodes if node.stale),
        "summary": _summary(seen),
    }


def headline(seen: Snapshot) -> str:
    """The page in one sentence: how much of what is requested lies idle."""
    asked, used = seen.total("declared", "cpu"), seen.total("used", "cpu")
    if not seen.nodes:
        return "No node can be seen"
    if asked <= 0:
        return "Nothing is requested now"
    if all(node.stale for node in seen.nodes):
        return f"{amount('cpu', asked)} cores are requested; what is used is not measured"
    return f"{amount('cpu', max(asked - used, 0.0))} of {amount('cpu', asked)} requested cores are idle"


def change(seen: Snapshot) -> str:
    """What measuring makes of that: what runs beyond the requests, or could start beyond them. In cores."""
    size, asked, used, room = (seen.total(line, "cpu") for line in ("allocatable", "declared", "used", "room"))
    free = max(size - asked, 0.0)
    known = {name: amount("cpu", value) for name, value in (("asked", asked), ("size", size), ("used", used))}
    if not seen.nodes or all(node.stale for node in seen.nodes):
        return "Without samples, room is what is not requested: nothing is overcommitted."
    if asked > size:
        return (
            f"Pods that asked for {known['asked']} cores run on nodes of {known['size']}, because {known['used']} are "
            f"in use: a plain scheduler would have stopped at {known['size']}."
        )
    if room > free:
        return (
            f"By requests {amount('cpu', free)} cores are free; by what is measured there is room for tasks that ask "
            f"for {amount('cpu', room)}."
        )
    return "There is room enough by requests: nothing needs to be overcommitted now."


def _capacity(seen: Snapshot, kind: str, name: str) -> Values:
    """One resource: what is used, requested and free, and what each way of counting leaves for new work."""
    sums = {line: seen.total(line, kind) for line in ("allocatable", "allowed", "declared", "used", "room")}
    drawn = capacity_bar(kind, sums["used"], sums["declared"], sums["allocatable"], allowed=sums["allowed"] or None)
    return {
        "kind": kind,
        "name": name,
        "svg": drawn,
        "efficiency": _ratio(sums["used"], sums["declared"]),
        "idle": max(sums["declared"] - sums["used"], 0.0),
        "free": max(sums["allocatable"] - sums["declared"], 0.0),
        **sums,
    }


def wasters(apps: Sequence[App]) -> list[tuple[App, float, float]]:
    """Apps by the cores they asked for and do not use now, with both amounts; where use is not known, none."""
    found = [
        (app, app.declared["cpu"], app.declared["cpu"] - app.used["cpu"])
        for app in apps
        if "cpu" in app.declared and "cpu" in app.used and app.pods.get("bound", 0)
    ]
    return sorted((each for each in found if each[2] > 0), key=lambda each: (-each[2], each[0].name))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0 else None


def _counts(apps: Sequence[App]) -> dict[str, int]:
    phases = ("Waiting", "Started", "Running", "Finished", "Refused")
    return {phase: sum(1 for app in apps if app.phase == phase) for phase in phases}


def _summary(seen: Snapshot) -> str:
    """One sentence for screen readers, read aloud when it changes."""
    held = sum(app.pods.get("held", 0) for app in seen.apps)
    return f"{len(seen.nodes)} nodes, {len(seen.apps)} apps, {held} pods held"


def _axis(source: Source, course: TimeSeries) -> str:
    """What is written below a time axis, around its unit."""
    if source.virtual or not course.time:
        return "{unit} of virtual time"
    return f"{{unit}} since {datetime.fromtimestamp(course.time[0], UTC):%H:%M} UTC"


def _common(source: Source, seen: Snapshot) -> Values:
    if source.virtual:
        at = f"{seconds(seen.at)} of virtual time"
    else:
        at = f"{datetime.fromtimestamp(seen.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return {"seen": seen, "at": at, "problems": list(seen.problems)}


def nodes(source: Source) -> Values:
    """Heat maps, and every node with its arithmetic."""
    seen = source.snapshot()
    ordered = sorted(seen.nodes, key=lambda node: node.name)
    maps = [(name, figures.heat(ordered, kind)) for kind, name in KINDS]
    fullest = sorted(seen.nodes, key=lambda node: (-(figures.load(node, "cpu") or 0.0), node.name))
    return _common(source, seen) | {
        "maps": maps,
        "rows": [(node, {kind: figures.load(node, kind) for kind, _ in KINDS}) for node in fullest[:MOST_ROWS]],
        "left_out": max(len(fullest) - MOST_ROWS, 0),
        "kinds": KINDS,
    }


def queue(source: Source) -> Values:
    """Queues with their test in numbers, and everybody who waits, with reason and estimate."""
    seen = source.snapshot()
    waiting = [app for app in first_in_line(seen.apps) if app.waits]
    return _common(source, seen) | {"waiting": waiting[:MOST_ROWS], "left_out": max(len(waiting) - MOST_ROWS, 0)}


def pools(source: Source) -> Values:
    """The border between small and large jobs, now and over time."""
    seen = source.snapshot()
    axis = "{unit} of virtual time" if source.virtual else "{unit} since the monitor began to look"
    return _common(source, seen) | {"charts": figures.pools(source.borders(), axis)}


def apps(source: Source, find: str) -> Values:
    """All apps whose name contains a text."""
    seen = source.snapshot()
    found = [app for app in first_in_line(seen.apps) if app.matches(find)]
    shown = found[:MOST_ROWS]
    return _common(source, seen) | {"apps": shown, "find": find, "left_out": len(found) - len(shown)}


def app(source: Source, namespace: str, name: str) -> Values | None:
    """One app with its Gantt chart; None where there is none."""
    seen = source.snapshot()
    found = next((each for each in seen.apps if (each.namespace, each.name) == (namespace, name)), None)
    if found is None:
        return None
    bars = sorted(source.gantt(namespace, name), key=lambda bar: (bar.role != "driver", bar.stage, bar.pod))
    if not found.used:
        found = _measured(found, bars, source.used(namespace))
    shares = {kind: _ratio(found.used.get(kind, 0.0), found.declared.get(kind, 0.0)) for kind, _ in KINDS}
    return _common(source, seen) | {
        "app": found,
        "bars": bars[: figures.MOST_BARS],
        "left_out": max(len(bars) - figures.MOST_BARS, 0),
        "gantt": figures.pods(bars, seen.at),
        "shares": shares if found.used else {},
        "kinds": KINDS,
    }


def _measured(found: App, bars: Sequence[Bar], used: Mapping[str, Amounts]) -> App:
    """The app with the measured use of its running pods, where its own status does not tell."""
    mine = [used[bar.pod] for bar in bars if bar.end is None and bar.pod in used]
    if not mine:
        return found
    sums = {kind: sum(each.get(kind, 0.0) for each in mine) for kind, _ in KINDS}
    shares = [share for kind, _ in KINDS if (share := _ratio(sums[kind], found.declared.get(kind, 0.0))) is not None]
    whole = found.efficiency if found.efficiency is not None else max(shares, default=None)
    return replace(found, used=sums, efficiency=whole)
