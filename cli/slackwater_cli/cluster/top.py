"""`slackwater top`: nodes, queues, pools and apps, live."""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated

import typer
from rich.live import Live as Screen

from slackwater_cli.cluster.connection import Reach
from slackwater_cli.optiongroups import grouped
from slackwater_cli.printing import Format, Output, console, data, jsonable, put

# Nothing at all could be read.
BLIND = 1


@grouped
def command(
    interval: Annotated[float, typer.Option(min=1, help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Print one picture and end.")] = False,
    nodes: Annotated[int, typer.Option(min=1, help="Nodes shown, the fullest first.")] = 20,
    apps: Annotated[int, typer.Option(min=1, help="Apps shown, the first in line first.")] = 15,
    output: Output = Format.TABLE,
    *,
    reach: Reach,
) -> None:
    """Show the cluster until interrupted; once where the output is no terminal. Exit code 1: nothing can be read."""
    from slackwater_monitor.screen import render
    from slackwater_monitor.sources.live import Live

    source = Live(*reach.clients(), system=reach.system)
    picture = partial(render, nodes=nodes, apps=apps, wide=output is Format.WIDE)
    seen = source.snapshot()
    if data(jsonable(seen), output):
        pass
    elif once or not console().is_terminal:
        put(picture(seen), wide=output is Format.WIDE)
    else:
        with Screen(picture(seen), console=console(), auto_refresh=False, screen=True) as screen:
            while True:
                time.sleep(interval)
                screen.update(picture(source.snapshot()), refresh=True)
    if not (seen.nodes or seen.apps or seen.queues):
        raise typer.Exit(BLIND)
