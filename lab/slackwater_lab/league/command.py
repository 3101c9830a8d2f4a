"""`python -m slackwater_lab league`: build the schedulers, play the workloads, keep the results."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from slackwater.errors import Unavailable
from slackwater_lab.league.rounds import is_log, play_all, turns
from slackwater_lab.league.workloads import WORKLOADS
from slackwater_lab.peers.catalogue import PEERS, TRIED, UNTRIED, peer

console = Console(highlight=False)
ALL, EVERY = "all", "every"


def league(
    workloads: Annotated[
        str, typer.Option(help=f"Comma-separated, of: {', '.join(WORKLOADS)}; or a trace (.jsonl).")
    ] = ALL,
    schedulers: Annotated[
        str,
        typer.Option(
            help=f"Comma-separated, of: {', '.join(TRIED)} (these are all); "
            f"written and not yet played: {', '.join(UNTRIED)} (with these: every)."
        ),
    ] = ALL,
    rounds: Annotated[int, typer.Option(min=1, help="How often each pair is played.")] = 3,
    size: Annotated[float, typer.Option(help="A share of nodes and jobs, for a short play.")] = 1.0,
    scale: Annotated[float, typer.Option(help="How many times as fast a trace is played.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of the first round; each round has the next one.")] = 1,
    results: Annotated[Path, typer.Option(help="Where results are kept; what is there is not played again.")] = Path(
        ".league"
    ),
    logs: Annotated[bool, typer.Option(help="Keep the logs of every lab, for who looks into a play.")] = False,
) -> None:
    """Play the same jobs under several schedulers, each in a fresh lab, and keep what the audit log tells."""
    names = list(WORKLOADS) if workloads == ALL else _split(workloads)
    players = {ALL: list(TRIED), EVERY: list(PEERS)}.get(schedulers) or _split(schedulers)
    made, logged = [name for name in names if not is_log(name)], [name for name in names if is_log(name)]
    wanted = turns(rounds, made, players, size, seed) + turns(rounds, logged, players, scale, seed)
    for turn in wanted:  # an unknown name is told before anything is built
        _ = peer(turn.scheduler), turn.jobs
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave in order: the lab must be stopped
    failed = play_all(wanted, results, _say, logs=logs)
    if failed:
        raise Unavailable(f"{failed} plays could not be set up; run it again to try them again")


def _split(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _say(text: str) -> None:
    console.print(f"  {text}", soft_wrap=True, markup=False)
