"""A reproduction as Markdown, for the documentation: the same words and numbers as the page, without its figures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slackwater_simulator.reproduction.study import Check, Study, Verdict

VERDICTS = {Verdict.HOLDS: "holds", Verdict.FAILS: "**does not hold**", Verdict.SHOWN: "–"}


def written(study: Study, *, figures: str = "reproduction") -> str:
    """One paper. `figures` is the folder of its drawings, as seen from the page."""
    return "\n".join(_lines(study, figures))


def _lines(study: Study, figures: str) -> Iterator[str]:
    yield from (f"## {study.paper} · {study.title}", "", f"`slackwater reproduce {study.paper}`: {study.runs}.", "")
    yield from _table(("", "what", "published", "ours", "band", "verdict"), map(_cells, study.checks))
    yield from ("", f"**Modelled:** {'; '.join(study.modelled)}.", "")
    if study.remarks:
        yield from ("**Where we differ, and why**", "", *(f"- {remark}" for remark in study.remarks), "")
    for plot in study.plots:
        yield from (f"![{plot.title}]({figures}/{plot.name}.svg)", "")
    if study.sensitivity:
        yield from ("With other choices:", "")
        yield from _table(("", "choice", "ours"), ((row.where, row.what, row.ours) for row in study.sensitivity))
        yield ""


def _cells(check: Check) -> tuple[str, ...]:
    return (check.where, check.what, check.published, check.ours, check.band, VERDICTS[check.verdict])


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield _row(head)
    yield "|" + "---|" * len(head)
    for row in rows:
        yield _row(tuple(text.replace("|", r"\|") for text in row))


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
