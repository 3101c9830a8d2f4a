"""The `slackwater` command.

Every file of this package, or of a package inside it, with a function `command` is a command named like the file, and
one with a typer app `group` is a group of commands. Such files import what is heavy only when the command runs, so that
`--help` stays quick.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from io import TextIOWrapper
from pkgutil import walk_packages

import typer

import slackwater_cli
from slackwater import __version__
from slackwater.errors import SlackwaterError
from slackwater_cli.helptexts import Command, Group
from slackwater_cluster.extras import remedy

# Exit codes: 2 as for any wrong argument, 130 as shells report an interrupted program.
REFUSED, INTERRUPTED = 2, 130
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.EPIPE)  # no mistake of ours

app = typer.Typer(
    cls=Group,
    name="slackwater",
    help="Schedule batch work into measured slack: assess, explain, simulate and operate.",
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


# How `--help` puts commands together, in this order; one that is not named here stands apart.
PANELS = {
    "Start here": ("demo",),
    "Your cluster as it was (nothing to install)": ("assess", "export", "what-if"),
    "Your cluster now": ("top", "explain", "when", "apps", "queues", "release", "check"),
    "Other clusters, other policies": ("simulate", "sweep", "traces", "risk", "replay", "reproduce"),
    "A cluster to try it on": ("lab",),
}


def _register() -> None:
    found = [each.name for each in walk_packages(slackwater_cli.__path__, "slackwater_cli.") if not each.ispkg]
    modules = {name.rpartition(".")[2].replace("_", "-"): name for name in found}
    panels = {name: panel for panel, names in PANELS.items() for name in names}
    for name in [*panels, *sorted(modules.keys() - panels.keys() - {"main"})]:
        module = import_module(modules[name])
        if hasattr(module, "command"):
            app.command(name, cls=Command, rich_help_panel=panels.get(name))(module.command)
        elif hasattr(module, "group"):
            app.add_typer(module.group, name=name, rich_help_panel=panels.get(name))


_register()


def run() -> None:
    """Entry point: a refusal is one red line and exit code 2, an interruption is exit code 130."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a character that the encoding lacks becomes a question mark
    try:
        try:
            app()
        finally:
            if sys.stdout is not None:  # nobody listens after `>&-`
                sys.stdout.flush()  # here, where it can be told that it fails
    except SlackwaterError as error:
        _refuse(str(error))
    except ModuleNotFoundError as error:
        advice = remedy(error.name or "")
        if advice is None:
            raise
        _refuse(f"{error.name} is not installed; {advice}")
    except OSError as error:  # a file that cannot be read or written, wherever that is noticed
        if error.filename is None:
            if error.errno not in UNWRITABLE:
                raise
            if sys.stdout is not None:
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # at the end it would be tried once more
            _refuse(f"reading or writing failed: {error.strerror}")
        _refuse(f"{str(error.filename)!r}: {error.strerror}; name another file or folder, or change its rights")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _refuse(sentence: str) -> None:
    from slackwater_cli.printing import tell

    tell(sentence, style="bold red", stderr=True)
    sys.exit(REFUSED)
