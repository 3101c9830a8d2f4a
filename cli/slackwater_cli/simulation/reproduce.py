"""`slackwater reproduce`: play the five papers' evaluations again and say, number by number, what holds."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slackwater_cli.printing import FOR_PEOPLE, Format, Output, console, data, tell, written
from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_simulator.reproduction.study import Study


def command(
    papers: Annotated[list[str] | None, typer.Argument(help="000, 001, 002, 003, 004, or all (the default).")] = None,
    full: Annotated[bool, typer.Option("--full", help="All seeds and every sensitivity row; takes longer.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a page and its figures (SVG) into this folder.")] = None,
    output: Output = Format.TABLE,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 uses all cores.")] = -1,
) -> None:
    """Reproduce the papers: published, ours, band, verdict, and what was modelled."""
    from slackwater_simulator.reproduction.papers import chosen

    wanted = chosen(papers or [])
    if report is not None:
        from slackwater_simulator.reports.page import prepare

        import_module("slackwater_simulator.reproduction.page")  # before the play: what is missing is told at once
        prepare(report)
    with bars() as tick:
        studies = [paper.reproduce(full=full, processes=jobs, tick=tick(paper.number)) for paper in wanted]
    if report is not None:
        from slackwater_simulator.reproduction.page import write

        written(write(studies, report))
    _print(studies, output)


def _print(studies: list[Study], output: Format) -> None:
    if output is Format.MARKDOWN:
        from slackwater_simulator.reproduction.markdown import written

        typer.echo("\n".join(written(study) for study in studies))
        return
    if output not in FOR_PEOPLE:
        from slackwater_simulator.reproduction.study import described

        data([described(study) for study in studies], output)
        return
    from slackwater_simulator.charts.table import terminal
    from slackwater_simulator.reproduction import tables

    out = console()
    for study in studies:
        out.print(terminal(tables.checks(study), boxed=True))
        if study.sensitivity:
            out.print(terminal(tables.sensitivity(study), boxed=True))
        for label, lines in (("modelled", study.modelled), ("note", study.remarks)):
            for line in lines:
                tell(f"{label}: {line}", style="dim")
        out.print()
