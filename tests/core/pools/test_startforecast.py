"""When a waiting app will start: intervals from forecasts and from what earlier ones missed."""

from __future__ import annotations

import math
import random
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.pools.forecastlog import ForecastLog, Judged, coverage
from slackwater.pools.startforecast import (
    FEWEST,
    KEPT,
    Misses,
    Source,
    StartInterval,
    at_once,
    interval,
    learn,
    pace,
    quantiles,
)

errors = st.lists(st.floats(-3, 3), min_size=FEWEST, max_size=60).map(tuple)
EVEN = tuple(math.log1p(wait) - math.log1p(10) for wait in range(1, 100))  # waits of 1 to 99 s where 10 was forecast


def known(found: StartInterval | str) -> StartInterval:
    """The interval, which must be one."""
    assert isinstance(found, StartInterval), found
    return found


def test_the_interval_is_where_four_of_five_earlier_waits_were() -> None:
    """Of waits of 1 to 99 seconds, at ranks 10, 50 and 90."""
    found = known(interval({Source.PACE: 10.0}, Misses({Source.PACE: EVEN})))
    assert (found.low, found.middle, found.high) == pytest.approx((10, 50, 90))


def test_misses_are_relative_to_the_forecast() -> None:
    """Twice the forecast, about twice the interval."""
    found = known(interval({Source.PACE: 20.0}, Misses({Source.PACE: EVEN})))
    assert found.high == pytest.approx(21 / 11 * 91 - 1)


def test_who_has_waited_is_compared_with_those_who_waited_longer() -> None:
    """After 89 s only waits of 90 to 99 s are left, less the 89."""
    found = known(interval({Source.PACE: 10.0}, Misses({Source.PACE: EVEN}), waited=89))
    assert (found.low, found.high) == pytest.approx((1, 10))


def test_who_asks_again_is_told_as_often_right_as_who_asks_first() -> None:
    """Of those who still wait after a while four of five start inside their interval, or none is told."""
    rng = random.Random(5)
    inside = []
    for _ in range(3000):
        missed = tuple(math.log1p(rng.expovariate(1 / 60)) - math.log1p(10) for _ in range(30))
        waited, wait = rng.uniform(0.0, 120.0), 0.0
        while wait <= waited:
            wait = rng.expovariate(1 / 60)
        found = interval({Source.PACE: 10.0}, Misses({Source.PACE: missed}), waited)
        if isinstance(found, StartInterval):
            inside.append(found.low <= wait - waited <= found.high)
    assert len(inside) > 1000
    assert 0.78 < sum(inside) / len(inside) < 0.86


def test_the_forecast_that_missed_least_is_taken() -> None:
    """By the spread of its misses, not by their size: a bias is known and taken off."""
    misses = Misses({Source.PACE: EVEN, Source.RELEASES: (3.0,) * 20})
    assert known(interval({Source.PACE: 5.0, Source.RELEASES: 5.0}, misses)).source is Source.RELEASES


@pytest.mark.parametrize(
    ("forecasts", "misses", "waited", "said"),
    [
        pytest.param({}, Misses({Source.PACE: EVEN}), 0.0, "nothing has started yet", id="no-forecast"),
        pytest.param({Source.PACE: 5.0}, Misses({Source.PACE: EVEN[:4]}), 0.0, "so far: 4", id="too-few"),
        pytest.param(
            {Source.PACE: 10.0}, Misses({Source.PACE: EVEN}), 500.0, "all but 0 of the last 99", id="outlasted"
        ),
        pytest.param({Source.PACE: 10.0}, Misses({Source.PACE: EVEN}), 91.5, "all but 8 of the last 99", id="few-left"),
    ],
)
def test_what_is_not_known_is_said_with_its_reason(
    forecasts: dict[Source, float], misses: Misses, waited: float, said: str
) -> None:
    """A sentence instead of numbers."""
    found = interval(forecasts, misses, waited)
    assert isinstance(found, str)
    assert said in found


@given(errors, st.floats(0, 1e5), st.floats(0, 1e4))
def test_an_interval_is_in_order_and_not_in_the_past(missed: tuple[float, ...], seconds: float, waited: float) -> None:
    """Whatever was missed before."""
    found = interval({Source.PACE: seconds}, Misses({Source.PACE: missed}), waited)
    assert isinstance(found, str) or 0 <= found.low <= found.middle <= found.high


@given(errors, errors, st.floats(0, 1e5), st.floats(0, 1e5), st.floats(0.02, 0.5))
def test_what_is_put_in_order_once_says_the_same(
    paced: tuple[float, ...], released: tuple[float, ...], pace: float, releases: float, outside: float
) -> None:
    """For the many apps that are looked at in one moment, of which none is compared with who waited longer."""
    misses = Misses({Source.PACE: paced, Source.RELEASES: released}, outside)
    forecasts = {Source.PACE: pace, Source.RELEASES: releases}
    fast, slow = at_once(forecasts, quantiles(misses)), known(interval(forecasts, misses))
    assert fast is not None
    assert astuple(fast) == pytest.approx(astuple(slow))


def test_a_miss_widens_the_next_interval_and_a_hit_narrows_it() -> None:
    """The share outside that is aimed at follows what came."""
    told = StartInterval(1, 2, 3, Source.PACE)
    before = Misses({Source.PACE: EVEN})
    assert learn(before, {Source.PACE: 10.0}, told, wait=9).outside < before.outside
    assert learn(before, {Source.PACE: 10.0}, told, wait=2).outside > before.outside


