"""Options that several commands share are declared once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer
from typer.testing import CliRunner

from slackwater_cli.optiongroups import grouped


@dataclass(frozen=True)
class Where:
    """Two options."""

    host: Annotated[str, typer.Option(help="Its name.")] = "here"
    port: Annotated[int, typer.Option("--at", help="Its port.")] = 80


def made() -> typer.Typer:
    """An app whose one command has a group between options of its own."""
    app = typer.Typer()

    @app.command()
    @grouped
    def command(
        name: Annotated[str, typer.Argument()],
        first: bool = False,
        *,
        where: Where,
        last: bool = False,
    ) -> None:
        """Say it."""
        typer.echo(f"{name} {first} {where} {last}")

    return app


def test_a_command_gets_the_options_of_a_group_together() -> None:
    """Each with its own default, beside the options that are its own."""
    run = CliRunner().invoke
    assert run(made(), ["x"]).stdout == f"x False {Where()} False\n"
    assert run(made(), ["x", "--at", "81", "--last"]).stdout == f"x False {Where(port=81)} True\n"


def test_help_lists_them_where_the_group_stands() -> None:
    """As if the command had written them all."""
    text = CliRunner().invoke(made(), ["--help"]).stdout
    assert "Say it." in text
    places = [text.index(option) for option in ("--first", "--host", "--at", "--last")]
    assert places == sorted(places)
