"""`slackwater check`: is it installed, reachable and at work."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from slackwater_cli.cluster.connection import Reach
from slackwater_cli.history import prometheus as asking
from slackwater_cli.optiongroups import grouped
from slackwater_cli.printing import Format, Output, console, data, jsonable

if TYPE_CHECKING:
    from slackwater_monitor.check import Finding

COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}
FAILED = 1
SECONDS = 10.0  # for an answer of Prometheus


@grouped
def command(
    output: Output = Format.TABLE,
    prometheus: Annotated[str, typer.Option(envvar="SLACKWATER_PROMETHEUS_URL", help="Also ask this Prometheus.")] = "",
    token_file: asking.TokenFile = None,
    ca: asking.Ca = None,
    strict: Annotated[bool, typer.Option("--strict", help="Let warnings count as failures.")] = False,
    *,
    reach: Reach,
) -> None:
    """Look at every part. Exit code 1 where one has failed."""
    from slackwater_monitor.check import check

    asked = asking.Server(timeout=SECONDS, token_file=token_file, ca=ca)
    server = asked.connection(prometheus) if prometheus else None
    found = list(check(*reach.clients(), server, reach.system, time.time))
    if not data(jsonable(found), output):
        _print(found)
    marks = {finding.mark.value for finding in found}
    if "failed" in marks or (strict and "warning" in marks):
        raise typer.Exit(FAILED)


def _print(found: list[Finding]) -> None:
    out = console()
    for finding in found:
        mark = finding.mark.value
        out.print(
            Text.assemble((f"{mark:<8}", COLOURS[mark]), " ", (f"{finding.part:<17}", "bold"), f" {finding.words}")
        )
