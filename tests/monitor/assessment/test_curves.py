"""The course of use over a pod's life."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater_monitor.assessment.lifetimes import AT, BINS, LifetimeUsage, shape
from slackwater_monitor.assessment.windows import Rows
from slackwater_monitor.history.grid import Grid


def test_windows_are_put_into_the_tenth_in_which_their_middle_lies() -> None:
    """A pod that lived 1,000 s from second 100: windows of 10 s, use growing with time."""
    grid = Grid(0, 10, 200)
    curves = LifetimeUsage(np.array([100.0]), np.array([1100.0]), grid)
    window = np.arange(10, 110)
    use = np.floor((window - 10) / 10).astype(np.float64)
    ones = np.ones(len(window))
    curves.add(Rows(np.zeros(len(window), np.int64), window, use, use, 10 * ones, ones))
    assert curves.means()[0].tolist() == list(range(10))


def test_what_has_no_end_has_no_course() -> None:
    """A pod that still runs is at an unknown part of its life."""
    curves = LifetimeUsage(np.array([0.0]), np.array([np.nan]), Grid(0, 10, 10))
    one = np.ones(1)
    curves.add(Rows(np.zeros(1, np.int64), np.array([3]), one, one, one, one))
    assert np.isnan(curves.means()).all()
    assert shape(curves.means(), peak=True) is None


@given(st.lists(st.lists(st.floats(0.01, 100), min_size=BINS, max_size=BINS), min_size=1, max_size=5))
def test_a_shape_of_cpu_has_mean_one_and_of_memory_peak_one(courses: list[list[float]]) -> None:
    """So that level × shape gives back the measured mean or peak."""
    means = np.array(courses)
    cpu, memory = shape(means, peak=False), shape(means, peak=True)
    assert cpu is not None
    assert memory is not None
    assert np.trapezoid(cpu, AT) == pytest.approx(1)
    assert max(memory) == pytest.approx(1)


def test_gaps_are_bridged_but_not_half_a_life() -> None:
    """With five of ten tenths seen there is a shape, with four there is none."""
    seen = np.array([[1.0, np.nan, 3.0, np.nan, 5.0, np.nan, 7.0, np.nan, 9.0, np.nan]])
    made = shape(seen, peak=True)
    assert made is not None
    assert made[2] == pytest.approx((1 + 3) / 2 / 9)
    seen[0, 0] = np.nan
    assert shape(seen, peak=True) is None


@pytest.mark.filterwarnings("error")
def test_pods_of_which_nothing_was_seen_do_not_matter() -> None:
    """Neither to the course of the others nor with a warning."""
    seen = np.ones((1, BINS))
    unseen = np.full((2, BINS), np.nan)
    assert shape(np.vstack((seen, unseen)), peak=True) == shape(seen, peak=True)
    assert shape(unseen, peak=True) is None
