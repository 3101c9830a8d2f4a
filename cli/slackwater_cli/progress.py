"""Progress on the error stream, so that standard output stays clean for results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from slackwater_cli.printing import console, tell

Tick = Callable[[float], None]

SOON, LONG = 5.0, 60.0  # seconds after which it is foreseen how long it takes, and of which it is told


@contextmanager
def bars() -> Iterator[Callable[[str], Tick]]:
    """Gives a function that adds a bar and returns its callback, to be called with the share done.

    A file or a pipe is told once how long it will take, where that is long.
    """
    stream = console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stream, transient=True, disable=not stream.is_terminal) as progress:

        def tick(name: str) -> Tick:
            if not stream.is_terminal:
                return foreseen(name)
            task = progress.add_task(name, total=1.0)
            return lambda share: progress.update(task, completed=share)

        yield tick


def foreseen(name: str, clock: Callable[[], float] = time.monotonic) -> Tick:
    """A callback that tells once, from the share done until then, how long the rest will take."""
    from slackwater_simulator.charts.amounts import seconds

    began, told = clock(), False

    def tick(share: float) -> None:
        nonlocal told
        took = clock() - began
        if told or took < SOON or share <= 0:
            return
        told, left = True, took * (1.0 - share) / share
        if left >= LONG:
            tell(f"{name}: {share:.1%} done after {seconds(took)}, about {seconds(left)} more", stderr=True)

    return tick
