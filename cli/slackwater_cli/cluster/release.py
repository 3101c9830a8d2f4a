"""`slackwater release`: free held pods by hand."""

from __future__ import annotations

import sys
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
from slackwater_cli.printing import Column, Format, Output, show, tell

# 0 all were freed, 1 nothing was held, 3 some could not be freed, 4 the question was not answered with yes.
NOTHING, SOME, NOT_CONFIRMED = 1, 3, 4


def command(
    pods: Annotated[list[str] | None, typer.Argument(help="Pods, as NAME or NAMESPACE/NAME.")] = None,
    app: Annotated[str | None, typer.Option(help="Every held pod of this app, as `apps` shows it.")] = None,
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
    """Lift our gate from PODS, take back parking. Exit codes: 0 freed, 1 nothing held, 3 some not freed, 4 unconfirmed.

    Freed pods are placed by kube-scheduler at once, without regard to queues, pools and order.
    """
    from slackwater_monitor.release import Released, chosen, held, places, released

    if not (pods or app or everything):
        raise InvalidInput("release", "nothing is named", "name pods, or give --app APP or --all")
    api = api_server(kubeconfig, context)
    place = None if everywhere else namespace_of(namespace, kubeconfig, context)
    known = [each for space in places(pods or (), app, place) for each in held(api, space, system=system)]
    found, missing = chosen(known, pods or (), app, place)
    for name in missing:
        where = "" if "/" in name else f" in {place or 'any namespace'}"
        tell(f"{name} is not held by Slackwater{where}", stderr=True)
    if found and not (dry_run or yes):
        _confirm(len(found))
    results = released(api, found, dry_run=dry_run)
    columns: list[Column[Released]] = [
        Column("NAMESPACE", lambda each: each.namespace),
        Column("POD", lambda each: each.name),
        Column("APP", lambda each: each.shown),
        Column("RESULT", lambda each: each.problem or each.result),
        Column("STILL HELD BY", lambda each: ", ".join(each.others), wide=True),
    ]
    show(results, columns, output, "" if known else "nothing is held")
    if not found:
        raise typer.Exit(NOTHING)
    if missing or any(each.problem for each in results):
        raise typer.Exit(SOME)


def _confirm(count: int) -> None:
    """Ask on stderr, beside what programs read; anything but yes ends the command."""
    from slackwater.cycle.appverdicts import singular

    typer.echo(singular(f"Free {count} pods now, past queue, pool and order? [y/N]: "), err=True, nl=False)
    answer = sys.stdin.readline()
    if answer.strip().lower() not in ("y", "yes"):
        tell("nothing was freed" if answer else "\nnothing was freed: nobody answers here; add --yes", stderr=True)
        raise typer.Exit(NOT_CONFIRMED)
