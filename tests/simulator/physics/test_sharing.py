"""Overload in the paper's simulator: CPU slows down, memory breaks; and how runs are compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater_simulator.physics.sharing import Victims, crash_victims, progress
from slackwater_simulator.results.comparison import failure_percent, time_saved


@pytest.mark.parametrize(
    ("cores", "demands", "factor"),
    [(24.0, [5.0, 6.0], 1.0), (24.0, [46.0], 0.5), (0.0, [1.0], 0.0), (0.0, [], 1.0), (1.0, [1.0], 0.0)],
    ids=["enough", "half", "no cores", "nobody", "all for the system"],
)
def test_progress(cores: float, demands: list[float], factor: float) -> None:
    """The system takes its core first."""
    assert progress(cores, 1.0, demands) == factor


@given(st.floats(0, 100), st.floats(0, 10), st.lists(st.floats(0, 50)))
def test_work_is_conserved(cores: float, system: float, demands: list[float]) -> None:
    """Nobody gets more than it asks for, and all together no more than there is."""
    factor = progress(cores, system, demands)
    assert 0 <= factor <= 1
    assert factor * sum(demands) <= max(0.0, cores - system) + 1e-6


@pytest.mark.parametrize(
    ("before", "after", "rule", "victims"),
    [
        ({"a": 4.0, "b": 4.0}, {"a": 4.0, "b": 5.0}, Victims.GROWING, []),
        ({"a": 4.0, "b": 5.0}, {"a": 4.0, "b": 6.0}, Victims.GROWING, ["b"]),
        ({"a": 9.0}, {"a": 9.0, "new": 1.0}, Victims.GROWING, ["new"]),
        ({"a": 4.0, "b": 5.0}, {"a": 4.0, "b": 6.0}, Victims.ALL, ["a", "b"]),
        ({"a": 4.0, "b": 6.0}, {"a": 4.0, "b": 6.0}, Victims.GROWING, ["a", "b"]),
    ],
    ids=["fits", "the one that grew", "the new one", "all", "none grew"],
)
def test_crash_victims(before: dict[str, float], after: dict[str, float], rule: Victims, victims: list[str]) -> None:
    """10 GB, of which the system has 1."""
    assert crash_victims(10.0, 1.0, before, after, rule) == victims


def test_comparisons_refuse_to_divide_by_nothing() -> None:
    """A run that took no time is a mistake, and nothing can be saved of it."""
    with pytest.raises(BadNumber, match=r"^original"):
        time_saved(0.0, 1.0)


def test_none_of_nothing_failed() -> None:
    """An empty run has no failures."""
    assert failure_percent(0, 0) == 0.0
