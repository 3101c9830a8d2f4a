"""`slackwater traces`: public traces, and fetching one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater_cli.helptexts import Command, Group
from slackwater_cli.printing import Column, Format, Output, show, tell
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_simulator.workload.publictraces import PublicTrace

group = typer.Typer(cls=Group, invoke_without_command=True, help="List public traces, or fetch one.")


@group.callback()
def _list(context: typer.Context, output: Output = Format.TABLE) -> None:
    """List public traces, with size, licence and what they are good for."""
    if context.invoked_subcommand is None:
        _show(output)


def _show(output: Format) -> None:
    from slackwater_simulator.workload.publictraces import TRACES

    show(list(TRACES.values()), _columns(), output, "there are none")


@group.command("list", cls=Command, hidden=True)
def _list_named(output: Output = Format.TABLE) -> None:
    """The same as `traces` alone, for those who type it."""
    _show(output)


@group.command(cls=Command)
def fetch(
    name: Annotated[str, typer.Argument(help="A name from the list.")],
    to: Annotated[Path, typer.Option(help="Folder to write it into.")] = Path(),
) -> None:
    """Download a trace, check its checksum, and say what to do with it."""
    from slackwater_simulator.reports.page import prepare
    from slackwater_simulator.workload.publictraces import named
    from slackwater_simulator.workload.tracefetch import fetch

    trace = named(name)
    prepare(to, "--to")
    with bars() as tick:
        path = fetch(trace, to, tick(name))
    tell(f"{path}: checksum is right; licence: {trace.licence}")
    typer.echo(f"try: {trace.use}")


def _columns() -> list[Column[PublicTrace]]:
    return [
        Column("name", lambda each: each.name),
        Column("size", lambda each: f"{each.size / 1e6:.1f} MB", number=True),
        Column("licence", lambda each: each.licence),
        Column("what it holds", lambda each: each.about),
        Column("fetch", lambda each: "yes" if each.url else "by hand"),
        Column("sha256 of its content", lambda each: each.sha256, wide=True),
        Column("page", lambda each: each.page, wide=True),
        Column("for", lambda each: each.use, wide=True),
    ]
