"""Figures that stand in a file of their own, as SVG by matplotlib. Same numbers, same bytes.

Published values are hatched or dashed, ours plain.
"""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from slackwater_simulator.charts.plots import Plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#2563c9", "#d9720a", "#15886a", "#a3418f", "#b3261e", "#5c6ac4")
PUBLISHED = "#8a949e"
INK = "#5b6773"
# No date and fixed ids, so that a figure changes only when its numbers do; text stays text.
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "slackwater",
    "svg.fonttype": "none",
    "font.size": 10,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def draw(plot: Plot) -> str:
    """The figure as SVG text, on a transparent ground so that it suits light and dark pages."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.6, 3.6), layout="constrained")
        axes = figure.add_subplot()
        if plot.curves and isinstance(plot.curves[0].x[0], str):
            _bars(axes, plot)
        else:
            _lines(axes, plot)
        _dress(axes, plot)
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return text.getvalue()


def _dress(axes: Axes, plot: Plot) -> None:
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    axes.grid(axis="y", color=INK, alpha=0.2)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        axes.spines[side].set_color(INK)
    if len(plot.curves) > 1:  # above the drawing, where it covers nothing
        columns = min(len(plot.curves), 2 if max(len(curve.label) for curve in plot.curves) > 20 else 6)
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=columns,
            borderaxespad=0.2,
            frameon=False,
            labelcolor=INK,
            fontsize=9,
        )


def _lines(axes: Axes, plot: Plot) -> None:
    for number, curve in enumerate(plot.curves):
        colour = PUBLISHED if curve.published else COLOURS[number % len(COLOURS)]
        axes.plot(
            [float(x) for x in curve.x],
            curve.y,
            "o--" if curve.published else "o-",
            color=colour,
            label=curve.label,
            markersize=4,
        )
    values = sorted({float(x) for curve in plot.curves for x in curve.x})
    if not plot.log and len(values) <= 6:
        axes.set_xticks(values, [f"{value:g}" for value in values])
    if plot.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _bars(axes: Axes, plot: Plot) -> None:
    names = [str(x) for x in plot.curves[0].x]
    width = 0.8 / len(plot.curves)
    ours = iter(COLOURS)
    for number, curve in enumerate(plot.curves):
        at = [index - 0.4 + width * (number + 0.5) for index in range(len(names))]
        if curve.published:
            axes.bar(at, curve.y, width, label=curve.label, color="none", edgecolor=PUBLISHED, hatch="///")
        else:
            axes.bar(at, curve.y, width, label=curve.label, color=next(ours))
    axes.set_xticks(range(len(names)), names, rotation=30 if len(names) > 8 else 0)
    _room(axes, plot)


def _room(axes: Axes, plot: Plot) -> None:
    """Scores near 100 differ by a few points: do not start such an axis at 0."""
    lowest = min(min(curve.y) for curve in plot.curves)
    highest = max(max(curve.y) for curve in plot.curves)
    if lowest > 0.6 * highest > 0:
        axes.set_ylim(lowest * 0.95, highest * 1.03)
