"""The page of a reproduction: for each paper its checks, its figures, what was modelled and where we do not match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from markupsafe import Markup

from slackwater_simulator.charts import page
from slackwater_simulator.charts.matplot import draw
from slackwater_simulator.charts.page import Block, Bullets, Figure, Figures, Heading, Page, Paragraph, Section
from slackwater_simulator.reproduction import tables
from slackwater_simulator.reproduction.study import Study, Verdict


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
    banded = [check for study in studies for check in study.checks if check.verdict is not Verdict.SHOWN]
    held = sum(check.verdict is Verdict.HOLDS for check in banded)
    sections = [
        Section(f"p{study.paper}", f"{study.paper} · {study.title}", list(_blocks(study, drawn)), study.paper)
        for study in studies
    ]
    title = "The papers, reproduced"
    return page.render(Page(title, "Slackwater", title, sections, facts=(f"{held} of {len(banded)} bands hold",)))


def _blocks(study: Study, drawn: dict[str, str]) -> Iterator[Block]:
    yield Paragraph(study.runs, "fine")
    yield tables.checks(study)
    if study.plots:
        yield Figures([Figure(plot.title, "", _inline(drawn[plot.name])) for plot in study.plots])
    if study.sensitivity:
        yield from (Heading("Sensitivity"), tables.sensitivity(study))
    for heading, lines in (("Modelled", study.modelled), ("Where and why we differ", study.remarks)):
        yield from (Heading(heading), Bullets(lines))


def _inline(svg: str) -> Markup:
    """The drawing without the declaration of its file."""
    return Markup(svg[svg.index("<svg") :])  # noqa: S704 - drawn by ourselves
