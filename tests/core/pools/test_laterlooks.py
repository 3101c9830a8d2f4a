"""Later looks at apps that wait: forecast anew from where they stand, and judged apart from first looks."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from slackwater.pools.forecastlog import ForecastLog
from slackwater.pools.laterlooks import GAP, LOOKS, LaterLooks
from slackwater.pools.startforecast import COVERAGE, STEP, Source, StartInterval

KIND = ("q", "small")


def burst(apps: int, every: float, seed: int) -> Iterator[tuple[StartInterval | str, float]]:
    """Apps that come at once and start one by one: what every fifth is told each ten seconds, and its wait then."""
    rng, log, now, starts = random.Random(seed), ForecastLog(), 0.0, [0.0]
    while len(starts) <= apps:
        starts.append(starts[-1] + rng.expovariate(1 / every))
    log.start("first", "q", 0.0)
    told: list[tuple[int, float, StartInterval | str]] = []
    while now < starts[-1]:
        now += GAP
        waiting = [number for number in range(1, apps + 1) if starts[number] > now]
        for number in range(1, apps + 1):
            if starts[number] <= now:
                log.start(str(number), "q", now)
        for place, number in enumerate(waiting, 1):
            log.wait(str(number), "q", "small", place, None, now)
            if number % 5 == 0:
                told.append((number, now, log.told(str(number), now)))
    return ((said, starts[number] - at) for number, at, said in told)


def test_of_a_burst_four_of_five_later_looks_are_right() -> None:
    """Forty apps come before anything is known of their like; most looks at them find an interval."""
    found = [each for seed in range(8) for each in burst(40, 20.0, seed)]
    known = [(said, wait) for said, wait in found if isinstance(said, StartInterval)]
    assert len(known) > len(found) / 2
    assert 0.75 <= sum(said.low <= wait <= said.high for said, wait in known) / len(known) <= 0.85


def test_an_app_that_came_too_early_is_told_once_others_show_how_good_later_looks_are() -> None:
    """First why nothing is known, then an interval from where it stands now."""
    told = [said for said, _ in burst(40, 12.0, seed=3)]
    assert "came before 10 apps like it" in str(told[0])
    assert isinstance(told[-1], StartInterval)
    assert told[-1].source is Source.PACE


def test_a_look_that_is_outlasted_counts_at_once() -> None:
    """Of twelve apps that should have started after a second none has after two minutes: the next is told so."""
    looks = LaterLooks()
    for number in range(12):
        assert not looks.due(str(number), KIND, 0.0)
        assert looks.due(str(number), KIND, GAP)
        looks.look(str(number), {Source.PACE: 1.0}, GAP, burst=True)
    assert looks.told(KIND, {Source.PACE: 1.0}, GAP) is None
    late = looks.told(KIND, {Source.PACE: 1.0}, 120.0)
    assert late is not None
    assert late.middle == pytest.approx(120.0 - GAP)
    for number in range(12):
        looks.start(str(number), 130.0)
    after = looks.told(KIND, {Source.PACE: 1.0}, 131.0)
    assert after is not None
    assert after.middle == pytest.approx(130.0 - GAP), "what it really missed takes the place of what it missed so far"


def test_who_is_gone_is_learned_nothing_of() -> None:
    """An app that was deleted while it waited has not started, and has outlasted nothing."""
    looks = LaterLooks()
    for number in range(12):
        looks.due(str(number), KIND, 0.0)
        looks.look(str(number), {Source.PACE: 1.0}, GAP, burst=True)
    looks.keep(set())
    for number in range(12):
        looks.start(str(number), 60.0)
    assert looks.told(KIND, {Source.PACE: 1.0}, 120.0) is None


def test_the_error_beside_a_later_estimate_is_that_of_later_estimates() -> None:
    """At nine o'clock first forecasts were nine minutes off, and those of who was told since then some seconds."""
    log, number, now = ForecastLog(), 0, 0.0
    log.start("first", "q", 0.0)
    while now < 400.0:
        now += GAP
        log.start(str(number), "q", now)
        number += 1
        for place, each in enumerate(range(number, 60), 1):
            log.wait(str(each), "q", "small", place, None, now)
    early, first = log.error_of("59", now), log.error
    assert early is not None
    assert first is not None
    assert early < 15.0 < first
    log.wait("late", "q", "small", 21, None, now)
    assert log.error_of("late", now) == first


def looked_at(looks: LaterLooks, app: str, wait: float, *, burst: bool, begin: float = 0.0) -> None:
    """An app that waits so long, looked at whenever that is due, and starts then; each time one second is forecast."""
    at = begin
    while at < begin + wait:
        if looks.due(app, KIND, at):
            looks.look(app, {Source.PACE: 1.0}, at, burst=burst)
        at += GAP
    looks.start(app, begin + wait)


@pytest.mark.parametrize(("burst", "least", "most"), [(False, 300.0, 1000.0), (True, 0.0, 60.0)])
def test_looks_that_are_learned_from_lie_all_over_the_wait(burst: bool, least: float, most: float) -> None:
    """The last ones before a start all promise too much; of a burst they alone are of the line as it is now."""
    looks = LaterLooks()
    looked_at(looks, "a", 1000.0, burst=burst)
    left = [2 * math.exp(error) - 1 for error in looks.misses[KIND].errors[Source.PACE]]
    assert 3 <= len(left) <= LOOKS
    assert least <= max(left) <= most


def test_one_app_corrects_the_share_aimed_at_once() -> None:
    """However often it was looked at: looks at one app are alike."""
    looks = LaterLooks()
    for number in range(12):
        looked_at(looks, str(number), 200.0, burst=False)
    before = looks.misses[KIND].outside
    looked_at(looks, "late", 5000.0, burst=False, begin=1000.0)
    assert 0 < before - looks.misses[KIND].outside <= STEP * COVERAGE


def test_who_has_waited_for_longer_than_most_is_told_anew() -> None:
    """Its first forecast is outlived, and tells nothing any more; its place and the pace of the line do."""
    log, now = ForecastLog(), 0.0
    log.start("first", "q", now)
    log.wait("slow", "q", "small", 30, None, now)
    for number in range(60):
        now += 20.0
        for place, each in enumerate(range(number, 60), 1):
            log.wait(str(each), "q", "small", place, None, now)
        log.start(str(number), "q", now)
    for at in range(3):
        log.wait(f"new{at}", "q", "small", at + 1, None, now)
    outlived = now + 1e6
    for _ in range(2):
        log.wait("new2", "q", "small", 3, None, outlived)
    said = log.told("new2", outlived)
    assert isinstance(said, StartInterval)
    assert log.error_of("new2", outlived) != log.error
