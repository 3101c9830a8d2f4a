"""`slackwater export`: a cluster's past as a workload trace, for `slackwater what-if` and `slackwater simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from slackwater.errors import InvalidInput
from slackwater_cli.assess import period
from slackwater_cli.progress import bars


def command(
    file: Annotated[Path, typer.Argument(help="Where to write: NAME.parquet, with its nodes and outcome beside it.")],
    prometheus: Annotated[
        str | None, typer.Option(envvar="SLACKWATER_PROMETHEUS_URL", help="Base URL of Prometheus, Thanos or Mimir.")
    ] = None,
    since: Annotated[str, typer.Option(help="How far to look back: 12h, 7d, 2w.")] = "7d",
    until: Annotated[str | None, typer.Option(help="End of the period, ISO 8601; default now.")] = None,
    step: Annotated[str | None, typer.Option(help="Length of a window; default about 2,000 windows.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Folder of answers; an interrupted run resumes there.")] = None,
    rate: Annotated[float, typer.Option(help="Queries per second at most.")] = 5.0,
    timeout: Annotated[float, typer.Option(help="Seconds per query.")] = 60.0,
    label: Annotated[list[str] | None, typer.Option(help="A renamed label: pod=kubernetes_pod_name.")] = None,
    user_label: Annotated[list[str] | None, typer.Option(help="Pod label that names the user.")] = None,
    token_file: Annotated[Path | None, typer.Option(help="File with a bearer token.")] = None,
    ca: Annotated[Path | None, typer.Option(help="PEM file of the CA of Prometheus.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Do not verify its certificate.")] = False,
    tenant: Annotated[str, typer.Option(help="X-Scope-OrgID of Mimir or Thanos.")] = "",
) -> None:
    """Write arrivals, stages, requests, durations and use of the period into FILE."""
    if prometheus is None:
        raise InvalidInput("--prometheus", "no address is given", "add --prometheus http://HOST:PORT")
    if file.suffix != ".parquet":
        raise InvalidInput("FILE", f"{file.name} does not end in .parquet", "write for example week.parquet")
    from slackwater_monitor.assessing.running import Order, run
    from slackwater_monitor.exporting import export, write
    from slackwater_monitor.history.labels import given
    from slackwater_monitor.prometheus import Connection

    connection = Connection(prometheus, rate, timeout, token_file=token_file, ca=ca, insecure=insecure, tenant=tenant)
    order = Order(connection, period(since, until, step), cache, given(label or []), tuple(user_label or ()))
    with bars() as tick:
        found = run(order, tick("asking Prometheus"), tick("reading answers"))
    made = export(found, file.stem)
    paths = write(made, file)
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    tasks = sum(job.tasks for job in made.workload.jobs)
    console.print(f"{len(made.workload.jobs):,} jobs, {tasks:,} tasks, {len(made.nodes):,} nodes")
    for note in (*made.workload.notes, *found.notes):
        console.print(f"note: {note}", style="dim", markup=False)
    for what, path in paths.items():
        console.print(f"{what}: {path}")
