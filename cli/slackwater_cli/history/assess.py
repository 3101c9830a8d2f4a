"""`slackwater assess`: what a cluster reserves and uses, read from its Prometheus; nothing is installed or changed."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from slackwater_cli.history import prometheus as asking
from slackwater_cli.printing import Format, Output, data
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_monitor.assessment.assessment import Assessment
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


def command(
    prometheus: asking.Url = None,
    since: asking.Since = "7d",
    until: asking.Until = None,
    step: asking.Step = None,
    by: Annotated[Level, typer.Option(help="What one row of the table is.")] = Level.NAMESPACE,
    rows: Annotated[int, typer.Option(min=1, help="Rows of that table.")] = 10,
    report: Annotated[Path | None, typer.Option(help="Write a page and a JSON file into this folder.")] = None,
    output: Output = Format.TABLE,
    trace: Annotated[Path | None, typer.Option(help="Assess a published trace instead of a cluster.")] = None,
    cache: asking.Cache = None,
    rate: asking.Rate = 5.0,
    timeout: asking.Timeout = 60.0,
    label: asking.Label = None,
    user_label: asking.UserLabel = None,
    token_file: asking.TokenFile = None,
    username: asking.Username = "",
    password_file: asking.PasswordFile = None,
    ca: asking.Ca = None,
    insecure: asking.Insecure = False,
    tenant: asking.Tenant = "",
) -> None:
    """Say what is requested and used, what could be reclaimed at which risk, and where to begin."""
    if trace is not None:
        _trace(trace, output)
        return
    known = asking.credentials(token_file, username, password_file, ca, insecure)
    server = asking.connection(prometheus, rate, timeout, known, tenant, ", or --trace FILE")
    from slackwater_monitor.assessment.run import Order
    from slackwater_monitor.history.labels import given

    order = Order(server, asking.period(since, until, step), cache, given(label or []), tuple(user_label or ()))
    _show(_run(order), output, by.value, rows, report)


def _run(order: Order) -> Assessment:
    from slackwater_monitor.assessment.run import run

    with bars() as tick:
        return run(order, tick("asking Prometheus"), tick("reading answers"))


def _show(found: Assessment, output: Format, level: str, rows: int, report: Path | None) -> None:
    from slackwater_monitor.assessment.report.tables import render
    from slackwater_monitor.assessment.report.values import plain
    from slackwater_monitor.assessment.run import write

    if not data(plain(found), output):
        wide = output is Format.WIDE
        Console(soft_wrap=wide).print(render(found, level, rows, wide=wide))
    if report is not None:
        Console(stderr=True, soft_wrap=True).print(f"report: {write(found, report)}")


def _trace(path: Path, output: Format) -> None:
    from slackwater_monitor.traceefficiency import study

    found = study(path)
    if not data(found.plain(), output):
        _trace_table(found)


def _trace_table(found: Study) -> None:
    from rich.table import Table

    from slackwater_monitor.traceefficiency import SHARES

    made = Table(title=f"{found.name}: used of requested ({found.rows:,} rows, each {found.what})", title_style="bold")
    made.add_column("")
    for name in ("whole (eq. 7, by time)", *(f"p{round(100 * share)}" for share in SHARES)):
        made.add_column(name, justify="right")
    for kind, each in found.kinds.items():
        made.add_row(kind, f"{100 * each.whole:.2f} %", *(f"{each.at(share):.3f}" for share in SHARES))
    Console().print(made)
