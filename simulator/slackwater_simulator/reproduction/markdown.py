"""A reproduction as Markdown, for the documentation: the same words and numbers as the page, without its figures."""

from __future__ import annotations

from collections.abc import Iterator

from slackwater_simulator.charts.table import markdown
from slackwater_simulator.reproduction import tables
from slackwater_simulator.reproduction.study import Study


def written(study: Study, *, figures: str = "reproduction") -> str:
    """One paper. `figures` is the folder of its drawings, as seen from the page."""
    return "\n".join(_lines(study, figures))


def _lines(study: Study, figures: str) -> Iterator[str]:
    yield from (f"## {study.paper} · {study.title}", "", f"`slackwater reproduce {study.paper}`: {study.runs}.", "")
    yield from markdown(tables.checks(study))
    yield from ("", f"**Modelled:** {'; '.join(study.modelled)}.", "")
    if study.remarks:
        yield from ("**Where we differ, and why**", "", *(f"- {remark}" for remark in study.remarks), "")
    for plot in study.plots:
        yield from (f"![{plot.title}]({figures}/{plot.name}.svg)", "")
    if study.sensitivity:
        yield from ("With other choices:", "", *markdown(tables.sensitivity(study)), "")
