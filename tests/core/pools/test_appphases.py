"""Phases of many apps: what operator and simulator tell, in whatever order, becomes one forecast."""

from __future__ import annotations

import random

import pytest

from slackwater.pools.appphases import AppPhases
from slackwater.pools.forecast import first_fit
from slackwater.pools.phases import Window
from slackwater.pools.pools import Category

SIDE = [("a", Category.LARGE, 1.0)]


def two_waves() -> list[tuple[str, float]]:
    """Twelve tasks at 1,000 s and twelve at 3,000 s, half a second apart."""
    return [(f"t{n}", 1000.0 + n * 0.5) for n in range(12)] + [(f"u{n}", 3000.0 + n * 0.5) for n in range(12)]


@pytest.mark.parametrize("seed", range(4))
def test_starts_told_in_any_order_make_the_same_phases(seed: int) -> None:
    """A relist shows running tasks by name; phases must not be merged by it (D6)."""
    starts = two_waves()
    random.Random(seed).shuffle(starts)
    phases = AppPhases()
    for task, at in starts:
        phases.start("a", task, at)
    for number in range(8):
        phases.finish(f"u{number}", 3610.0 + number * 0.1)
    counts = [(wave.count, wave.spread) for wave in phases.waves("a", 3611.0)]
    assert (12, 5.5) in counts


def test_stragglers_of_a_labelled_stage_promise_nothing() -> None:
    """Five of twenty still run long after the others: nobody may expect them at once (D5)."""
    phases = AppPhases()
    for number in range(20):
        phases.start("a", f"t{number}", 100.0 + number * 0.1, "map")
    for number in range(15):
        phases.finish(f"t{number}", 160.0 + number * 0.1)
    early = phases.forecast(SIDE, 161.5, 1.0)
    late = phases.forecast(SIDE, 4000.0, 1.0)
    assert early.releases[Category.LARGE] > 0
    assert late.releases[Category.LARGE] == 0
    assert first_fit(5, 0, late.outlook) is None


def test_stragglers_that_begin_to_end_are_forecast_again() -> None:
    """Late tasks of a stage are a wave of their own once the first of them end."""
    phases = AppPhases()
    phases.expect("a", "map", 30)
    for number in range(30):
        phases.start("a", f"t{number}", 100.0 + number * 0.5, "map")
    for number in range(15):
        phases.finish(f"t{number}", 160.0 + number * 0.1)
    phases.waves("a", 300.0)
    for number in range(15, 22):
        phases.finish(f"t{number}", 400.0 + number * 0.1)
    assert phases.forecast(SIDE, 403.0, 5.0).releases[Category.LARGE] > 0


def test_a_small_stage_of_known_size_is_seen() -> None:
    """Three starts never pass a threshold of five, unless it is known that there are three."""
    opened = {}
    for size in (0, 3):
        phases = AppPhases()
        if size:
            phases.expect("a", "", size)
        for number in range(3):
            phases.start("a", f"t{number}", 100.0 + number)
        phases.waves("a", 103.0)
        opened[size] = phases._detectors["a"].phases[0].first
    assert opened == {0: None, 3: 100.0}


def test_the_window_of_an_app_is_its_pools() -> None:
    """A window of 1 s tells two bursts apart that a window of 60 s takes for one."""
    found = {}
    for seconds in (1.0, 60.0):
        phases = AppPhases()
        for number in range(20):
            at = 100.0 + number * 0.01 + (20.0 if number >= 10 else 0.0)
            phases.start("a", f"t{number}", at, window=Window(seconds, 5, 5))
        for number in range(8):
            phases.finish(f"t{10 + number}", 200.0 + number * 0.01)
        found[seconds] = max(wave.count for wave in phases.waves("a", 200.1))
    assert found == {1.0: 10, 60.0: 20}
