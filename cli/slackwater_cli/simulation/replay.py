"""`slackwater replay`: decide again what a live operator recorded."""

from __future__ import annotations

from pathlib import Path

import typer

from slackwater.errors import InvalidInput
from slackwater_cli.printing import tell


def command(
    recording: Path = typer.Argument(help="A file that the operator wrote with --record; .gz is read too."),
    show: int = typer.Option(10, min=0, help="How many differing rounds are shown."),
) -> None:
    """Decide recorded rounds again and name those that come out differently. Exit code 1 where one does."""
    from slackwater_simulator.charts.amounts import count
    from slackwater_simulator.recordings import REMEDY, replay

    rounds = releases = differing = 0
    for each in replay(recording):
        rounds += 1
        releases += each.releases
        if each.differences:
            differing += 1
            if differing <= show:
                tell(f"round {rounds} at {each.now:g}: " + "; ".join(each.differences))
    if not rounds:
        raise InvalidInput(str(recording), "it holds no round", REMEDY)
    done = f"{count(rounds, 'round')} with {count(releases, 'release')} decided again"
    tell(f"{done}, {differing} of them otherwise")
    if differing:
        raise typer.Exit(1)
