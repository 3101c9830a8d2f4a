"""`slackwater assess`: what a cluster reserves and uses, read from its Prometheus; nothing is installed or changed."""

from __future__ import annotations

import json
import time
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from slackwater.errors import InvalidInput
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_monitor.assessing.assessment import Assessment
    from slackwater_monitor.assessing.running import Order
    from slackwater_monitor.history.grid import Grid
    from slackwater_monitor.traces import Study

# Seconds after which a window is surely complete: scrapes and remote writes come late.
LATE = 60


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


class Level(StrEnum):
    """What one row of the table is."""

    CONTAINER = "container"
    POD = "pod"
    APP = "app"
    NAMESPACE = "namespace"
    USER = "user"
    NODE = "node"


def command(
    prometheus: Annotated[
        str | None, typer.Option(envvar="SLACKWATER_PROMETHEUS_URL", help="Base URL of Prometheus, Thanos or Mimir.")
    ] = None,
    since: Annotated[str, typer.Option(help="How far to look back: 12h, 7d, 2w.")] = "7d",
    until: Annotated[str | None, typer.Option(help="End of the period, ISO 8601; default now.")] = None,
    step: Annotated[str | None, typer.Option(help="Length of a window; default about 2,000 windows.")] = None,
    by: Annotated[Level, typer.Option(help="What one row of the table is.")] = Level.NAMESPACE,
    rows: Annotated[int, typer.Option(min=1, help="Rows of that table.")] = 10,
    report: Annotated[Path | None, typer.Option(help="Write a page and a JSON file into this folder.")] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="Print a table or JSON.")] = Format.TABLE,
    trace: Annotated[Path | None, typer.Option(help="Assess a published trace instead of a cluster.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder of answers; an interrupted run resumes there.")] = None,
    rate: Annotated[float, typer.Option(help="Queries per second at most.")] = 5.0,
    timeout: Annotated[float, typer.Option(help="Seconds per query.")] = 60.0,
    label: Annotated[list[str] | None, typer.Option(help="A renamed label: pod=kubernetes_pod_name.")] = None,
    user_label: Annotated[list[str] | None, typer.Option(help="Pod label that names the user.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with a bearer token.")] = None,
    username: Annotated[str, typer.Option(help="For basic authentication.")] = "",
    password_file: Annotated[Path | None, typer.Option(help="File with that user's password.")] = None,
    ca: Annotated[Path | None, typer.Option(help="PEM file of the CA of Prometheus.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not verify its certificate.")] = False,
    tenant: Annotated[str, typer.Option(help="X-Scope-OrgID of Mimir or Thanos.")] = "",
) -> None:
    """Say what is requested and used, what could be reclaimed at which risk, and where to begin."""
    if trace is not None:
        _trace(trace, output)
        return
    if prometheus is None:
        raise InvalidInput("--prometheus", "no address is given", "add --prometheus http://HOST:PORT, or --trace FILE")
    from slackwater_monitor.assessing.running import Order
    from slackwater_monitor.history.labels import given
    from slackwater_monitor.prometheus import Connection

    connection = Connection(prometheus, rate, timeout, token_file, username, password_file, ca, insecure, tenant)
    order = Order(connection, period(since, until, step), cache, given(label or []), tuple(user_label or ()))
    _show(_run(order), output, by.value, rows, report)


def period(since: str, until: str | None, step: str | None) -> Grid:
    """The windows to look at."""
    from slackwater_monitor.history.grid import duration, grid

    end = time.time() - LATE if until is None else moment("--until", until)
    return grid(end, duration("--since", since), duration("--step", step) if step else None)


def moment(field: str, text: str) -> float:
    """A moment from ISO 8601; without a zone it is local time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError as problem:
        raise InvalidInput(field, f"{text!r} is no moment", "write it like 2026-11-15T06:00Z") from problem


def _run(order: Order) -> Assessment:
    from slackwater_monitor.assessing.running import run

    with bars() as tick:
        return run(order, tick("asking Prometheus"), tick("reading answers"))


def _show(found: Assessment, output: Format, level: str, rows: int, report: Path | None) -> None:
    from slackwater_monitor.assessing.plain import plain
    from slackwater_monitor.assessing.running import write
    from slackwater_monitor.assessing.table import render

    if output is Format.JSON:
        typer.echo(json.dumps(plain(found), indent=2, ensure_ascii=False))
    else:
        Console().print(render(found, level, rows))
    if report is not None:
        Console(stderr=True, soft_wrap=True).print(f"report: {write(found, report)}")


def _trace(path: Path, output: Format) -> None:
    from slackwater_monitor.traces import study

    found = study(path)
    if output is Format.JSON:
        typer.echo(json.dumps(found.plain(), indent=2, ensure_ascii=False))
    else:
        _trace_table(found)


def _trace_table(found: Study) -> None:
    from rich.table import Table

    from slackwater_monitor.traces import SHARES

    made = Table(title=f"{found.name}: used of requested ({found.rows:,} rows, each {found.what})", title_style="bold")
    made.add_column("")
    for name in ("whole (eq. 7, by time)", *(f"p{round(100 * share)}" for share in SHARES)):
        made.add_column(name, justify="right")
    for kind, each in found.kinds.items():
        made.add_row(kind, f"{100 * each.whole:.2f} %", *(f"{each.at(share):.3f}" for share in SHARES))
    Console().print(made)
