"""The first page: what is wasted, what runs out first, what holds work back, and who is next."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slackwater.cycle.audit.bottleneck import Bottleneck, bottleneck
from slackwater.cycle.audit.idle import ABOUT, Cause
from slackwater_monitor.screen import first_in_line
from slackwater_monitor.sources.source import Source
from slackwater_monitor.sources.views import App, Snapshot
from slackwater_monitor.web import figures
from slackwater_monitor.web.pages.frame import KINDS, Values, frame, ratio
from slackwater_monitor.web.query import Query
from slackwater_simulator.charts.amounts import amount, count, title
from slackwater_simulator.charts.capacity import capacity_bar
from slackwater_simulator.reports.causes import COLOURS

# What a cause means for whoever asks what to do about it.
MEANING = {
    Cause.NOTHING_WAITS: "no pod waits for these cores",
    Cause.GATE: "a waiting pod fits here and was not started yet: the next round does",
    Cause.KEPT_BACK: "a waiting pod would fit if no memory were kept back; it is, so that nodes do not run over",
    Cause.TASKS: "tasks are charged more than they use; this shrinks as samples come in",
    Cause.DRIVERS: "drivers are charged more than they use",
    Cause.MEMORY: "cores are free, but the memory beside them is charged to pods that do not use it",
    Cause.CEILING: "requests may not be lowered further: a higher ceiling would give these cores away",
    Cause.FRAGMENT: "no waiting pod fits into what is left: too small, or too little memory beside it",
}

KEPT = 0.9995  # an allowance above this share keeps nothing back


def overview(source: Source, query: Query) -> Values:
    """What is wasted and what is made of it, at one glance; then over time, who wastes, and who is next."""
    seen, course, comparison = source.snapshot(), source.history(), source.comparison()
    return frame(source, seen) | {
        "headline": headline(seen),
        "change": change(seen),
        "short": shortage(seen),
        "scarcest": scarcest(seen),
        "idle": held_back(seen),
        "capacities": [_capacity(seen, kind, name) for kind, name in KINDS],
        "comparison": comparison,
        "progress": figures.progress(comparison) if comparison is not None else None,
        "charts": [figures.slack(course, kind, query.since(seen.at), virtual=source.virtual) for kind, _ in KINDS],
        "wasters": wasters(seen.apps)[:5],
        "waiting": [app for app in first_in_line(seen.apps) if app.waits][:8],
        "counts": counts(seen.apps),
        "closed": sum(1 for node in seen.nodes if not node.open),
        "stale": sum(1 for node in seen.nodes if node.stale),
        "summary": _summary(seen),
    }


def headline(seen: Snapshot) -> str:
    """The page in one sentence: how much of what is requested lies idle."""
    asked, used = seen.total("declared", "cpu"), seen.total("used", "cpu")
    if not seen.nodes:
        return "No node can be seen"
    if not seen.charged:
        return "What is requested and used is not known"
    if asked <= 0:
        done = bool(seen.apps) and all(app.over for app in seen.apps)
        return "All work is done" if done else "Nothing is requested now"
    if all(node.stale for node in seen.nodes):
        return f"{amount('cpu', asked)} cores are requested; what is used is not measured"
    return f"{amount('cpu', max(asked - used, 0.0))} of {amount('cpu', asked)} requested cores are idle"


def change(seen: Snapshot) -> str:
    """What measuring makes of that: what runs beyond the requests, or could start beyond them. In cores."""
    size, asked, used, room = (seen.total(line, "cpu") for line in ("allocatable", "declared", "used", "room"))
    free = max(size - asked, 0.0)
    known = {name: amount("cpu", value) for name, value in (("asked", asked), ("size", size), ("used", used))}
    if seen.nodes and not seen.charged:
        return "The extender tells it, and gives no answer; the API server tells only how large nodes are."
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


def shortage(seen: Snapshot) -> str:
    """What runs out first, and what of the rest cannot be used because of that; empty where nothing is short."""
    found = scarcest(seen)
    if found is None:
        return ""
    lost = " and ".join(
        amount(kind, value, unit=True) + (" of memory" if kind == "memory" else "")
        for kind, value in found.stranded.items()
    )
    state = "is full" if found.full else "runs out first"
    left = amount(found.kind, found.left, unit=True)
    return f"{title(found.kind)} {state}: {left} left; {lost} cannot be used beside it."


def scarcest(seen: Snapshot) -> Bottleneck | None:
    """The resource that runs out first on the nodes that take pods."""
    takes = [node for node in seen.nodes if node.open and node.room]
    kinds = [kind for kind, _ in KINDS]
    rooms = {kind: np.array([node.room.get(kind, 0.0) for node in takes]) for kind in kinds}
    totals = {kind: sum(node.allocatable.get(kind, 0.0) for node in takes) for kind in kinds}
    asked = {kind: sum(node.declared.get(kind, 0.0) for node in takes) for kind in kinds}
    return bottleneck(rooms, totals, asked if all(asked.values()) else totals) if takes else None


def held_back(seen: Snapshot) -> list[Values]:
    """Idle cores by what keeps work from them, the largest first, as the operator's gauge counts them."""
    known = {Cause(name): cores for name, cores in seen.idle.items() if name in set(Cause) and name != Cause.BUSY}
    total = sum(known.values())
    ordered = sorted((each for each in known.items() if each[1] >= 0.05), key=lambda each: -each[1])
    return [
        {
            "css": COLOURS[cause],
            "words": ABOUT[cause],
            "cores": cores,
            "share": ratio(cores, total),
            "why": MEANING[cause],
        }
        for cause, cores in ordered
    ]


def _capacity(seen: Snapshot, kind: str, name: str) -> Values:
    """One resource: what is used, requested and free, and what each way of counting leaves for new work."""
    sums = {line: seen.total(line, kind) for line in ("allocatable", "allowed", "declared", "used", "room")}
    if not seen.charged:
        unknown = dict.fromkeys(("used", "declared", "room", "idle", "free", "efficiency"))
        return sums | {"kind": kind, "name": name, "svg": "", "kept": False} | unknown
    kept = 0 < sums["allowed"] < KEPT * sums["allocatable"]
    mark = sums["allowed"] if kept else None
    drawn = capacity_bar(kind, sums["used"], sums["declared"], sums["allocatable"], allowed=mark)
    return {
        "kind": kind,
        "name": name,
        "svg": drawn,
        "kept": kept,
        "efficiency": ratio(sums["used"], sums["declared"]),
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


def counts(apps: Sequence[App]) -> dict[str, int]:
    """Apps that wait, as in the table of them; those that run and want no more, are done, or were refused."""
    going = [app for app in apps if not app.waits]
    return {
        "waiting": len(apps) - len(going),
        "running": sum(1 for app in going if app.phase in ("Started", "Running")),
        "finished": sum(1 for app in going if app.phase == "Finished"),
        "refused": sum(1 for app in going if app.refused),
    }


def _summary(seen: Snapshot) -> str:
    """One sentence for screen readers, read aloud when it changes."""
    held = sum(app.pods.get("held", 0) for app in seen.apps)
    return f"{count(len(seen.nodes), 'node')}, {count(len(seen.apps), 'app')}, {count(held, 'pod')} held"
