"""Progress bars on the error stream, so that standard output stays clean for results."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from slackwater_cli.printing import console

Tick = Callable[[float], None]


@contextmanager
def bars() -> Iterator[Callable[[str], Tick]]:
    """Gives a function that adds a bar and returns its callback, to be called with the share done."""
    stream = console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=stream, transient=True, disable=not stream.is_terminal) as progress:

        def tick(name: str) -> Tick:
            task = progress.add_task(name, total=1.0)
            return lambda share: progress.update(task, completed=share)

        yield tick
