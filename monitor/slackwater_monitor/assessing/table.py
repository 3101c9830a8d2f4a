"""An assessment in the terminal: first what it means, then the numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from slackwater_monitor.amounts import amount, count, percent, seconds
from slackwater_monitor.assessing.assessment import KINDS, Assessment, Name
from slackwater_monitor.assessing.plain import NAMES, efficiencies, iso, limits, summary

SAFE = 0.95  # the share of the time at which the headline speaks of giving back
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
TITLES = {"cpu": "CPU, cores", "memory": "memory, GiB"}


def render(found: Assessment, level: str = "namespace", rows: int = 10, *, wide: bool = False) -> RenderableType:
    """The whole assessment; `level` chooses the table of things, of which the most wasteful are shown."""
    parts: list[RenderableType] = [*_headline(found), _summary(found)]
    if found.places:
        parts.append(_places(found))
    parts += [things(found, level, rows, wide=wide), _spread(found)]
    if found.offers:
        parts.append(_offers(found))
    parts.extend(_words(found))
    return Group(*parts)


def _headline(found: Assessment) -> Iterator[str]:
    yield f"[bold]{sentence(found)}[/]"
    grid = found.grid
    yield (
        f"[dim]{iso(grid.start)} to {iso(grid.end)} ({seconds(grid.end - grid.start)}, windows of {seconds(grid.step)}"
        f", a sample every {seconds(found.interval)})[/]"
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


def _grid(title: str, *columns: str, left: int = 1) -> Table:
    made = Table(
        title=f"\n{title}", title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for number, name in enumerate(columns):
        made.add_column(name, justify="left" if number < left else "right", overflow="fold", header_style="dim")
    return made


def _summary(found: Assessment) -> Table:
    made = _grid("The cluster on average", "", "allocatable", "requested", "used", "used of requested")
    for kind in found.courses:
        each = summary(found, kind)
        made.add_row(
            TITLES[kind],
            *(amount(kind, each[name]) for name in ("allocatable", "requested", "used")),
            percent(each["efficiency"]),
        )
    return made


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
    limit = ("limit",) if wide else ()
    heads = [head for kind in ("CPU", "MEM") for head in (f"{kind} asked", *limit, "mean", "p95", "max", "eff.")]
    most = {kind: limits(found, level, kind) for kind in KINDS} if wide else None
    made = _grid(
        f"The {shown} of {len(names)} {level}s that waste most (CPU in cores, memory in GiB)",
        *NAMES[level],
        *heads,
        left=len(NAMES[level]),
    )
    for name in names[:shown]:
        made.add_row(*(escape(part) for part in name), *_cells(found, level, name, most))
    return made


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
    made = _grid("Used of requested: so many of them stay below", "", *(percent(share) for share in SHARES))
    for level in ("container", "app", "user"):
        for kind in found.courses:
            known = efficiencies(found, level, kind)
            if len(known):
                cells = (percent(float(np.quantile(known, share))) for share in SHARES)
                made.add_row(f"{count(len(known), level)}, {TITLES[kind].partition(',')[0]}", *cells)
    return made


def _offers(found: Assessment) -> Table:
    made = _grid(
        "Reclaimable on average, if each request were what sufficed for a share of the time",
        "resource", "sufficed", "of task pods", "of other pods", "container time above", "node time above", left=2,
    )  # fmt: skip
    for kind, offers in found.offers.items():
        for offer in offers:
            share = "always" if offer.share == 1 else percent(offer.share)
            back = (amount(kind, value) for value in (offer.tasks, offer.others))
            made.add_row(TITLES[kind], share, *back, percent(offer.alone), percent(offer.pooled))
    return made


def _places(found: Assessment) -> Table:
    made = _grid(
        f"The {len(found.places)} best places to start" if len(found.places) > 1 else "The best place to start",
        "namespace",
        "app",
        "pods",
        "cores",
        "GiB",
        "of cluster",
        "how",
        left=2,
    )
    made.columns[-1].justify = "left"
    for place in found.places:
        how = "task pods: at once" if place.tasks else "lower requests or resize"
        made.add_row(
            escape(place.namespace),
            escape(place.app),
            f"{place.pods:,}",
            amount("cpu", place.cpu),
            amount("memory", place.memory),
            percent(place.share),
            how,
        )
    return made


def _words(found: Assessment) -> Iterator[str]:
    drivers = found.drivers
    if drivers:
        yield f"\n[bold]Drivers:[/] {count(len(drivers), 'app')} with one. {wait_sentence(found)}"
    for stall in found.stalls[:5]:
        yield (
            f"[bold red]Stall:[/] {iso(stall.start)}, {seconds(stall.end - stall.start)}: "
            f"{count(stall.drivers, 'driver')} ran, no task did, {count(stall.waiting, 'task')} waited"
        )
    if len(found.stalls) > 5:
        yield f"[red]… and {len(found.stalls) - 5} more stalls[/]"
    for note in found.notes:
        yield f"[dim]note: {escape(note)}[/]"


def wait_sentence(found: Assessment) -> str:
    """How long drivers and tasks waited, in words."""
    parts = [
        f"{role}s waited {seconds(each.median)} at the median, {seconds(each.longest)} at most"
        f" ({each.long} of {each.pods} over a minute{f', {each.never} never ran' if each.never else ''})"
        for role, each in found.waits.items()
        if each.pods
    ]
    stuck = sum(stall.end - stall.start for stall in found.stalls)
    ended = f"{count(len(found.stalls), 'stall')}, {seconds(stuck)} in all" if found.stalls else "no stall"
    said = "; ".join([*parts, ended]) + "."
    return said[:1].upper() + said[1:]
