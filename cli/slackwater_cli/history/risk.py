"""`slackwater risk`: usage series played on machines, and what each estimator's promises were worth."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater_cli.printing import Column, Format, Output, data, put, table, tell, written
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slackwater_simulator.risk.bench import Score
    from slackwater_simulator.risk.machines import Play
    from slackwater_simulator.risk.series import UsageSeries

MANY = 10  # times as many tasks as are usually played, of which it is told that they take long


class Resource(StrEnum):
    """What the samples are of."""

    AUTO = "auto"
    CPU = "cpu"
    MEMORY = "memory"


def command(
    series: Annotated[
        str,
        typer.Argument(
            help="CSV, plain or gzipped: one series per line, five-minute samples in % of the request. Or a generator "
            "whose tasks are played: gen:borg, gen:hour?noise=0.3, gen:hour?shape=spike (or ramp, plateaus)."
        ),
    ],
    risk: Annotated[str, typer.Option(help="Probability that a promise of `slackwater` is exceeded.")] = "1%",
    residents: Annotated[int, typer.Option(help="Tasks on a machine at any moment.")] = 40,
    horizon: Annotated[
        str, typer.Option(help="How long a promise is to hold, such as 90m or 6h; at least one sample, 5m.")
    ] = "6h",
    machines: Annotated[int, typer.Option(help="Machines played side by side.")] = 100,
    days: Annotated[int, typer.Option(help="Days played; the first is not counted.")] = 7,
    whole_day: Annotated[
        float, typer.Option(help="Share of the tasks that last the day; the others take 10 minutes to 8 hours.")
    ] = 0.05,
    in_step: Annotated[
        bool, typer.Option("--in-step", help="Play every task at its own time of day; all end at midnight.")
    ] = False,
    unknown_apps: Annotated[
        float,
        typer.Option(
            help="Share of the tasks whose app was never seen: `slackwater` expects their memory by their request."
        ),
    ] = 0.0,
    resource: Annotated[
        Resource, typer.Option(help="auto: memory if the file's name says so or a generator has a shape, else cpu.")
    ] = Resource.AUTO,
    seed: Annotated[int, typer.Option(min=0, help="Of every draw: which series, how long, where.")] = 0,
    output: Output = Format.TABLE,
    report: Annotated[
        Path | None, typer.Option(help="Write a page with the frontier of savings over violations to this file.")
    ] = None,
) -> None:
    """Compare estimators of what a machine's tasks will use at most: violations, savings, tasks lost."""
    from slackwater.validation import probability
    from slackwater_monitor.history.grid import duration
    from slackwater_simulator.risk.bench import estimators, judge
    from slackwater_simulator.risk.frontier import gathered, settings
    from slackwater_simulator.risk.machines import Play
    from slackwater_simulator.risk.series import STEP, about_memory

    chance, asked_for = probability("--risk", risk), duration("--horizon", horizon)
    play = Play(machines, residents, days, samples(asked_for), seed, whole_day, in_step, unknown_apps)
    memory = about_memory(Path(series).name) if resource is Resource.AUTO else resource is Resource.MEMORY
    found = _series(series, memory, seed, whole_day)
    play.check(found)
    for note in notes(play, found, asked_for):
        tell(f"note: {note}", style="dim", stderr=True)
    asked = estimators(play, chance, memory)
    curves = settings(play, memory=memory) if report is not None else {}
    every = asked | {name: peak for group in curves.values() for name, peak in group.items()}
    if report is not None:
        from slackwater_simulator.reports.page import prepare_file

        import_module("slackwater_simulator.risk.page")  # before the play: what is missing is told at once
        prepare_file(report)
    with bars() as tick:
        scores = judge(found, play, every, memory=memory, tick=tick(found.name))
    shown = [score for score in scores if score.estimator in asked or score.estimator == "oracle"]
    if report is not None:
        from slackwater_simulator.charts.amounts import count
        from slackwater_simulator.risk.page import write

        size = f"{count(machines, 'machine')} of {count(residents, 'resident')}"
        title = f"{found.name}: {size}, horizon {span(play.horizon * STEP)}, {count(days, 'day')}"
        written(write(report, title, gathered(curves, scores), shown))
    _print(shown, output)


def _series(text: str, memory: bool, seed: int, whole_day: float) -> UsageSeries:
    """Those of a file, or the lives of a generator's tasks."""
    from slackwater_simulator.risk.lives import live
    from slackwater_simulator.risk.series import read
    from slackwater_simulator.workload.generators.catalogue import PREFIX

    if text.startswith(PREFIX):
        return live(text, memory=memory, seed=seed, whole_day=whole_day)
    return read(Path(text))


def samples(seconds: float) -> int:
    """A time span in samples of five minutes, at least one."""
    from slackwater_simulator.risk.series import STEP

    return max(1, round(seconds / STEP))


def span(seconds: float) -> str:
    """A time span as one writes it to the option: 90m, 6h."""
    return f"{seconds / 3600:g}h" if seconds % 3600 == 0 else f"{seconds / 60:g}m"


def notes(play: Play, found: UsageSeries, horizon: float) -> Iterator[str]:
    """What is played otherwise than one may think, and what will take long."""
    from slackwater_simulator.charts.amounts import seconds
    from slackwater_simulator.risk.machines import Play
    from slackwater_simulator.risk.ours import first_promise
    from slackwater_simulator.risk.series import STEP

    if horizon != play.horizon * STEP:
        yield f"samples are {span(STEP)} apart: --horizon {span(play.horizon * STEP)} is played, not {seconds(horizon)}"
    tasks, usual = play.machines * play.residents, Play().machines * Play().residents
    if tasks >= MANY * usual:
        yield f"{tasks:,} tasks at once are {tasks / usual:,.0f} times as many as usual, and take as much longer"
    day = found.samples.shape[1] * STEP
    counted = (play.days - 1) * day
    young = min(first_promise(play) - day, counted)
    if young > 0:
        yield (
            f"`slackwater` promises all requests for the first {seconds(young)} of the {seconds(counted)} that count: "
            "until then it has compared too few promises; give more --days or --machines"
        )


def _print(scores: list[Score], output: Format) -> None:
    rows = [asdict(score) for score in scores]
    if not data(rows, output):
        put(table(scores, _columns(scores)), wide=True)


def _columns(scores: list[Score]) -> list[Column[Score]]:
    columns: list[Column[Score]] = [
        Column("ESTIMATOR", lambda score: score.estimator),
        Column("VIOLATIONS", lambda score: f"{score.violation_rate:.3%}", number=True),
        Column("INTERVAL", lambda score: score.interval(2, "…"), number=True),
        Column("SEVERITY", lambda score: f"{score.severity_mean:.2%}", number=True),
        Column("P99", lambda score: f"{score.severity_p99:.2%}", number=True),
        Column("SAVINGS", lambda score: f"{score.savings:.1%}", number=True),
        Column("ORACLE", lambda score: f"{score.oracle_share:.1%}", number=True),
    ]
    if any(score.lost_tasks is not None for score in scores):
        columns.append(Column("LOST", lambda score: f"{score.lost_tasks:,}", number=True))
    if any(score.overloaded for score in scores):
        columns.append(Column("OVERLOADED", lambda score: f"{score.overloaded:.2%}", number=True))
    return columns
