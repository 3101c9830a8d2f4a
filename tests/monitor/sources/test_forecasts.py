"""What is read of a forecast that was written a while ago."""

from __future__ import annotations

import pytest

from slackwater_cluster.timestamps import parse
from slackwater_monitor.sources import decoding
from slackwater_monitor.sources.views import LATE, Start

WRITTEN = "2026-03-02T09:00:00.500Z"
AT = parse(WRITTEN)


def body(**start: object) -> dict[str, object]:
    """A TrackedApp that waits."""
    status = {"phase": "Waiting", "waitSeconds": 40.0, "start": start}
    return {"metadata": {"name": "etl", "namespace": "team"}, "status": status}


INTERVAL = {"lowSeconds": 20.0, "middleSeconds": 40.0, "highSeconds": 90.0, "source": "pace"}


@pytest.mark.parametrize(
    ("age", "start", "wait"),
    [
        (0.0, Start(20.0, 40.0, 90.0, "pace"), 40.0),
        (15.0, Start(5.0, 25.0, 75.0, "pace"), 25.0),
        (60.0, Start(0.0, 0.0, 30.0, "pace"), 0.0),
        (90.0, Start(unknown=LATE), 0.0),
        (-5.0, Start(20.0, 40.0, 90.0, "pace"), 40.0),
    ],
    ids=["at once", "a little later", "after its middle", "after its end", "a clock that is behind"],
)
def test_a_forecast_counts_from_when_it_was_written(age: float, start: Start, wait: float) -> None:
    """Whoever reads it later has waited for a part of it already."""
    found = decoding.apps_at(AT + age)(body(at=WRITTEN, **INTERVAL))
    assert found.start == start
    assert found.wait == pytest.approx(wait)


def test_a_forecast_without_a_time_is_read_as_it_stands() -> None:
    """An operator of an earlier version did not say when it wrote."""
    assert decoding.apps_at(AT + 1000)(body(**INTERVAL)).start == Start(20.0, 40.0, 90.0, "pace")


def test_why_a_start_is_not_known_does_not_age() -> None:
    """There is nothing to count down."""
    assert decoding.apps_at(AT + 1000)(body(at=WRITTEN, unknown="too few")).start == Start(unknown="too few")
