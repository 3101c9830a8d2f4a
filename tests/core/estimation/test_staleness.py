"""Staleness: judged by our clock, with the period learned from the samples' own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from slackwater.errors import BadNumber
from slackwater.estimation.staleness import Staleness


def fed(stamps: list[float], now: float = 0.0) -> tuple[Staleness, list[float]]:
    """One node, given these timestamps; and the seconds each was said to be after the last."""
    freshness = Staleness()
    freshness.add_row()
    return freshness, [float(freshness.record(np.array([0]), np.array([stamp]), now)[0]) for stamp in stamps]


def test_a_node_never_sampled_is_stale() -> None:
    """No overcommit on hope."""
    assert fed([])[0].stale(0.0).tolist() == [[True]]


def test_stale_after_three_periods_of_our_clock() -> None:
    """The heartbeat is 5 s."""
    freshness, _ = fed([1000.0, 1001.0, 1002.0])
    assert [bool(freshness.stale(now)[0]) for now in (15.0, 15.1)] == [False, True]


def test_a_slow_source_is_not_stale_between_its_samples() -> None:
    """The median gap is the period when it is longer than the heartbeat; one outage does not move it."""
    freshness, _ = fed([0.0, 30.0, 60.0, 600.0, 630.0])
    assert freshness.periods.tolist() == [30.0]
    assert [bool(freshness.stale(now)[0]) for now in (90.0, 90.1)] == [False, True]


@pytest.mark.parametrize(
    ("stamps", "period"),
    [
        ([0.0, 3600.0], 5.0),
        ([0.0, 30.0, 1200.0, 1230.0, 2400.0, 2430.0], 30.0),
        ([0.0, 1200.0, 2400.0, 3600.0], 5.0),
        ([0.0, 120.0, 240.0, 3600.0], 120.0),
        ([0.0, 300.0], 300.0),
    ],
    ids=["an hour away", "away again and again", "one sample at a time", "slow, then away", "the slowest source"],
)
def test_an_outage_is_no_gap_between_samples(stamps: list[float], period: float) -> None:
    """However seldom samples came: nobody scrapes less often than every five minutes."""
    freshness, gaps = fed(stamps)
    assert freshness.periods.tolist() == [period]
    assert gaps[1:] == np.diff(stamps).tolist()


def test_nodes_that_were_away_learn_nothing_beside_those_that_were_not() -> None:
    """Whether rows are told one by one or all at once."""
    for at_once in (False, True):
        freshness = Staleness()
        freshness.add_row()
        freshness.add_row()
        freshness.record(np.arange(2), np.array([0.0, 570.0]), 0.0)
        if at_once:
            freshness.record_all(600.0)
        else:
            freshness.record(np.arange(2), np.array([600.0, 600.0]), 0.0)
        assert freshness.periods.tolist() == [5.0, 30.0]


def test_gaps_come_from_timestamps() -> None:
    """First 0; a repeated, older or broken timestamp is no sample."""
    _, gaps = fed([100.0, 105.0, 105.0, 101.0, np.nan, np.inf, 112.0])
    assert gaps == pytest.approx([0.0, 5.0, np.nan, np.nan, np.nan, np.nan, 7.0], nan_ok=True)


def test_old_timestamps_do_not_make_a_node_fresh() -> None:
    """A source that repeats itself has stopped."""
    freshness, _ = fed([100.0])
    freshness.record(np.array([0]), np.array([100.0]), 500.0)
    assert freshness.stale(500.0).tolist() == [[True]]


def test_rows_move_up_when_one_goes() -> None:
    """Each node keeps its own timestamps."""
    freshness = Staleness()
    for _ in range(3):
        freshness.add_row()
    freshness.record(np.array([2]), np.array([7.0]), 1.0)
    freshness.drop_row(0)
    assert freshness.stamps.tolist() == [-np.inf, 7.0]
    assert freshness.stale(1.0).tolist() == [[True], [False]]


def test_a_kind_of_which_no_number_comes_grows_stale_alone() -> None:
    """New timestamps do not stand in for it; a kind that is never measured is never stale."""
    freshness = Staleness(measured=[True, True, False])
    freshness.add_row()
    assert freshness.stale(0.0).tolist() == [[True, True, False]]
    for beat, memory in enumerate([True, True, False, False, False, False]):
        freshness.record(np.array([0]), np.array([5.0 * beat]), 5.0 * beat, np.array([[True, memory, False]]))
    assert freshness.stale(20.0).tolist() == [[False, False, False]]
    assert freshness.stale(25.0).tolist() == [[False, True, False]]


@pytest.mark.parametrize(("heartbeat", "patience"), [(0.0, 3.0), (5.0, np.nan)], ids=["heartbeat", "patience"])
def test_bad_settings_are_refused(heartbeat: float, patience: float) -> None:
    """At the start, not at the first outage."""
    with pytest.raises(BadNumber):
        Staleness(heartbeat, patience)


@pytest.mark.parametrize("rounds", [[], [(5.0, 5.0)], [(5.0, 4.0)], [(9.0, 9.0)], [(-1.0, 30.0)]], ids=str)
@pytest.mark.parametrize("now", [5.0, 9.0, math.nan], ids=str)
def test_all_rows_at_one_moment_are_rows_with_the_same_stamp(rounds: list[tuple[float, float]], now: float) -> None:
    """Whether it is the first sample, a newer one or one that is not newer."""
    at_once, by_row = Staleness(), Staleness()
    for each in (at_once, by_row):
        each.add_row()
        each.add_row()
        for stamps in rounds:
            each.record(np.arange(2), np.array(stamps), 1.0)
    gaps = at_once.record_all(now)
    np.testing.assert_array_equal(np.broadcast_to(gaps, 2), by_row.record(np.arange(2), np.full(2, now), now))
    np.testing.assert_array_equal(at_once.stamps, by_row.stamps)
    np.testing.assert_array_equal(at_once.periods, by_row.periods)
    np.testing.assert_array_equal(at_once.arrivals, by_row.arrivals)