def test_only_the_newest_misses_are_kept() -> None:
    """Some hours of a busy queue."""
    misses = Misses()
    for number in range(KEPT + 20):
        misses = learn(misses, {Source.PACE: 1.0}, None, wait=float(number))
    assert len(misses.errors[Source.PACE]) == KEPT
    assert misses.errors[Source.PACE][-1] == pytest.approx(math.log1p(KEPT + 19) - math.log1p(1))


def test_pace_is_the_place_times_the_time_between_starts() -> None:
    """Three starts in thirty seconds: the second in line waits for twenty."""
    assert pace(2, [70.0, 80.0, 90.0], now=100.0) == pytest.approx(20.0)
    assert pace(2, [], now=100.0) is None


def test_four_of_five_starts_lie_inside_even_when_the_load_changes() -> None:
    """Waits of a lognormal whose median goes up tenfold half way, one app after the other."""
    rng, log, now = random.Random(7), ForecastLog(), 0.0
    log.start("first", "q", now)
    for number in range(600):
        now += 30.0
        log.wait(f"app-{number}", "q", "small", 1, None, now)
        now += rng.lognormvariate(math.log(20 if number < 300 else 200), 0.8)
        log.start(f"app-{number}", "q", now)
    found = coverage(log.judged)
    assert found.known == 590
    assert 0.75 <= found.inside <= 0.85


def test_the_log_counts_a_start_once_and_forgets_who_is_gone() -> None:
    """Watches tell things twice; an app that was deleted while it waited has not started."""
    log = ForecastLog()
    log.begin(["old"])
    log.start("old", "q", 1.0)
    assert "q" not in log.starts
    log.start("new", "q", 2.0)
    log.start("new", "q", 3.0)
    assert list(log.starts["q"]) == [2.0]
    log.wait("gone", "q", "", 1, None, 4.0)
    log.keep(["new"])
    assert log.told("gone", 5.0) == "it has not been seen to wait"
    assert not log.judged


def test_who_came_before_enough_was_known_is_told_no_interval() -> None:
    """Thirty apps of a burst: what the first of them missed says nothing of the last; who comes after is told."""
    log = ForecastLog()
    log.start("first", "q", 0.0)
    for number in range(30):
        log.wait(f"app-{number}", "q", "small", number + 1, None, 1.0)
    for number in range(20):
        log.start(f"app-{number}", "q", 200.0 + number)
    said = "it came before 10 apps like it had waited and started, and those that came with it say little about it"
    assert log.told("app-29", 220.0) == said
    log.wait("late", "q", "small", 11, None, 220.0)
    assert known(log.told("late", 221.0)).high > 0


def test_a_size_with_few_starts_borrows_from_its_queue() -> None:
    """Large apps start seldom; what small ones of the queue waited is better than nothing."""
    log = ForecastLog()
    log.start("first", "q", 0.0)
    for number in range(FEWEST):
        log.wait(f"s{number}", "q", "small", 1, None, 10.0 * number + 1)
        log.start(f"s{number}", "q", 10.0 * number + 6)
    assert known(log.next("q", "large", 1)).high > 0
    assert isinstance(log.next("other", "large", 1), str)


def test_what_is_told_of_the_next_app_changes_only_when_its_queue_moves() -> None:
    """An app that comes, or starts, is news to whoever comes next; the same told again is none."""
    log = ForecastLog()
    log.start("first", "q", 0.0)
    for number in range(FEWEST):
        log.wait(f"s{number}", "q", "small", 1, None, 10.0 * number + 1)
        log.start(f"s{number}", "q", 10.0 * number + 6)
    told, moved = log.next("q", "small", 2), log.moved["q"]
    log.start("s0", "q", 500.0)
    assert (log.next("q", "small", 2), log.moved["q"]) == (told, moved)
    log.wait("late", "q", "small", 1, None, 600.0)
    log.wait("late", "q", "small", 1, None, 700.0)
    assert log.moved["q"] == 600.0
    assert known(log.next("q", "small", 2)).middle > known(told).middle


def test_coverage_of_nothing_is_nothing() -> None:
    """And apps without an interval are counted apart."""
    assert coverage([Judged(0.0, "not known", 5.0)]).unknown == 1
    assert coverage([]).known == 0
    assert all(math.isnan(value) for value in astuple(coverage([]))[2:])


def test_an_app_that_runs_again_under_its_name_is_judged_again() -> None:
    """A job of every night whose pods are kept: from the third night on it had waited since the first."""
    log = ForecastLog()
    for night in range(3):
        begins = 86_400.0 * night
        log.wait("report", "default", "", 1, None, begins)
        log.start("report", "default", begins + 60)
        log.keep(["report"])
    assert [each.wait for each in log.judged] == [60.0] * 3
    assert len(log.starts["default"]) == 3


@pytest.mark.parametrize("apps", [10, 12, 13, 30])
def test_five_looks_at_an_app_tell_no_more_than_one(apps: int) -> None:
    """The ends of an interval are those of one look each: else a few apps would seem to be many."""
    once = Misses({Source.PACE: tuple(map(float, range(apps)))})
    often = Misses({Source.PACE: tuple(float(app) for app in range(apps) for _ in range(5))})
    alone, alike = quantiles(once)[Source.PACE], quantiles(often, alike=5)[Source.PACE]
    assert (alike.low, alike.middle, alike.high) == (alone.low, alone.middle, alone.high)
    assert quantiles(often)[Source.PACE].high <= alone.high
