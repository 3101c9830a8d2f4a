"""`slackwater assess`: what a cluster reserves and uses, read from its Prometheus; nothing is installed or changed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater.errors import InvalidInput
from slackwater_cli.history import prometheus as asking
from slackwater_cli.history.advice import print_advice
from slackwater_cli.optiongroups import grouped
from slackwater_cli.options import refuse_unread
from slackwater_cli.printing import Format, Output, data, put, tell, written
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_monitor.assessment.assessment import Assessment
    from slackwater_monitor.assessment.prices import Prices
    from slackwater_monitor.assessment.run import Order
    from slackwater_monitor.traceefficiency import Study


class Level(StrEnum):
    """What one row of the table is."""

    CONTAINER = "container"
    POD = "pod"
    APP = "app"
    NAMESPACE = "namespace"
    USER = "user"
    NODE = "node"


_ROW = "What one row of the table is: container, pod, app, namespace, user or node."
By = Annotated[Level | None, typer.Option(metavar="<what>", help=_ROW, show_default="namespace")]
Advised = Annotated[bool, typer.Option("--advice", help="What to write into each workload, with YAML and kubectl.")]
Risk = Annotated[str, typer.Option(help="With --advice: share of the time in which CPU may be above it.")]
PriceList = Annotated[str | None, typer.Option(help="Example prices of January 2025: aws, gcp or azure.")]
CpuPrice = Annotated[float | None, typer.Option(help="US dollars for a core-hour.")]
GibPrice = Annotated[float | None, typer.Option(help="US dollars for a GiB-hour of memory.")]


BESIDE_TRACE = ("trace", "output", "report")  # options that a published trace is assessed with


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is shown of an assessment."""

    by: Level
    rows: int
    report: Path | None
    advice: bool
    risk: float
    prices: Prices | None


@grouped
def command(
    *,
    called: typer.Context,
    past: asking.Past,
    by: By = None,
    rows: Annotated[int, typer.Option(min=1, help="Rows of that table.")] = 10,
    report: Annotated[Path | None, typer.Option(help="Write a page and a JSON file into this folder.")] = None,
    advice: Advised = False,
    risk: Risk = "5%",
    prices: PriceList = None,
    cpu_price: CpuPrice = None,
    gib_price: GibPrice = None,
    output: Output = Format.TABLE,
    trace: Annotated[Path | None, typer.Option(help="Assess a published trace instead of a cluster.")] = None,
    server: asking.Server,
) -> None:
    """Say what is requested and used, what could be reclaimed at which risk, and where to begin."""
    if trace is not None:
        refuse_unread(called, lambda name: name not in BESIDE_TRACE, "it is for clusters, not for --trace")
        _trace(trace, output, report)
        return
    wanted = Wanted(by or Level.NAMESPACE, rows, report, advice, *_money(risk, prices, cpu_price, gib_price))
    _show(_run(server.order(past, ", or --trace FILE", past.namespaces())), output, wanted)


def _run(order: Order) -> Assessment:
    from slackwater_monitor.assessment.run import run

    with bars() as tick:
        return run(order, tick("asking Prometheus"), tick("reading answers"))


def _money(risk: str, name: str | None, core: float | None, gib: float | None) -> tuple[float, Prices | None]:
    """The risk as a share, and the prices."""
    from slackwater_monitor.assessment.prices import chosen

    try:
        share = float(risk.rstrip("%")) / (100 if risk.endswith("%") else 1)
    except ValueError as problem:
        raise InvalidInput("--risk", f"{risk!r} is no share", "write 5% or 0.05") from problem
    if not 0 <= share <= 0.5:
        raise InvalidInput("--risk", f"{risk!r} is not between 0 and 50 %", "write 5% or 0.05")
    return share, chosen(name, core, gib)


def _show(found: Assessment, output: Format, wanted: Wanted) -> None:
    from slackwater_monitor.assessment.advice import advise
    from slackwater_monitor.assessment.report.tables import render
    from slackwater_monitor.assessment.report.values import jsonable, rows
    from slackwater_monitor.assessment.run import write

    if wanted.advice:
        print_advice(advise(found, risk=wanted.risk, prices=wanted.prices), output, wanted.rows, wanted.prices)
    elif output in (Format.CSV, Format.MARKDOWN):
        data(rows(found, wanted.by.value, wanted.prices), output)
    elif not data(jsonable(found, wanted.prices), output):
        wide = output is Format.WIDE
        put(render(found, wanted.by.value, wanted.rows, wide=wide, prices=wanted.prices), wide=wide)
        tell("What to write into each workload: add --advice", style="dim")
        if wanted.prices is None:
            tell("What it costs: add --prices aws, azure or gcp, or your own --cpu-price and --gib-price", style="dim")
    if wanted.report is not None:
        written(write(found, wanted.report, wanted.prices))


def _trace(path: Path, output: Format, report: Path | None) -> None:
    from slackwater_monitor.traceefficiency import study, write

    found = study(path)
    if not data(found.jsonable(), output):
        _trace_table(found)
    if report is not None:
        written(write(found, report))


def _trace_table(found: Study) -> None:
    from rich.table import Table

    from slackwater_monitor.traceefficiency import SHARES
    from slackwater_simulator.charts.amounts import count

    rows = count(found.rows, "row")
    made = Table(title=f"{found.name}: used of requested ({rows}, each {found.what})", title_style="bold")
    made.add_column("")
    for name in ("whole, by time", *(f"p{round(100 * share)}" for share in SHARES)):
        made.add_column(name, justify="right")
    for kind, each in found.kinds.items():
        made.add_row(kind, f"{100 * each.whole:.2f} %", *(f"{each.at(share):.3f}" for share in SHARES))
    put(made, wide=False)
