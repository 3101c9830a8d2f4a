"""`slackwater sweep`: a grid of parameters, every combination played and summarised over seeds."""

from __future__ import annotations

import math
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from slackwater_cli.printing import Format, Output, data, put
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_simulator.reports.rows import Row
    from slackwater_simulator.sweeps import Summary, SweepRun

# The columns of the table; JSON and CSV hold every metric of every run.
METRICS = {
    "makespan_s": "makespan",
    "mean_completion_s": "completion",
    "small_mean_completion_s": "small jobs",
    "mean_wait_s": "wait",
    "failures": "failures",
}
# Jobs that are in no time of the table: shown wherever there are any, also beside columns that the file names.
LEFT = ("unfinished", "refused")


def command(
    file: Annotated[
        Path, typer.Argument(help="YAML: workload, cluster, policy, seeds, set and grid (see docs/simulator).")
    ],
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 uses all cores.")] = -1,
    backend: Annotated[str, typer.Option(help="loky, threading, dask or ray.")] = "loky",
    output: Output = Format.TABLE,
) -> None:
    """Play every combination of FILE's grid and print means over seeds."""
    from slackwater_simulator.sweeps import cells, read

    asked = read(file)
    todo = cells(asked)
    rows = _play(todo, jobs, backend)
    if not data(rows, output):
        _table(todo, rows, asked.metrics)


def _play(todo: list[SweepRun], jobs: int, backend: str) -> list[Row]:
    from slackwater_simulator.charts.amounts import count
    from slackwater_simulator.sweeps import play_all

    rows: list[Row] = []
    # Ray tells on the standard output that a worker died; there, a program reads the rows.
    with bars() as tick, redirect_stdout(sys.stderr):
        done = tick(count(len(todo), "run"))
        for row in play_all(todo, jobs=jobs, backend=backend):
            rows.append(row)
            done(len(rows) / len(todo))
    return rows


def _heading(name: str) -> str:
    """What a metric is called in the table, with its unit; counts and shares have none."""
    said = METRICS.get(name, name.removesuffix("_s").replace("_", " "))
    return f"{said}, s" if name.endswith("_s") else said


def _table(todo: list[SweepRun], rows: list[Row], chosen: list[str]) -> None:
    from slackwater_simulator.charts.amounts import count
    from slackwater_simulator.sweeps import summarise

    summaries = summarise(todo, rows, tuple(dict.fromkeys((*(chosen or METRICS), *LEFT))))
    usual = (*(() if chosen else METRICS), *LEFT)
    seen = [name for name in usual if any(summary.mean[name] > 0 for summary in summaries)]
    shown = list(dict.fromkeys((*chosen, *seen)))
    title = f"mean ± standard deviation over {count(summaries[0].runs, 'seed')}"
    grid = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    for name, _ in summaries[0].point:
        grid.add_column(name, no_wrap=True)
    grid.add_column("policy", no_wrap=True)
    stuck = any(summary.deadlocks for summary in summaries)
    for name in (*map(_heading, shown), *(["deadlocks"] if stuck else [])):
        grid.add_column(name, justify="right", no_wrap=True)
    for summary in summaries:
        grid.add_row(
            *_cells(summary, shown),
            *([str(summary.deadlocks)] if stuck else []),
            style="red" if summary.deadlocks or summary.mean["unfinished"] > 0 else None,
        )
    put(grid, wide=True)


def _cells(summary: Summary, shown: list[str]) -> list[str]:
    point = [str(value) for _, value in summary.point]
    numbers = [_number(summary.mean[name], summary.deviation[name], summary.runs) for name in shown]
    return [*point, summary.policy, *numbers]


def _number(mean: float, deviation: float, runs: int) -> str:
    if math.isnan(mean):
        return "–"
    digits = 0 if mean >= 100 else 1 if mean >= 2 or mean == 0 else 3
    return f"{mean:,.{digits}f} ± {deviation:,.{digits}f}" if runs > 1 else f"{mean:,.{digits}f}"
