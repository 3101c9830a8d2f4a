"""`slackwater release`: free held pods by hand."""

from __future__ import annotations

from typing import Annotated

import typer

from slackwater.errors import InvalidInput
from slackwater_cli.cluster.connection import (
    Context,
    Everywhere,
    Kubeconfig,
    Namespace,
    System,
    api_server,
    namespace_of,
)
from slackwater_cli.printing import Column, Format, Output, show

# 0 all were freed, 1 nothing was held, 3 some could not be freed.
NOTHING, SOME = 1, 3


def command(
    pods: Annotated[list[str] | None, typer.Argument(help="Names of pods.")] = None,
    app: Annotated[str | None, typer.Option(help="Every held pod of this app.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every held pod of the namespace.")] = False,
    namespace: Namespace = None,
    everywhere: Everywhere = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say which pods would be freed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    output: Output = Format.TABLE,
    system: System = "slackwater-system",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Lift our gate from PODS and take back parking. Exit codes: 0 freed, 1 nothing is held, 3 some were not freed.

    Freed pods are placed by kube-scheduler at once, without regard to queues, pools and order.
    """
    from slackwater_monitor.release import Held, chosen, held, release

    if not (pods or app or everything):
        raise InvalidInput("release", "nothing is named", "name pods, or give --app APP or --all")
    api = api_server(kubeconfig, context)
    place = None if everywhere else namespace_of(namespace, kubeconfig, context)
    found, missing = chosen(held(api, place, system=system), pods or (), app)
    for name in missing:
        typer.echo(f"{name} is not held by Slackwater in {place or 'any namespace'}", err=True)
    if not found:
        typer.echo("nothing is held", err=True)
        raise typer.Exit(NOTHING)
    if not (dry_run or yes):
        typer.confirm(f"Free {len(found)} pods now, past queue, pool and order?", abort=True)
    results = {(each.namespace, each.name): "would be freed" if dry_run else release(api, each) for each in found}
    columns: list[Column[Held]] = [
        Column("NAMESPACE", lambda each: each.namespace),
        Column("POD", lambda each: each.name),
        Column("APP", lambda each: each.app),
        Column("RESULT", lambda each: results[each.namespace, each.name] or "freed"),
        Column("STILL HELD BY", lambda each: ", ".join(each.others), wide=True),
    ]
    show(found, columns, output, "")
    if missing or (not dry_run and any(results.values())):
        raise typer.Exit(SOME)
