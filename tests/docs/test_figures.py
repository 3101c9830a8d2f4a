"""The figures of README.md are those of this commit: the demo is played, and its numbers are those of the table."""

from __future__ import annotations

import re

import pytest

from slackwater_cli.simulation.demo import POLICIES, _run
from slackwater_simulator.reports.story import minutes
from slackwater_simulator.results.metrics import Metrics, measure
from support.builders.readme import sections

TABLE = sections()["What it changes"].partition("\n|")[2].partition("\n\n")[0]


def row(words: str) -> list[str]:
    """The two numbers of the row that holds these words."""
    line = next(line for line in TABLE.splitlines() if words in line)
    return re.findall(r"\d+\.\d min|\d+ of \d+", line)


@pytest.fixture(scope="module")
def hour() -> list[Metrics]:
    """The demo's hour under both schedulers."""
    return [measure(_run("hour", policy, 0, lambda _: None)) for policy in POLICIES]


def test_the_hour_is_as_the_table_says(hour: list[Metrics]) -> None:
    """After a change: run `make demo`, change the table, run docs/scripts/screenshots.py."""
    assert row("on average, an app") == [minutes(one.completion.mean) for one in hour]
    assert row("one in twenty") == [minutes(one.completion.p95) for one in hour]
    assert row("a small app") == [minutes(one.small_completion.mean) for one in hour]
    assert row("all work") == [minutes(one.makespan) for one in hour]


def test_nine_o_clock_is_as_the_table_says() -> None:
    """How many of the apps finish."""
    nine = [measure(_run("nine", policy, 0, lambda _: None)) for policy in POLICIES]
    assert row("nine o'clock") == [f"{one.finished} of {one.finished + one.unfinished}" for one in nine]
