"""`slackwater reproduce`: play the five papers' evaluations again and say, number by number, what holds."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from slackwater_cli.progress import bars

if TYPE_CHECKING:
    from slackwater_simulator.reproduction.study import Check, Study

STYLES = {"holds": "green", "does not hold": "bold red", "shown": "dim"}


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def command(
    papers: Annotated[list[str] | None, typer.Argument(help="000, 001, 002, 003, 004, or all (the default).")] = None,
    full: Annotated[bool, typer.Option("--full", help="All seeds and every sensitivity row; takes longer.")] = False,
    report: Annotated[Path | None, typer.Option(help="Write a page and its figures (SVG) into this folder.")] = None,
    output: Annotated[Format, typer.Option("--output", "-o", help="Print tables, JSON or Markdown.")] = Format.TABLE,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 uses all cores.")] = -1,
) -> None:
    """Reproduce the papers: published, ours, band, verdict, and what was modelled."""
    from slackwater_simulator.reproduction.papers import chosen

    wanted = chosen(papers or [])
    with bars() as tick:
        studies = [paper.reproduce(full=full, processes=jobs, tick=tick(paper.number)) for paper in wanted]
    if report is not None:
        from slackwater_simulator.reproduction.page import write

        Console(stderr=True, soft_wrap=True).print(f"report: {write(studies, report)}")
    _print(studies, output)


def _print(studies: list[Study], output: Format) -> None:
    if output is Format.JSON:
        from slackwater_simulator.reproduction.study import described

        typer.echo(json.dumps([described(study) for study in studies], indent=2, ensure_ascii=False))
        return
    if output is Format.MARKDOWN:
        from slackwater_simulator.reproduction.markdown import written

        typer.echo("\n".join(written(study) for study in studies))
        return
    console = Console()
    for study in studies:
        console.print(_table(f"{study.paper} · {study.title} ({study.runs})", study.checks))
        if study.sensitivity:
            console.print(_choices(study.sensitivity))
        for label, lines in (("modelled", study.modelled), ("note", study.remarks)):
            for line in lines:
                console.print(f"{label}: {line}", style="dim", soft_wrap=True, highlight=False, markup=False)
        console.print()


def _choices(checks: tuple[Check, ...]) -> Table:
    grid = Table("", "with another choice", "ours", title="sensitivity", title_justify="left", title_style="bold")
    for check in checks:
        grid.add_row(check.where, check.what, check.ours)
    return grid


def _table(title: str, checks: tuple[Check, ...]) -> Table:
    grid = Table(title=title, title_justify="left", title_style="bold")
    for name in ("", "what", "published", "ours", "band", "verdict"):
        grid.add_column(name, overflow="fold")
    for check in checks:
        verdict = f"[{STYLES[check.verdict.value]}]{check.verdict.value}[/]"
        grid.add_row(check.where, check.what, check.published, check.ours, check.band, verdict)
    return grid
