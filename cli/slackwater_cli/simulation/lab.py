"""`slackwater lab`: a control plane on this machine; it comes with the source tree, not with the wheel."""

from __future__ import annotations

from collections.abc import Callable

import typer

from slackwater.errors import Unavailable
from slackwater_cli.helptexts import Command, Group
from slackwater_cluster.extras import lab, remedy

group = typer.Typer(cls=Group, help="A real control plane on this machine, loopback only.", no_args_is_help=True)
# What follows the command's name is read by the lab's own command line, --help too.
_UNREAD = {"allow_extra_args": True, "ignore_unknown_options": True}
_COMMANDS = {
    "up": "Build what is missing, start what does not run, and print where everything listens.",
    "down": "Stop exactly what this lab started.",
    "status": "Show the processes of this lab, where they listen, and the nodes.",
    "env": "Print shell lines that point kubectl and the tests at this lab.",
    "build": "Build programs into the cache that all clones share.",
    "frameworks": "Build images and operators of the frameworks into the cache, without a registry.",
    "packages": "Install the Debian packages that the lab needs; as root.",
    "league": "Play the same jobs under several schedulers, each in a fresh lab, and keep what the audit log tells.",
    "autoscaler": "Play the same jobs on machines that Karpenter adds and removes: machine-seconds and completion.",
    "tools": "Fetch what tests need beyond Python: helm by Go, Chromium and Prometheus of Debian, where possible.",
}


def _handed_on(name: str) -> Callable[[typer.Context], None]:
    def command(context: typer.Context) -> None:
        try:
            from slackwater_lab.commands import app
        except ModuleNotFoundError as error:
            if remedy(error.name or "") is None:
                raise
            raise Unavailable(f"{error.name} is not installed, and the lab needs it; {lab()}") from error
        for each in app.registered_commands:
            each.cls = Command  # the lab does not know us, and its help texts are read here
        app(args=[name, *context.args], prog_name="slackwater lab")

    return command


for _name, _help in _COMMANDS.items():
    group.command(_name, help=_help, context_settings=_UNREAD, add_help_option=False)(_handed_on(_name))
