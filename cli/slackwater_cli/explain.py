"""`slackwater explain`: why a pod waits, or why it is where it is, with the arithmetic."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from slackwater_cli.printing import Format, Output, data, plain
from slackwater_cli.reaching import (
    Context,
    ExtenderCa,
    ExtenderToken,
    ExtenderUrl,
    Kubeconfig,
    Namespace,
    System,
    api_server,
    extender,
    namespace_of,
)

# For scripts: 0 the pod has a node or is done, 1 there is no such pod, 2 could not ask, 3 it waits.
NOT_FOUND, WAITS = 1, 3


def command(
    pod: Annotated[str, typer.Argument(help="NAME, or NAMESPACE/NAME.")],
    namespace: Namespace = None,
    output: Output = Format.TABLE,
    extender_url: ExtenderUrl = "",
    extender_ca: ExtenderCa = None,
    extender_token: ExtenderToken = None,
    system: System = "slackwater-system",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Explain POD. Exit codes: 0 it has a node or is done, 1 no such pod, 2 could not ask, 3 it waits."""
    from slackwater_cluster.api.client import NotFound
    from slackwater_monitor.explaining import SHOWN, explain, lines

    place, _, name = pod.removeprefix("pod/").rpartition("/")
    chosen = place or namespace_of(namespace, kubeconfig, context)
    api = api_server(kubeconfig, context)
    try:
        found = explain(api, extender(api, extender_url, system, extender_ca, extender_token), chosen, name)
    except NotFound as problem:
        typer.echo(f"there is no pod {chosen}/{name}", err=True)
        raise typer.Exit(NOT_FOUND) from problem
    if output in (Format.JSON, Format.YAML):
        data(plain(found), output)
    else:
        _print(lines(found, None if output is Format.WIDE else SHOWN))
    if found.waits:
        raise typer.Exit(WAITS)


def _print(lines: list[tuple[str, str]]) -> None:
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="bold", no_wrap=True)
    made.add_column(overflow="fold")
    for what, words in lines:
        made.add_row(what, escape(words))
    Console().print(made)
