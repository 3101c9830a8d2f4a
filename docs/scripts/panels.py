"""Draws every Grafana panel's series from a Prometheus: `python docs/scripts/panels.py URL FOLDER [MINUTES]`.

Grafana itself is not needed: each dashboard becomes one PNG, its panels where the JSON puts them, with the values that
their queries return. It shows whether a panel says what it promises, not how Grafana would paint it.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

DASHBOARDS = Path(__file__).parents[2] / "helm" / "slackwater" / "files" / "dashboards"
# What Grafana puts in before Prometheus sees a query.
FILLED_IN = {"$__rate_interval": "30s", "$node": ".*", "$queue": ".*", "$user": "label_slackwater_io_user"}
POINTS = 150
PAGE, ROW = 24, 0.42  # Grafana's columns; inches per row of its grid
LABEL = re.compile(r"\{\{\s*(\w+)\s*\}\}")
SHOWN = 12  # names in a legend, rows of a table


@dataclass(frozen=True)
class Series:
    """One line: its name, seconds before now, and values."""

    name: str
    times: NDArray[np.float64]
    values: NDArray[np.float64]


def filled_in(text: str) -> str:
    """A query or legend with Grafana's variables replaced."""
    for name, value in FILLED_IN.items():
        text = text.replace(name, value)
    return text


class Prometheus:
    """Asks for a stretch of time that ends now."""

    def __init__(self, url: str, minutes: float) -> None:
        self._url = url.rstrip("/")
        self._end = time.time()
        self._span = minutes * 60

    def series(self, target: Mapping[str, Any]) -> list[Series]:
        """What one query of a panel returns."""
        query = filled_in(target["expr"])
        asked: dict[str, str | float] = {
            "query": query,
            "start": self._end - self._span,
            "end": self._end,
            "step": max(1.0, self._span / POINTS),
        }
        reply = httpx2.get(f"{self._url}/api/v1/query_range", params=asked, timeout=30.0).json()
        if reply["status"] != "success":
            raise ValueError(f"{query}: {reply.get('error')}")
        legend = filled_in(target.get("legendFormat", ""))
        return [self._line(legend, each) for each in reply["data"]["result"]]

    def _line(self, legend: str, found: Mapping[str, Any]) -> Series:
        points = np.array([(float(when), float(value)) for when, value in found["values"]])
        labels = {key: value for key, value in found["metric"].items() if key != "__name__"}
        name = LABEL.sub(lambda match: labels.get(match[1], ""), legend) if legend else " ".join(labels.values())
        return Series(name, points[:, 0] - self._end, points[:, 1])


def draw_lines(axes: Axes, lines: list[Series], *, stacked: bool) -> None:
    """Lines over time, on top of each other where they are parts of a whole."""
    base: dict[float, float] = {}
    for line in lines:
        values = line.values
        if stacked:
            floor = np.array([base.get(round(when, 3), 0.0) for when in line.times])
            values = values + floor
            base |= {round(when, 3): value for when, value in zip(line.times, values, strict=True)}
            axes.fill_between(line.times, floor, values, alpha=0.25)
        axes.plot(line.times, values, linewidth=1, label=line.name)
    if 1 < len(lines) <= SHOWN or (lines and lines[0].name):
        axes.legend(fontsize=5, loc="upper left", ncols=2)


def draw_number(axes: Axes, lines: list[Series]) -> None:
    """The last value, large."""
    text = "  ".join(f"{line.values[-1]:.4g}" for line in lines[:3]) or "no data"
    axes.text(0.5, 0.5, text, ha="center", va="center", fontsize=16, transform=axes.transAxes)
    axes.set_axis_off()


def draw_rows(axes: Axes, lines: list[Series]) -> None:
    """The last values as a table, largest first."""
    ordered = sorted(lines, key=lambda line: -line.values[-1])[:SHOWN]
    text = "\n".join(f"{line.values[-1]:>10.4g}  {line.name}" for line in ordered) or "no data"
    axes.text(0, 1, text, va="top", family="monospace", fontsize=6, transform=axes.transAxes)
    axes.set_axis_off()


def draw_bands(axes: Axes, lines: list[Series]) -> None:
    """A row of colour for each series."""
    ordered = sorted(lines, key=lambda line: line.name)
    width = max((len(line.values) for line in ordered), default=1)
    grid = np.full((max(1, len(ordered)), width), np.nan)
    for row, line in enumerate(ordered):
        grid[row, width - len(line.values) :] = line.values
    axes.imshow(grid, aspect="auto", cmap="Oranges", vmin=0)
    axes.set_yticks(range(len(ordered)), [line.name for line in ordered], fontsize=5)


def draw_heat(axes: Axes, lines: list[Series]) -> None:
    """How many series are at which value, over time."""
    if lines:
        times = np.concatenate([line.times for line in lines])
        values = np.concatenate([line.values for line in lines])
        axes.hist2d(times, values, bins=(40, 20), cmap="Oranges")


def draw(axes: Axes, panel: Mapping[str, Any], prometheus: Prometheus) -> int:
    """One panel; how many series it shows."""
    lines = [line for target in panel["targets"] for line in prometheus.series(target)]
    axes.set_title(panel["title"], fontsize=7, loc="left")
    axes.tick_params(labelsize=5)
    match panel["type"]:
        case "timeseries":
            stacking = panel["fieldConfig"]["defaults"]["custom"]["stacking"]["mode"]
            draw_lines(axes, lines, stacked=stacking == "normal")
        case "stat":
            draw_number(axes, lines)
        case "table":
            draw_rows(axes, lines)
        case "status-history":
            draw_bands(axes, lines)
        case "heatmap":
            draw_heat(axes, lines)
    return len(lines)


def sheet(page: Mapping[str, Any], prometheus: Prometheus, path: Path) -> dict[str, int]:
    """One dashboard as one picture; the number of series by panel."""
    panels = [panel for panel in page["panels"] if panel["type"] != "row"]
    depth = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    figure = plt.figure(figsize=(14, depth * ROW))
    found = {}
    for panel in panels:
        place = panel["gridPos"]
        left, width = (place["x"] + 0.9) / PAGE, (place["w"] - 1.4) / PAGE
        bottom, height = 1 - (place["y"] + place["h"] - 0.8) / depth, (place["h"] - 1.9) / depth
        axes = figure.add_axes((left, bottom, width, height))
        found[panel["title"]] = draw(axes, panel, prometheus)
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return found


def sheets(url: str, folder: Path, minutes: float = 5.0) -> dict[str, dict[str, int]]:
    """All dashboards; the number of series by dashboard and panel."""
    folder.mkdir(parents=True, exist_ok=True)
    prometheus = Prometheus(url, minutes)
    pages = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DASHBOARDS.glob("*.json"))}
    return {name: sheet(page, prometheus, folder / f"{name}.png") for name, page in pages.items()}


if __name__ == "__main__":
    for dashboard, counts in sheets(sys.argv[1], Path(sys.argv[2]), float((sys.argv[3:] or ["5"])[0])).items():
        for title, count in counts.items():
            print(f"{dashboard:12} {count:4} series  {title}")  # noqa: T201 - a command's output
