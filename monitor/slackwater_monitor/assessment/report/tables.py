"""The tables of an assessment, for terminal and page alike, and its sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from slackwater_cluster.timestamps import stamp
from slackwater_monitor.assessment.assessment import KINDS, Assessment, Name
from slackwater_monitor.assessment.prices import Prices, about
from slackwater_monitor.assessment.report.values import NAMES, efficiencies, idle_month, limits, summary
from slackwater_simulator.charts.amounts import amount, count, percent, seconds, title
from slackwater_simulator.charts.table import Styled, Table, terminal

SAFE = 0.95  # the share of the time at which the headline speaks of giving back
AT_ONCE, BY_RESIZING = "task pods: at once", "lower requests or resize"
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
TITLES = {"cpu": "CPU, cores", "memory": "memory, GiB"}


def render(
    found: Assessment, level: str = "namespace", rows: int = 10, *, wide: bool = False, prices: Prices | None = None
) -> RenderableType:
    """The assessment for a terminal; `level` chooses the table of things, of which the most wasteful are shown."""
    tables = [
        _summary(found),
        places(found, prices=prices),
        things(found, level, rows, wide=wide),
        _spread(found),
        offers(found),
    ]
    shown = [terminal(table) for table in tables if table.rows]
    return Group(*_headline(found, prices), *shown, *_closing(found))


def _headline(found: Assessment, prices: Prices | None) -> Iterator[Text]:
    yield Text(sentence(found), style="bold")
    if prices is not None:
        yield Text(idle_cost(found, prices), style="bold")
    grid = found.grid
    yield Text(
        f"{stamp(grid.start)} to {stamp(grid.end)} ({seconds(grid.end - grid.start)}, "
        f"windows of {seconds(grid.step)}, a sample every {seconds(found.interval)})",
        style="dim",
    )


def sentence(found: Assessment) -> str:
    """What is wasted, in one breath: requested and not used, and what could have been given back to other work."""
    shares = {kind: summary(found, kind)["efficiency"] for kind in KINDS if kind in found.courses}
    words = {"cpu": "of the CPU", "memory": "of the memory"}
    unused = [f"{percent(1 - share)} {words[kind]}" for kind, share in shares.items() if share is not None]
    if not unused:
        return "Nothing is known about what pods request."
    back = [
        amount(kind, offer.tasks + offer.others, unit=True)
        for kind in KINDS
        for offer in found.offers.get(kind, ())
        if offer.share == SAFE
    ]
    said = f"{' and '.join(unused)} that pods request is not used."
    if back:
        said += f" {' and '.join(back)} could be given back, with requests that suffice {percent(SAFE)} of the time."
    return said


def idle_cost(found: Assessment, prices: Prices) -> str:
    """What is reserved and not used, in money."""
    return f"What pods request and do not use costs about {about(idle_month(found, prices))} a month ({prices.source})."


def _summary(found: Assessment) -> Table:
    fields = ("allocatable", "requested", "used")
    rows = [
        (TITLES[kind], *(amount(kind, each[name]) for name in fields), percent(each["efficiency"]))
        for kind in found.courses
        for each in (summary(found, kind),)
    ]
    return Table("The cluster on average", ("", *fields, "used of requested"), rows)


def waste(found: Assessment, level: str, name: Name) -> float:
    """Reserved and not used, as a share of the cluster (or of all reservations where its size is unknown)."""
    worst = 0.0
    for kind in KINDS:
        figures = found.levels[level].get(kind, {}).get(name)
        if figures is None:
            continue
        size = found.total.get(kind) or sum(each.asked for each in found.levels["node"].get(kind, {}).values()) or 1.0
        period = found.grid.step * found.grid.count
        worst = max(worst, (figures.usage.reserved - figures.usage.used) / period / size)
    return worst


def ranked(found: Assessment, level: str) -> list[Name]:
    """Things of a level, the most wasteful first."""
    names = {name for kind in found.levels[level].values() for name in kind}
    return sorted(names, key=lambda name: (-waste(found, level, name), name))


def things(found: Assessment, level: str, rows: int, *, wide: bool = False) -> Table:
    """Requested, used (mean, p95, max) and efficiency of the most wasteful things of a level; wide: limits too."""
    names = ranked(found, level)
    shown = min(rows, len(names))
    heads = ("asked", *(("limit",) if wide else ()), "mean", "p95", "max", "eff.")
    most = {kind: limits(found, level, kind) for kind in KINDS} if wide else None
    several = f"The {shown} of {len(names)} {level}s that waste most"
    which = several if len(names) > 1 else f"The {level} that wastes most"
    more = f" {shown} of {len(names):,} are shown; the JSON has all." if len(names) > rows else ""
    return Table(
        f"{which} (CPU in cores, memory in GiB)",
        (*NAMES[level], *heads * len(KINDS)),
        [(*name, *_cells(found, level, name, most)) for name in names[:shown]],
        left=len(NAMES[level]),
        caption=f"CPU in cores, memory in GiB; the most wasteful first.{more}",
        groups=(("", len(NAMES[level])), ("CPU", len(heads)), ("Memory" if wide else "MEM", len(heads))),
    )


def _cells(found: Assessment, level: str, name: Name, most: Mapping[str, Mapping[Name, float]] | None) -> Iterator[str]:
    for kind in KINDS:
        each = found.levels[level].get(kind, {}).get(name)
        limit = () if most is None else (most[kind].get(name),)
        if each is None:
            yield from ("–",) * (5 + len(limit))
        else:
            yield from (amount(kind, value) for value in (each.asked or None, *limit, each.used, each.p95, each.peak))
            yield percent(each.efficiency)


def _spread(found: Assessment) -> Table:
    """The distribution of efficiency (equation 7) in a few points; the page has the curves, the JSON twenty points."""
    rows = [
        (
            f"{count(len(known), level)}, {TITLES[kind].partition(',')[0]}",
            *(percent(float(np.quantile(known, share))) for share in SHARES),
        )
        for level in ("container", "app", "user")
        for kind in found.courses
        if len(known := efficiencies(found, level, kind))
    ]
    return Table("Used of requested: so many of them stay below", ("", *(percent(share) for share in SHARES)), rows)


def offers(found: Assessment) -> Table:
    """What lower requests would give back, and how often they would not have sufficed."""
    rows = [
        (
            title(kind),
            "always" if offer.share == 1 else percent(offer.share),
            *(amount(kind, value, unit=True) for value in (offer.tasks, offer.others)),
            *(percent(share) for share in (offer.alone, offer.pooled)),
        )
        for kind, offered in found.offers.items()
        for offer in offered
    ]
    return Table(
        "Reclaimable on average, if each request were what sufficed for a share of the time",
        ("resource", "sufficed", "of task pods", "of other pods", "container time above", "node time above"),
        rows,
        left=2,
        caption="Each container's request is lowered to what sufficed for that share of its windows. Slack of task "
        "pods is reclaimable at once; that of other pods only by resizing them. “Node time above”: all containers of a "
        "node together used more than their lowered requests. Hindsight over this period, not a promise for the next.",
    )


def places(found: Assessment, *, why: bool = False, prices: Prices | None = None) -> Table:
    """Where to begin, by share of the cluster or, where prices are known, by money; with the whole reason on a page."""
    rows = [
        (
            *(place.namespace, place.app, f"{place.pods:,}"),
            *(amount("cpu", place.cpu), amount("memory", place.memory)),
            percent(place.share) if prices is None else about(prices.month(place.cpu, place.memory)),
            Styled(place.sentence if why else AT_ONCE if place.tasks else BY_RESIZING, "why"),
        )
        for place in found.places
    ]
    return Table(
        f"The {len(rows)} best places to start" if len(rows) > 1 else "The best place to start",
        (
            *("namespace", "app", "pods", "cores", "GiB"),
            "of cluster" if prices is None else "a month",
            "why and how" if why else "how",
        ),
        rows,
        left=2,
        right=1,
        caption="Means over the period of what was asked for and not needed 95 % of the time.",
        prose=why,
    )


def stalls(found: Assessment) -> Table:
    """Stretches in which drivers held what tasks waited for."""
    rows = [
        (stamp(stall.start), seconds(stall.end - stall.start), str(stall.drivers), str(stall.waiting))
        for stall in found.stalls
    ]
    caption = "Stretches of a minute or more in which drivers ran, none of their tasks did, and tasks waited."
    return Table("Stalls", ("from", "for", "drivers", "tasks waiting"), rows, caption=caption)


def drivers(found: Assessment, most: int) -> Table:
    """Apps with a driver, and how each was recognised."""
    rows = [
        (namespace, app, framework or "a pod that owns pods")
        for (namespace, app), framework in sorted(found.drivers.items())[:most]
    ]
    return Table("Apps with a driver", ("namespace", "app", "known by"), rows, left=3)


def _closing(found: Assessment) -> Iterator[Text]:
    if found.drivers:
        yield Text.assemble("\n", ("Drivers:", "bold"), f" {driver_sentence(found)}")
    for stall in found.stalls[:5]:
        yield Text.assemble(
            ("Stall:", "bold red"),
            f" {stamp(stall.start)}, {seconds(stall.end - stall.start)}: "
            f"{count(stall.drivers, 'driver')} ran, no task did, {count(stall.waiting, 'task')} waited",
        )
    if len(found.stalls) > 5:
        yield Text(f"… and {count(len(found.stalls) - 5, 'more stall')}", style="red")
    for note in found.notes:
        yield Text(f"note: {note}", style="dim")


def driver_sentence(found: Assessment) -> str:
    """How many apps have a driver, and how long drivers and tasks waited."""
    parts = [
        f"{role}s waited {seconds(each.median)} at the median, {seconds(each.longest)} at most"
        f" ({each.long} of {each.pods} over a minute{f', {each.never} never ran' if each.never else ''})"
        for role, each in found.waits.items()
        if each.pods
    ]
    stuck = sum(stall.end - stall.start for stall in found.stalls)
    ended = f"{count(len(found.stalls), 'stall')}, {seconds(stuck)} in all" if found.stalls else "no stall"
    said = "; ".join([*parts, ended]) + "."
    return f"{count(len(found.drivers), 'app')} with a driver. {said[:1].upper() + said[1:]}"
