"""When an app starts, in words that promise no more than is known."""

from __future__ import annotations

import pytest

from slackwater_monitor.sources.views import Start


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (Start(7.43, 151.2, 526.0), "in 7.4 s to 8.8 min, most likely in about 2.5 min"),
        (Start(0.0, 0.04, 7.97), "in 0 s to 8 s, most likely at once"),
    ],
    ids=["minutes", "at-once"],
)
def test_an_interval_is_told_in_two_digits(start: Start, said: str) -> None:
    """It is as wide as what it tells; and nobody waits for about 0 seconds."""
    assert start.sentence == f"{said} (4 of 5 starts are within such an interval)"
    assert start.span in start.sentence


def test_what_is_not_known_has_no_span() -> None:
    """A dash in a table."""
    assert Start(unknown="too early").span == "–"
