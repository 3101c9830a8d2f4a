"""What a figure in a file of its own shows: lines where x is a number, bars where it is a name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlotCurve:
    """One line or one group of bars; `published` values are drawn apart from ours."""

    label: str
    x: tuple[float, ...] | tuple[str, ...]
    y: tuple[float, ...]
    published: bool = False


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure: lines where x is a number, bars where it is a name."""

    name: str  # its file name
    title: str
    x: str
    y: str
    curves: tuple[PlotCurve, ...]
    log: bool = False
