"""An assessment as one self-contained page: no script, no other file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from importlib.resources import files

import numpy as np

from slackwater_monitor.amounts import GIBI, amount, count, percent, seconds
from slackwater_monitor.assessing.assessment import KINDS, LEVELS, Assessment, Name
from slackwater_monitor.assessing.plain import NAMES, efficiencies, iso, limits, summary
from slackwater_monitor.assessing.table import ranked, sentence, wait_sentence
from slackwater_simulator.reports.svg import Line, chart

# Rows per table; the JSON file beside the page has all of them.
SHOWN = 100
TITLES = {"cpu": "CPU", "memory": "Memory"}
UNITS = {"cpu": (1.0, "cores"), "memory": (GIBI, "GiB")}


def render(found: Assessment) -> str:
    """The page as text."""
    style = files("slackwater_simulator.reports").joinpath("page.css").read_text(encoding="utf-8")
    body = "".join(
        (
            _header(found),
            _cards(found),
            _section("start", "The best places to start", _places(found)),
            _section("reclaim", "What could be reclaimed, at which risk", _offers(found)),
            _section("time", "Requested and used over time", _figures(_courses(found))),
            _section("efficiency", "Efficiency", _figures(_curves(found))),
            _section("drivers", "Drivers and waits", _drivers(found)),
            *(_section(level, f"By {level}", _level(found, level)) for level in reversed(LEVELS)),
            _section("notes", "What is missing", _notes(found)),
        )
    )
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>Slackwater assessment</title>'
        f"<style>{style}{EXTRA}</style></head><body><main>{body}</main></body></html>\n"
    )


EXTRA = """
main { max-width: 1240px; }
.lead { font-size: 1.12rem; margin: 4px 0 8px; }
td.l, th.l, td:has(.why) { text-align: left; }
td:has(.why) { white-space: normal; min-width: 24em; }
th, td { padding-left: 8px; padding-right: 8px; }
th.group { text-align: center; }
details { margin-top: 10px; }
summary { cursor: pointer; }
table caption { text-align: left; color: var(--soft); background: var(--page); font-size: .85rem; padding-bottom: 6px; }
@media (max-width: 600px) { table caption { max-width: 85vw; } }
"""


def _header(found: Assessment) -> str:
    facts = (
        f"{iso(found.grid.start)} to {iso(found.grid.end)}",
        f"{len(found.levels['pod'].get('memory') or found.levels['pod'].get('cpu') or {}):,} pods",
        f"{len(found.census.allocatable):,} nodes",
        f"windows of {seconds(found.grid.step)}",
        f"a sample every {seconds(found.interval)}",
    )
    links = "".join(
        f'<a href="#{name}">{text}</a>'
        for name, text in (
            ("start", "Where to start"),
            ("reclaim", "Reclaimable"),
            ("time", "Over time"),
            ("efficiency", "Efficiency"),
            ("drivers", "Drivers"),
            ("namespace", "Namespaces"),
            ("notes", "Missing"),
        )
    )
    return (
        '<header><p class="brand">Slackwater</p><h1>What is reserved, and what is used</h1>'
        f'<p class="lead">{escape(sentence(found))}</p>'
        f'<p class="facts">{" · ".join(escape(fact) for fact in facts)}</p><nav>{links}</nav></header>'
    )


def _cards(found: Assessment) -> str:
    return f'<div class="cards">{"".join(_card(found, kind, n) for n, kind in enumerate(found.courses))}</div>'


def _card(found: Assessment, kind: str, number: int) -> str:
    each = summary(found, kind)
    lines = "".join(
        f"<dt>{name}</dt><dd>{amount(kind, each[name], unit=True)}</dd>"
        for name in ("used", "requested", "allocatable")
    )
    return (
        f'<div class="card p{number}"><h2>{TITLES[kind]}</h2><p class="big">{percent(each["efficiency"])}'
        f"<small> of what is requested is used</small></p><dl>{lines}</dl></div>"
    )


def _section(name: str, title: str, body: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2>{body}</section>' if body else ""


def _table(caption: str, heads: list[str], rows: Iterator[list[str]], left: int = 1, above: str = "") -> str:
    """Cells are already HTML; the first `left` columns are names; `above` is a row of headings over the headings."""
    top = above + "".join(f'<th scope="col"{_left(at, left)}>{head}</th>' for at, head in enumerate(heads))
    lines = "".join(
        "<tr>"
        + "".join(
            f'<th scope="row" class="l">{cell}</th>' if at == 0 else f"<td{_left(at, left)}>{cell}</td>"
            for at, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0"><table><caption>{caption}</caption><thead><tr>{top}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def _left(at: int, left: int) -> str:
    return ' class="l"' if at < left else ""


def _places(found: Assessment) -> str:
    rows = (
        [
            escape(place.namespace),
            escape(place.app),
            f"{place.pods:,}",
            amount("cpu", place.cpu),
            amount("memory", place.memory),
            percent(place.share),
            f'<span class="why">{escape(place.sentence)}</span>',
        ]
        for place in found.places
    )
    heads = ["namespace", "app", "pods", "cores", "GiB", "of the cluster", "why and how"]
    caption = "Means over the period of what was asked for and not needed 95 % of the time."
    return _table(caption, heads, rows, 2) if found.places else ""


def _offers(found: Assessment) -> str:
    rows = (
        [
            TITLES[kind],
            "all of the time" if offer.share == 1 else f"{percent(offer.share)} of the time",
            amount(kind, offer.tasks, unit=True),
            amount(kind, offer.others, unit=True),
            percent(offer.alone),
            percent(offer.pooled),
        ]
        for kind, offers in found.offers.items()
        for offer in offers
    )
    heads = ["resource", "requests suffice", "task pods", "other pods", "container time above", "node time above"]
    caption = (
        "Each container's request is lowered to what sufficed for that share of its windows. Slack of task pods is "
        "reclaimable at once; that of other pods only by resizing them. “Node time above”: all containers of a node "
        "together used more than their lowered requests. Hindsight over this period, not a promise for the next."
    )
    return _table(caption, heads, rows, 2) if found.offers else ""


def _figures(drawn: Iterator[tuple[str, str, str, str]]) -> str:
    made = "".join(
        f'<figure><h3>{escape(title)}</h3><div class="legend">{legend}</div><div class="scroll">{svg}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
        for title, legend, svg, caption in drawn
    )
    return f'<div class="grid">{made}</div>' if made else ""


def _key(*items: tuple[str, str]) -> str:
    return "".join(f'<span><i class="{css}"></i>{escape(text)}</span>' for css, text in items)


def _courses(found: Assessment) -> Iterator[tuple[str, str, str, str]]:
    days = (np.arange(found.grid.count) + 1.0) * found.grid.step / 86400
    for kind, course in found.courses.items():
        unit, name = UNITS[kind]
        seen = np.isfinite(course.used)
        top = max(float(np.nanmax(course.asked, initial=0)), float(np.nanmax(course.used, initial=0))) / unit
        size = found.total.get(kind, 0.0) / unit
        near = 0 < size < 3 * top
        lines = [
            Line("asked", days[seen], course.asked[seen] / unit, filled=True),
            Line("used", days[seen], course.used[seen] / unit, filled=True),
        ]
        yield (
            TITLES[kind],
            _key(("asked", "requested"), ("used", "used"), *((("limit", "allocatable"),) if near else ())),
            chart(
                f"{TITLES[kind]} requested and used", lines, "days", name,
                x_max=float(days[-1]), y_max=max(top, size if near else 0) or 1.0, limit=size if near else None,
            ),
            f"{name}, mean over each window; gaps are drawn straight",
        )  # fmt: skip


def _curves(found: Assessment) -> Iterator[tuple[str, str, str, str]]:
    for kind in found.courses:
        lines, key = [], []
        for number, level in enumerate(("container", "app", "user")):
            known = efficiencies(found, level, kind)
            if len(known):
                share = np.arange(1, len(known) + 1) / len(known)
                points = np.unique(np.linspace(0, len(known) - 1, min(len(known), 200)).astype(np.int64))
                lines.append(Line(f"p{number}", np.append(known[0], known[points]), np.append(0.0, share[points])))
                key.append((f"p{number}", f"{level}s"))
        if lines:
            yield (
                f"{TITLES[kind]}: how many stay below an efficiency",
                _key(*key),
                chart(
                    f"CDF of {kind} efficiency", lines, "used ÷ requested", "share",
                    x_max=max(1.0, *(float(line.x[-1]) for line in lines)), y_max=1.0,
                ),
                "Equation 7: use over request, summed over samples. Containers without a request are left out.",
            )  # fmt: skip


def _drivers(found: Assessment) -> str:
    if not found.drivers:
        return "<p>No app with a driver was recognised.</p>"
    stalls = (
        [
            iso(stall.start),
            seconds(stall.end - stall.start),
            str(stall.drivers),
            str(stall.waiting),
        ]
        for stall in found.stalls
    )
    caption = "Stretches of a minute or more in which drivers ran, none of their tasks did, and tasks waited."
    table = _table(caption, ["from", "for", "drivers", "tasks waiting"], stalls) if found.stalls else ""
    apps = (
        [escape(namespace), escape(app), escape(framework or "a pod that owns pods")]
        for (namespace, app), framework in sorted(found.drivers.items())[:SHOWN]
    )
    listed = _table("", ["namespace", "app", "known by"], apps, 3)
    return (
        f"<p>{count(len(found.drivers), 'app')} with a driver. {escape(wait_sentence(found))}</p>{table}"
        f"<details><summary>Apps with a driver</summary>{listed}</details>"
    )


def _level(found: Assessment, level: str) -> str:
    names = ranked(found, level)
    heads = [*NAMES[level], *(what for _ in KINDS for what in WHAT)]
    groups = "".join(f'<th scope="colgroup" class="group" colspan="{len(WHAT)}">{TITLES[kind]}</th>' for kind in KINDS)
    above = f'<td colspan="{len(NAMES[level])}"></td>{groups}</tr><tr>'
    most = {kind: limits(found, level, kind) for kind in KINDS}
    rows = ([*(escape(part) for part in name), *_cells(found, level, name, most)] for name in names[:SHOWN])
    more = f" The {SHOWN} most wasteful of {len(names):,} are shown; the JSON has all." if len(names) > SHOWN else ""
    caption = f"CPU in cores, memory in GiB; the most wasteful first.{more}"
    table = _table(caption, heads, rows, len(NAMES[level]), above) if names else ""
    if level in ("container", "pod") and table:
        return f"<details><summary>{min(SHOWN, len(names)):,} {level}s</summary>{table}</details>"
    return table


WHAT = ("requested", "limit", "mean", "p95", "max", "efficiency")


def _cells(found: Assessment, level: str, name: Name, most: Mapping[str, Mapping[Name, float]]) -> Iterator[str]:
    for kind in KINDS:
        each = found.levels[level].get(kind, {}).get(name)
        if each is None:
            yield from ("–",) * len(WHAT)
        else:
            values = (each.asked or None, most[kind].get(name), each.used, each.p95, each.peak)
            yield from (amount(kind, value) for value in values)
            yield percent(each.efficiency)


def _notes(found: Assessment) -> str:
    if not found.notes:
        return "<p>Nothing: every metric was there, and no gap of two windows or more.</p>"
    return f"<ul>{''.join(f'<li>{escape(note)}</li>' for note in found.notes)}</ul>"
