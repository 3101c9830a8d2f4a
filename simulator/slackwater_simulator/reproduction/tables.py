"""The tables of a reproduction: published, ours, band and verdict; and what other choices would give."""

from __future__ import annotations

from slackwater_simulator.charts.table import Styled, Table
from slackwater_simulator.reproduction.study import Study, Verdict

CSS = {Verdict.HOLDS: "holds", Verdict.FAILS: "fails", Verdict.SHOWN: ""}
WORDS = {Verdict.HOLDS: "holds", Verdict.FAILS: "does not hold", Verdict.SHOWN: "–"}


def checks(study: Study) -> Table:
    """Every published number or order beside ours."""
    heads = ("", "what", "published", "ours", "band", "verdict")
    rows = [
        (
            *(check.where, check.what, check.published, check.ours, check.band),
            Styled(WORDS[check.verdict], CSS[check.verdict]),
        )
        for check in study.checks
    ]
    return Table(f"{study.paper} · {study.title} ({study.runs})", heads, rows, left=len(heads), prose=True)


def sensitivity(study: Study) -> Table:
    """What the result would be with other choices: nothing was published and no band applies."""
    rows = [(check.where, check.what, check.ours) for check in study.sensitivity]
    return Table("sensitivity", ("", "choice", "ours"), rows, left=3, prose=True)
