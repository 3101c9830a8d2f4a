"""How advice about requests is printed: a table, then for each workload what to write and what to try."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slackwater_cli.printing import Column, Format, console, data, jsonable, put, table, tell

if TYPE_CHECKING:
    from rich.console import Console

    from slackwater_monitor.assessment.advice import Advice
    from slackwater_monitor.assessment.prices import Prices


def print_advice(found: Sequence[Advice], output: Format, rows: int, prices: Prices | None) -> None:
    """The workloads worth a change, most first; where money is told, by which prices."""
    if data([jsonable(each) for each in found], output):
        return
    out, wide = console(), output is Format.WIDE
    if not found:
        out.print("Every workload asks for about what it needs.")
        return
    from slackwater_simulator.charts.amounts import count

    shown = found[:rows]
    title = f"{len(shown)} of {count(len(found), 'workload that is', 'workloads that are')} worth a change"
    put(table(shown, _columns(priced=prices is not None), wide=wide, title=title), wide=wide)
    if prices is not None:
        tell(f"Prices: {prices.source}.")
    for each in shown:
        _print(out, each)


def _print(out: Console, each: Advice) -> None:
    lines = [f"\n# {each.namespace}/{each.kind}/{each.name}: {each.risk}", *(f"# note: {note}" for note in each.notes)]
    lines += [each.yaml, *([each.kubectl] if each.kubectl else []), f"# try it: {each.what_if}"]
    out.print("\n".join(lines), soft_wrap=True, highlight=False)


def _columns(*, priced: bool) -> list[Column[Advice]]:
    from slackwater_monitor.assessment.prices import about
    from slackwater_simulator.charts.amounts import amount

    made: list[Column[Advice]] = [
        Column("namespace", lambda each: each.namespace),
        Column("workload", lambda each: f"{each.kind}/{each.name}", most=40),
        Column("is", lambda each: "batch" if each.batch else "service"),
        Column("pods", lambda each: f"{each.pods:,}", number=True),
        Column("cores back", lambda each: amount("cpu", each.cores), number=True),
        Column("GiB back", lambda each: amount("memory", each.memory), number=True),
    ]
    if priced:
        made.append(Column("a month", lambda each: about(each.month or 0.0), number=True))
    return made
