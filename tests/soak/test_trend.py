"""What counts as growth in a soak of the lab."""

from __future__ import annotations

from random import Random

import pytest

from support.soak.trend import flat, rise, slope


def _noisy(rises: float, count: int = 40) -> list[tuple[float, float]]:
    """100 MiB and some noise, half a minute apart, rising by so much an hour."""
    rng = Random(1)
    return [(30.0 * at, 100.0 + rng.uniform(-2, 2) + rises * 30.0 * at / 3600.0) for at in range(count)]


def test_noise_is_flat_and_a_leak_is_not() -> None:
    """Twenty minutes show a leak of 60 MiB an hour through noise of 2 MiB."""
    assert flat(_noisy(0.0), 0.05, 4.0)
    assert not flat(_noisy(60.0), 0.05, 4.0)


def test_the_slope_is_told_by_the_hour() -> None:
    """In the unit of the measurements."""
    assert slope(_noisy(60.0)) == pytest.approx(60.0, abs=6.0)


def test_one_peak_is_no_growth() -> None:
    """A garbage collection that is late shows for a moment."""
    series = [*_noisy(0.0), (1200.0, 150.0)]
    assert flat(series, 0.05, 4.0)


def test_too_few_measurements_say_nothing() -> None:
    """A soak that is shorter than its notes has neither slope nor rise."""
    assert slope([]) == rise([]) == rise([(0.0, 5.0)]) == 0.0
    assert flat([(0.0, 5.0)], 0.0, 0.0)
