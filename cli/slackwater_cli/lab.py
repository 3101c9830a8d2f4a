"""`slackwater lab`: a control plane on this machine; it comes with the source tree, not with the wheel."""

from __future__ import annotations

import typer

from slackwater.errors import Unavailable

# Everything after `slackwater lab` belongs to the lab's own command line, its help too.
SETTINGS = {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}, "add_help_option": False}


def command(context: typer.Context) -> None:
    """Start (`up`), stop (`down`) and look at (`status`) a real control plane on this machine."""
    try:
        from slackwater_lab.commands import app
    except ModuleNotFoundError as error:
        if error.name != "slackwater_lab":
            raise
        raise Unavailable("the lab is part of the source tree; clone the project and run `make install`") from error
    app(args=context.args, prog_name="slackwater lab")
