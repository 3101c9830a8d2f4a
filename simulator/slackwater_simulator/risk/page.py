"""The frontier as a figure, and the page around it: one file, no script."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import matplotlib as mpl
from markupsafe import Markup
from matplotlib.figure import Figure as Drawing

from slackwater_simulator.charts import page
from slackwater_simulator.charts.matplot import COLOURS, INK, PUBLISHED, STYLE
from slackwater_simulator.charts.page import Block, Figure, Figures, Page, Section
from slackwater_simulator.charts.table import Table
from slackwater_simulator.reports.page import prepare_file
from slackwater_simulator.risk.bench import Score
from slackwater_simulator.risk.frontier import Curve

LEAST = 1e-5  # violation rates below are drawn here: a logarithm knows no zero


def write(path: Path, title: str, curves: Sequence[Curve], scores: Sequence[Score]) -> Path:
    """Write the page, or only its figure if the name ends in .svg, and say where it is."""
    figure = draw(title, curves, scores)
    prepare_file(path)
    path.write_text(figure if path.suffix == ".svg" else render(title, figure, curves, scores), encoding="utf-8")
    return path


def draw(title: str, curves: Sequence[Curve], scores: Sequence[Score]) -> str:
    """Savings over violation rate: curves with a dot at each setting, single estimators as squares."""
    with mpl.rc_context(STYLE):
        figure = Drawing(figsize=(7.2, 4.4), layout="constrained")
        axes = figure.add_subplot()
        for number, curve in enumerate(curves):
            ours = curve.label == "slackwater"
            axes.plot(
                [max(score.violation_rate, LEAST) for score in curve.scores],
                [100 * score.savings for score in curve.scores],
                marker="o",
                markersize=4,
                linewidth=2.4 if ours else 1.1,
                linestyle="-" if ours or "none" not in curve.label else "--",
                color=COLOURS[0] if ours else COLOURS[1 + (number - 1) % 3],
                label=curve.label,
            )
        for score, mark in zip(_single(scores), "sD^v", strict=False):
            at = (max(score.violation_rate, LEAST), 100 * score.savings)
            axes.plot(*at, marker=mark, linestyle="none", color=PUBLISHED, label=score.estimator)
        axes.set_xscale("log")
        axes.set_xlabel(f"violation rate ({LEAST:g} stands for none)")
        axes.set_ylabel("savings, % of the requests")
        axes.set_title(title, fontsize=10, color=INK)
        axes.grid(color=INK, alpha=0.2)
        axes.legend(fontsize=7, loc="lower right", frameon=False, ncols=2)
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue()


def _single(scores: Sequence[Score]) -> list[Score]:
    """Estimators that have no curve."""
    return [score for score in scores if score.estimator in ("paper-000", "borg-default", "autopilot", "oracle")]


def render(title: str, figure: str, curves: Sequence[Curve], scores: Sequence[Score]) -> str:
    """The page as text."""
    caption = (
        "Up and to the left is better. Each dot is one setting of an estimator's parameter; dashed: tasks count by "
        "their own use from the first sample."
    )
    drawing = Markup(figure[figure.index("<svg") :])  # noqa: S704 - drawn by ourselves
    every = [*scores, *(score for curve in curves for score in curve.scores)]
    heads = ("estimator", "violations", "95 % over machines", "severity", "p99", "savings", "of the oracle's")
    blocks: list[Block] = [
        Figures([Figure("Savings over violations", caption, drawing, wide=True)]),
        Table("Every setting", heads, [_row(score) for score in every]),
    ]
    return page.render(Page("Risk", "Slackwater", title, [Section("frontier", "The frontier", blocks)]))


def _row(score: Score) -> tuple[str, ...]:
    return (
        score.estimator,
        f"{score.violation_rate:.3%}",
        score.interval(3, " to "),
        f"{score.severity_mean:.2%}",
        f"{score.severity_p99:.2%}",
        f"{score.savings:.1%}",
        f"{score.oracle_share:.1%}",
    )
