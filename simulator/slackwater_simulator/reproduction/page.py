"""One self-contained page: for each paper its checks, its figures, what was modelled and where we do not match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from slackwater_simulator.reproduction.drawing import draw
from slackwater_simulator.reproduction.study import Check, Plot, Study, Verdict

MARKS = {Verdict.HOLDS: "✓ holds", Verdict.FAILS: "✗ does not hold", Verdict.SHOWN: "–"}
EXTRA = """
td, th { white-space: normal; text-align: left; vertical-align: top; }
td.fails { color: var(--bad); font-weight: 650; white-space: nowrap; }
td.holds { color: var(--used); white-space: nowrap; }
h3 { margin: 22px 0 8px; } figure h3 { margin: 0 0 8px; } .grid { margin-top: 14px; }
"""


def write(studies: Sequence[Study], folder: Path) -> Path:
    """Write the page, and every figure also as a file of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = {plot.name: draw(plot) for study in studies for plot in study.plots}
    for name, svg in drawn.items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    path = folder / "reproduction.html"
    path.write_text(render(studies, drawn), encoding="utf-8")
    return path


def render(studies: Sequence[Study], drawn: dict[str, str]) -> str:
    """The page as text."""
    style = files("slackwater_simulator.reports").joinpath("page.css").read_text(encoding="utf-8")
    links = "".join(f'<a href="#p{study.paper}">{study.paper}</a>' for study in studies)
    sections = "".join(_section(study, drawn) for study in studies)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>The papers, reproduced</title>'
        f'<style>{style}{EXTRA}</style></head><body><main><header><p class="brand">Slackwater</p>'
        f"<h1>The papers, reproduced</h1>{_count(studies)}<nav>{links}</nav></header>{sections}</main></body></html>\n"
    )


def _count(studies: Sequence[Study]) -> str:
    banded = [check for study in studies for check in study.checks if check.verdict is not Verdict.SHOWN]
    held = sum(check.verdict is Verdict.HOLDS for check in banded)
    return f'<p class="facts">{held} of {len(banded)} bands hold</p>'


def _section(study: Study, drawn: dict[str, str]) -> str:
    figures = "".join(_figure(plot, drawn[plot.name]) for plot in study.plots)
    sensitivity = f"<h3>Sensitivity</h3>{_choices(study.sensitivity)}" if study.sensitivity else ""
    return (
        f'<section id="p{study.paper}"><h2>{study.paper} · {escape(study.title)}</h2>'
        f'<p class="fine">{escape(study.runs)}</p>{_table(study.checks)}<div class="grid">{figures}</div>{sensitivity}'
        f"<h3>Modelled</h3>{_list(study.modelled)}<h3>Where and why we differ</h3>{_list(study.remarks)}</section>"
    )


def _figure(plot: Plot, svg: str) -> str:
    inline = svg[svg.index("<svg") :]
    return f'<figure><h3>{escape(plot.title)}</h3><div class="scroll">{inline}</div></figure>'


def _table(checks: Iterable[Check]) -> str:
    head = "".join(f"<th>{name}</th>" for name in ("", "what", "published", "ours", "band", "verdict"))
    rows = "".join(_row(check) for check in checks)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _choices(checks: Iterable[Check]) -> str:
    """What the result would be with other choices: nothing was published and no band applies."""
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in (check.where, check.what, check.ours))}</tr>"
        for check in checks
    )
    return f'<div class="scroll"><table><tbody>{rows}</tbody></table></div>'


def _row(check: Check) -> str:
    texts = (check.where, check.what, check.published, check.ours, check.band)
    cells = "".join(f"<td>{escape(text)}</td>" for text in texts)
    return f'<tr>{cells}<td class="{check.verdict.name.lower()}">{MARKS[check.verdict]}</td></tr>'


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"
