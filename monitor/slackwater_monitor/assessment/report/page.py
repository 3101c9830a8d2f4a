"""The page of an assessment."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slackwater_cluster.timestamps import stamp
from slackwater_monitor.assessment.assessment import LEVELS, Assessment
from slackwater_monitor.assessment.prices import Prices
from slackwater_monitor.assessment.report import tables
from slackwater_monitor.assessment.report.values import efficiencies, summary
from slackwater_simulator.charts import page
from slackwater_simulator.charts.amounts import UNITS, amount, count, percent, seconds, title
from slackwater_simulator.charts.lines import Line, chart, cumulative, known, over_time
from slackwater_simulator.charts.page import Block, Bullets, Card, Details, Figure, Page, Paragraph, Section
from slackwater_simulator.charts.table import Table

# Rows per table; the JSON file beside the page has all of them.
SHOWN = 100
ALL_THERE = "Nothing: every metric was there, and no gap of two windows or more."


def render(found: Assessment, prices: Prices | None = None) -> str:
    """The page as text."""
    places = tables.places(found, why=True, prices=prices)
    missing = Bullets(found.notes) if found.notes else Paragraph(ALL_THERE)
    made = Page(
        title="Slackwater assessment",
        brand="Slackwater",
        heading="What is reserved, and what is used",
        lead=" ".join([tables.sentence(found), *([tables.idle_cost(found, prices)] if prices is not None else [])]),
        facts=_facts(found),
        cards=[_card(found, kind, f"p{at}") for at, kind in enumerate(found.courses)],
        sections=(
            Section("start", "The best places to start", _filled(places), "Where to start"),
            Section("reclaim", "What could be reclaimed, at which risk", _filled(tables.offers(found)), "Reclaimable"),
            Section("time", "Requested and used over time", page.figures(_over_time(found)), "Over time"),
            Section("efficiency", "Efficiency", page.figures(_efficiencies(found)), "Efficiency"),
            Section("drivers", "Drivers and waits", list(_drivers(found)), "Drivers"),
            *(_level(found, level) for level in reversed(LEVELS)),
            Section("notes", "What is missing", [missing], "Missing"),
        ),
        wide=True,
    )
    return page.render(made)


def _facts(found: Assessment) -> tuple[str, ...]:
    return (
        f"{stamp(found.grid.start)} to {stamp(found.grid.end)}",
        count(len(found.levels["pod"].get("memory") or found.levels["pod"].get("cpu") or {}), "pod"),
        count(len(found.census.allocatable), "node"),
        f"windows of {seconds(found.grid.step)}",
        f"a sample every {seconds(found.interval)}",
    )


def _card(found: Assessment, kind: str, css: str) -> Card:
    each = summary(found, kind)
    rows = [(name, amount(kind, each[name], unit=True)) for name in ("used", "requested", "allocatable")]
    return Card(title(kind), css, percent(each["efficiency"]), "of what is requested is used", rows)


def _filled(table: Table) -> list[Block]:
    return [table] if table.rows else []


def _over_time(found: Assessment) -> Iterator[Figure]:
    time = np.arange(1, found.grid.count + 1, dtype=np.float64) * found.grid.step
    for kind, course in found.courses.items():
        unit, name = UNITS[kind]
        lines = [
            known(css, time, np.where(np.isfinite(course.used), values, np.nan) / unit, filled=True)
            for css, values in (("asked", course.asked), ("used", course.used))
        ]
        size = found.total.get(kind, 0.0) / unit
        near = 0 < size < 3 * max(line.top for line in lines)
        words = f"{title(kind)} requested and used"
        yield Figure(
            title(kind),
            f"{name}, mean over each window; gaps are drawn straight",
            over_time(words, lines, name, end=time[-1], limit=size if near else None, name="{unit}"),
            (("asked", "requested"), ("used", "used"), *((("limit", "allocatable"),) if near else ())),
        )


def _efficiencies(found: Assessment) -> Iterator[Figure]:
    for kind in found.courses:
        levels = {level: efficiencies(found, level, kind) for level in ("container", "app", "user")}
        drawn = {f"{level}s": cumulative(values) for level, values in levels.items() if len(values)}
        lines = [Line(f"p{at}", *curve) for at, curve in enumerate(drawn.values())]
        if lines:
            right = max(1.0, *(float(line.x[-1]) for line in lines))
            yield Figure(
                f"{title(kind)}: how many stay below an efficiency",
                "Efficiency: use over request, summed over samples. Containers without a request are left out.",
                chart(f"CDF of {kind} efficiency", lines, "used ÷ requested", "share", x_max=right, y_max=1.0),
                [(line.css, name) for line, name in zip(lines, drawn, strict=True)],
            )


def _drivers(found: Assessment) -> Iterator[Block]:
    if not found.drivers:
        yield Paragraph("No app with a driver was recognised.")
        return
    yield Paragraph(tables.driver_sentence(found))
    yield from _filled(tables.stalls(found))
    yield Details("Apps with a driver", tables.drivers(found, SHOWN))


def _level(found: Assessment, level: str) -> Section:
    table = tables.things(found, level, SHOWN, wide=True)
    blocks = _filled(table)
    if blocks and level in ("container", "pod"):
        blocks = [Details(f"{len(table.rows):,} {level}s", table)]
    return Section(level, f"By {level}", blocks, "Namespaces" if level == "namespace" else "")
