"""The `slackwater` command. Each command is a file of its own; what is heavy is imported only when a command runs."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec

import typer
from rich.console import Console
from rich.markup import escape

from slackwater import __version__
from slackwater.errors import SlackwaterError
from slackwater_cli.extras import remedy

# Exit codes: 2 as for any wrong argument, 130 as shells report an interrupted program.
REFUSED, INTERRUPTED = 2, 130
# Files of this package that hold one command each, named like the command; in the order of `--help`.
COMMANDS = ("assess", "explain", "release", "simulate", "reproduce", "sweep")

app = typer.Typer(
    name="slackwater",
    help="Schedule batch work into measured slack: simulate, explain and operate.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"slackwater {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Show the version."),
) -> None:
    """Options before the command."""


def _register() -> None:
    for name in COMMANDS:
        module = f"slackwater_cli.{name}"
        if find_spec(module) is not None:
            app.command(name)(import_module(module).command)


_register()


def run() -> None:
    """Entry point: a refusal is one red line and exit code 2, an interruption is exit code 130."""
    try:
        app()
    except SlackwaterError as error:
        _refuse(str(error))
    except ModuleNotFoundError as error:
        advice = remedy(error.name or "")
        if advice is None:
            raise
        _refuse(f"{error.name} is not installed; {advice}")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _refuse(sentence: str) -> None:
    Console(stderr=True, soft_wrap=True, highlight=False).print(f"[bold red]{escape(sentence)}[/]")
    sys.exit(REFUSED)
