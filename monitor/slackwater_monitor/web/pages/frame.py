"""What pages have in common: the moment, what could not be read, and amounts as small bars."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from markupsafe import Markup

from slackwater_monitor.sources.source import Source
from slackwater_monitor.sources.views import Amounts, Node, Snapshot
from slackwater_simulator.charts.amounts import amount, seconds, title
from slackwater_simulator.charts.capacity import meter

Row = TypeVar("Row")
Values = dict[str, Any]
KINDS = (("cpu", "CPU"), ("memory", "Memory"))
MOST_ROWS = 500


def frame(source: Source, seen: Snapshot) -> Values:
    """Values that every page of a source needs."""
    if source.virtual:
        at = f"{seconds(seen.at)} of virtual time"
    else:
        at = f"{datetime.fromtimestamp(seen.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return {"seen": seen, "at": at, "problems": list(seen.problems)}


def bounded(rows: Sequence[Row]) -> tuple[Sequence[Row], int]:
    """As many rows as anybody reads on a page, and how many are left out."""
    return rows[:MOST_ROWS], max(len(rows) - MOST_ROWS, 0)


def ratio(part: float, whole: float) -> float | None:
    """A share; None of nothing."""
    return part / whole if whole > 0 else None


def said(found: Amounts) -> str:
    """Amounts of all kinds in words."""
    return ", ".join(amount(kind, float(value), unit=True) for kind, value in found.items()) or "nothing"


def node_meter(node: Node, kind: str, most: float | None = None) -> Markup:
    """A node's used, estimated and requested amounts of one kind, with the mark of all it has."""
    size, used = node.allocatable.get(kind, 0.0), node.used.get(kind, 0.0)
    estimate, asked = node.estimate.get(kind, 0.0), node.declared.get(kind, 0.0)
    words = (
        f"{node.name}, {title(kind)}: {amount(kind, used)} used, {amount(kind, asked)} requested "
        f"of {amount(kind, size, unit=True)}"
    )
    believed = 0.0 if most else max(estimate - used, 0.0)  # side by side only one of two schedulers believes
    parts = (("used", used), ("guess", believed), ("asked", max(asked - used - believed, 0.0)))
    return meter(words, parts, max(most or 0.0, size, asked), mark=size if asked > size or most else None)


def room_meter(kind: str, room: Amounts, asked: Amounts, most: float) -> Markup:
    """The room of a node for one kind, with the mark of what a pod asks for."""
    free, need = float(room.get(kind, 0.0)), float(asked.get(kind, 0.0))
    words = f"{title(kind)}: room for {amount(kind, free, unit=True)}, {amount(kind, need, unit=True)} asked"
    return meter(words, [("used" if free >= need else "wait", free)], max(most, need), mark=need)
