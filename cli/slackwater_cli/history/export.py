"""`slackwater export`: a cluster's past as a workload trace, for `slackwater what-if` and `slackwater simulate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from slackwater.errors import InvalidInput
from slackwater_cli.cluster.connection import Context, Kubeconfig
from slackwater_cli.history import prometheus as asking
from slackwater_cli.progress import bars


def command(
    file: Annotated[Path, typer.Argument(help="Where to write: NAME.parquet, with its nodes and outcome beside it.")],
    prometheus: asking.Url = None,
    since: asking.Since = "7d",
    until: asking.Until = None,
    step: asking.Step = None,
    namespace: asking.Namespaces = None,
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
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Write arrivals, stages, requests, durations and use of the period into FILE."""
    if file.suffix != ".parquet":
        raise InvalidInput("FILE", f"{file.name} does not end in .parquet", "write for example week.parquet")
    known = asking.credentials(token_file, username, password_file, ca, insecure)
    server = asking.connection(prometheus, rate, timeout, known, tenant, "", kubeconfig, context)
    from slackwater_monitor.assessment.run import Order, run
    from slackwater_monitor.export import export, write
    from slackwater_monitor.history.labels import given
    from slackwater_simulator.charts.amounts import count

    chosen = asking.chosen_namespaces(namespace)
    windows = asking.period(since, until, step)
    order = Order(server, windows, cache, given(label or []), tuple(user_label or ()), stated=step is not None)
    with bars() as tick:
        found = run(order, tick("asking Prometheus"), tick("reading answers"))
    made = export(found, file.stem, chosen)
    paths = write(made, file)
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    jobs = made.workload.jobs
    sizes = {"job": len(jobs), "task": sum(job.tasks for job in jobs), "node": len(made.nodes)}
    console.print(", ".join(count(number, thing) for thing, number in sizes.items()))
    for note in (*made.workload.notes, *found.notes):
        console.print(f"note: {note}", style="dim", markup=False)
    for what, path in paths.items():
        console.print(f"{what}: {path}")
