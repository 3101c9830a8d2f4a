"""What a reproduction says: checks with published value, ours, band and verdict, and the figures beside them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from slackwater_simulator.charts.plots import Plot

# Settings of a world and its policy, by name.
Options = dict[str, Any]


class Verdict(StrEnum):
    """Whether our value lies in the band that was fixed before the run."""

    HOLDS = "holds"
    FAILS = "does not hold"
    SHOWN = "shown"  # no band was stated: for comparison only


@dataclass(frozen=True, slots=True)
class Check:
    """One published number or order."""

    where: str  # the table, figure or set it belongs to
    what: str
    published: str
    ours: str
    band: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Study:
    """Everything about one paper."""

    paper: str
    title: str
    runs: str  # how many seeds stand behind the numbers
    checks: tuple[Check, ...]
    sensitivity: tuple[Check, ...] = ()
    modelled: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()  # where we do not match, and why
    plots: tuple[Plot, ...] = ()


def judged(where: str, what: str, published: str, ours: str, band: str, holds: bool) -> Check:
    """A check with a band."""
    return Check(where, what, published, ours, band, Verdict.HOLDS if holds else Verdict.FAILS)


def shown(where: str, what: str, published: str, ours: str) -> Check:
    """A number without a band."""
    return Check(where, what, published, ours, "–", Verdict.SHOWN)


def between(value: float, low: float, high: float) -> bool:
    """Whether the value lies in the band; what is not a number does not."""
    return low <= value <= high


def mean(values: Iterable[float]) -> float:
    """The mean, NaN of nothing."""
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else math.nan


def change(before: float, after: float) -> float:
    """By how many percent something changed; negative is less."""
    return 100.0 * (after / before - 1.0)


def described(study: Study) -> dict[str, Any]:
    """A study as JSON can hold it: a point that is not there (never done) is null."""
    plain = asdict(study)
    for plot in plain["plots"]:
        for curve in plot["curves"]:
            curve["y"] = [value if math.isfinite(value) else None for value in curve["y"]]
    return plain
