"""Labels of a clock: round moments, few of them however long the time is."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slackwater_simulator.charts.svg import label
from slackwater_simulator.charts.timeaxis import clock

BEGIN = datetime(2026, 8, 10, 9, 30, tzinfo=UTC).timestamp()
DAY = 86400.0


@pytest.mark.parametrize(
    ("days", "words"),
    [
        (1 / 24, ["09:30", "09:40", "09:50", "10:00", "10:10", "10:20", "10:30"]),
        (3, ["12:00", "11 Aug", "12:00", "12 Aug", "12:00", "13 Aug"]),
        (100, ["Sep 2026", "Oct 2026", "Nov 2026"]),
        (500, ["Oct 2026", "Jan 2027", "Apr 2027", "Jul 2027", "Oct 2027"]),
        (1000, ["Jan 2027", "Jul 2027", "Jan 2028", "Jul 2028", "Jan 2029"]),
        (1200, ["2027", "2028", "2029"]),
        (20_000, ["2030", "2040", "2050", "2060", "2070", "2080"]),
    ],
)
def test_steps_are_those_of_a_calendar(days: float, words: list[str]) -> None:
    """Minutes, hours, days, months, years."""
    assert [told for _, told in clock(BEGIN, BEGIN + days * DAY)] == words


@pytest.mark.parametrize("days", [0.0, 0.1, 1, 10, 41, 43, 100, 365, 1000, 10_000, 100_000])
def test_labels_are_few_and_lie_inside(days: float) -> None:
    """From seconds to centuries."""
    found = [at for at, _ in clock(BEGIN, BEGIN + days * DAY)]
    assert len(found) <= 7
    assert all(BEGIN <= at <= BEGIN + days * DAY for at in found)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (0.00002, "0.00002"), (6 * 1e-6, "0.000006"), (12.5, "12.5"), (1500, "1,500"), (999_600.0, "1,000k")],
)
def test_a_tick_has_no_exponent(value: float, words: str) -> None:
    """However small the amounts of a chart are."""
    assert label(value) == words
