"""The live view of a terminal: nodes as bars, queues, pools and the apps that wait."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slackwater_monitor.sources.views import App, Node, Snapshot, pool_of
from slackwater_simulator.charts.amounts import amount, count, percent, seconds

WIDTH = 24  # characters of a bar


def render(seen: Snapshot, *, nodes: int = 20, apps: int = 15, wide: bool = False) -> RenderableType:
    """One picture of everything; the fullest nodes and the first in line come first; wide: with the bars' numbers."""
    parts: list[RenderableType] = [_headline(seen)]
    if seen.nodes:
        parts.append(_nodes(seen, nodes, wide))
    if seen.queues:
        parts.append(_queues(seen))
    if seen.apps:
        parts.append(_apps(seen.apps, apps))
    parts.extend(Text(f"! {problem}", style="yellow") for problem in seen.problems)
    return Group(*parts)


def _headline(seen: Snapshot) -> Text:
    at = datetime.fromtimestamp(seen.at, UTC).strftime("%H:%M:%S UTC")
    parts = [count(len(seen.nodes), "node")]
    for kind, name in (("cpu", "CPU"), ("memory", "memory")):
        size, used, asked = (seen.total(field, kind) for field in ("allocatable", "used", "declared"))
        if size and not seen.charged:
            parts.append(f"{name} {amount(kind, size, unit=True)}, requested and used unknown")
        elif size:
            parts.append(f"{name} {percent(asked / size)} requested, {percent(used / size)} used")
    waiting = sum(app.pods.get("held", 0) for app in seen.apps)
    parts.append(f"{count(len(seen.apps), 'app')}, {count(waiting, 'pod')} held")
    return Text.assemble((at, "bold"), *(f" · {part}" for part in parts))


def bar(used: float, estimate: float, asked: float, size: float, allowed: float = 0.0, width: int = WIDTH) -> Text:
    """█ used, ▓ estimated beyond that, ░ requested beyond that, · free, │ allowed; red: more is asked than there is."""
    if size <= 0:
        return Text("?" * 3, style="dim")
    marks = [round(width * min(value / size, 1.0)) for value in (used, max(used, estimate), max(used, estimate, asked))]
    kinds = (("█", "green"), ("▓", "yellow"), ("░", "red" if asked > size else "blue"), ("·", "dim"))
    cells = [kinds[sum(at >= mark for mark in marks)] for at in range(width)]
    mark = round(width * allowed / size)
    if 0 < mark < width:
        cells[mark] = ("│", "bold")
    return Text.assemble(*cells)


def _load(node: Node) -> float:
    return max(
        (node.estimate.get(kind, 0.0) / size for kind, size in node.allocatable.items() if size > 0), default=0.0
    )


def _nodes(seen: Snapshot, shown: int, wide: bool) -> Table:
    """A line for each node; where a terminal is narrow, names are cut first (of a column that may wrap)."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    numbers = ("used", "est.", "asked", "allowed") if wide else ()
    for head in (
        "NODE",
        "CPU  █ used ▓ est.\n     ░ asked │ allowed",
        *numbers,
        "room",
        "MEMORY",
        *numbers,
        "room",
        "",
    ):
        right = head == "room" or head in numbers
        made.add_column(head, no_wrap=head != "NODE", overflow="ellipsis", justify="right" if right else "left")
    ordered = sorted(seen.nodes, key=lambda node: (-_load(node), node.name))
    for node in ordered[:shown]:
        cells: list[RenderableType] = [Text(node.name)]
        for kind in ("cpu", "memory"):
            fields = (node.used, node.estimate, node.declared, node.allowed, node.allocatable)
            used, estimate, asked, allowed, size = (field.get(kind, 0.0) for field in fields)
            cells.append(bar(used, estimate, asked, size, allowed))
            cells += [amount(kind, field.get(kind)) for field in fields[:4]] if wide else []
            cells.append(amount(kind, node.room.get(kind)))
        made.add_row(*cells, _state(node))
    if len(ordered) > shown:
        made.add_row(f"… {len(ordered) - shown} more", style="dim")
    return made


def _state(node: Node) -> Text:
    words = ([] if node.open else ["closed"]) + (["stale"] if node.stale else [])
    return Text(" ".join(words), style="red")


def _queues(seen: Snapshot) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("QUEUE", "STATE", "DRIVERS", "WAITING", "HELD", "RELEASED", "SMALL POOL"):
        made.add_column(head, justify="left" if head in ("QUEUE", "STATE") else "right")
    for queue in seen.queues:
        pool = pool_of(queue.name, seen.pools)
        share = pool.border if pool is not None else "–"
        numbers = (queue.drivers_running, queue.drivers_waiting, queue.held, queue.released)
        made.add_row(Text(queue.name), Text(queue.state), *(str(number) for number in numbers), share)
    return made


def first_in_line(apps: Iterable[App]) -> list[App]:
    """Waiting apps by their place in the queue, then those that run, newest last."""
    return sorted(
        apps,
        key=lambda app: (
            not app.waits,
            app.queue,
            app.position or math.inf,  # without a place come those that run already and want more
            app.over,
            app.namespace,
            app.name,
        ),
    )


def _apps(apps: Sequence[App], shown: int) -> Table:
    """A line for each app; where a terminal is narrow, texts are cut (of columns that may wrap), the longer first."""
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for head in ("APP", "PHASE", "POS", "WAIT", "HELD", "BOUND", "USED", "WHY"):
        number = head in ("POS", "WAIT", "HELD", "BOUND", "USED")
        text = head in ("APP", "WHY")
        made.add_column(head, justify="right" if number else "left", no_wrap=not text, overflow="ellipsis")
    ordered = first_in_line(apps)
    for app in ordered[:shown]:
        made.add_row(
            Text(f"{app.namespace}/{app.shown}", overflow="ellipsis", no_wrap=True),
            Text(app.phase),
            str(app.position or ""),
            seconds(app.wait) if app.wait is not None else "",
            str(app.pods.get("held", 0)),
            str(app.pods.get("bound", 0)),
            percent(app.efficiency) if app.efficiency is not None else "",
            Text(app.message if app.waits or app.refused else "", overflow="ellipsis", no_wrap=True),
        )
    if len(ordered) > shown:
        made.add_row(f"… {len(ordered) - shown} more", style="dim")
    return made
