"""`python -m slackwater_lab autoscaler`: build Karpenter, and play a pool that grows beside the stock scheduler."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from slackwater_lab.autoscaler import trial
from slackwater_lab.autoscaler.karpenter import KARPENTER
from slackwater_lab.peers import sources

console = Console(highlight=False)


def autoscaler(
    rounds: Annotated[int, typer.Option(min=0, help="How often each player plays; 0 only builds Karpenter.")] = 1,
    players: Annotated[str, typer.Option(help="Only players whose name has this text.")] = "",
    results: Annotated[Path, typer.Option(help="Where results are kept, a line for each play.")] = Path(
        ".autoscaler.jsonl"
    ),
    logs: Annotated[Path | None, typer.Option(help="Keep the logs of every lab below this folder.")] = None,
) -> None:
    """Play the same jobs on machines that Karpenter adds and removes: machine-seconds and completion."""
    sources.build((KARPENTER,), _say)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave in order: the lab must be stopped
    found = []
    for number in range(1, rounds + 1):
        for peer in trial.players():
            if players in peer.name:
                _say(f"round {number}: {peer.name}")
                where = logs / f"{peer.name.replace(' ', '-')}-{number}" if logs else None
                found.append(trial.play(peer, number, where))
                with results.open("a") as file:
                    file.write(json.dumps(asdict(found[-1])) + "\n")
    if found:
        console.print(trial.table(found))


def _say(text: str) -> None:
    console.print(f"  {text}", soft_wrap=True, markup=False)
