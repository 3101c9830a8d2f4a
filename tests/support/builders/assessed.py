"""A generated week together with what `assess` made of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slackwater_cluster.frameworks import builtin
from slackwater_cluster.prometheus.transport import QueryConnection
from slackwater_monitor.assessment.assessment import Assessment
from slackwater_monitor.assessment.run import Order, run
from slackwater_monitor.history.grid import grid
from support.builders.weeks import DAY, END, Container


@dataclass(frozen=True)
class Week:
    """The raw samples, where they are served, and what was made of them."""

    raw: list[Container]
    url: str
    found: Assessment


def order(url: str, folder: Path, days: int = 7, step: int | None = None) -> Order:
    """To assess the last days before END, as fast as the server answers."""
    return Order(QueryConnection(url, rate=1000), grid(END, days * DAY, step), folder, table=builtin())


def assessed(raw: list[Container], url: str, folder: Path, days: int = 7) -> Week:
    """An assessment of the last days before END."""
    return Week(raw, url, run(order(url, folder, days)))
