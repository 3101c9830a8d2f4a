"""Forecasts of starts as series of an outcome, and back: time is when the forecast was made."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from slackwater.pools.forecastlog import Coverage, Judged, coverage
from slackwater.pools.startforecast import Source, StartInterval
from slackwater_simulator.results.outcome import Outcome, Series

NAMES = ("start_low", "start_middle", "start_high", "start_wait")
NOT_KNOWN = "not known yet"


def written(judged: Collection[Judged]) -> dict[str, Series]:
    """Low, middle and high of each forecast, NaN where none was made, and the real wait; nothing without forecasts."""
    if not judged:
        return {}
    time = np.array([each.since for each in judged])
    rows = np.array([[*_told(each.told), each.wait] for each in judged])
    return {name: Series(time, column) for name, column in zip(NAMES, rows.T, strict=True)}


def read(series: Mapping[str, Series]) -> list[Judged]:
    """The forecasts of an outcome that `written` put there."""
    if NAMES[0] not in series:
        return []
    columns = [series[name].value.tolist() for name in NAMES]
    return [
        Judged(since, _interval(low, middle, high), wait)
        for since, low, middle, high, wait in zip(series[NAMES[0]].time.tolist(), *columns, strict=True)
    ]


def judged(outcome: Outcome) -> Coverage:
    """How good the forecasts of a run were."""
    return coverage(read(outcome.series))


def later(outcome: Outcome, every: float) -> list[Judged]:
    """What was told of apps that waited on after the first look at them: of each, one look in so many seconds."""
    last: dict[int, float] = {}
    kept = []
    for said in outcome.starts:
        wait = float(outcome.jobs.driver[said.job]) - said.time
        if said.job not in last:
            last[said.job] = said.time
        elif said.time - last[said.job] >= every and wait >= 0:
            last[said.job] = said.time
            kept.append(Judged(said.time, said.told, wait))
    return kept


def _told(told: StartInterval | str) -> tuple[float, float, float]:
    return (told.low, told.middle, told.high) if isinstance(told, StartInterval) else (np.nan, np.nan, np.nan)


def _interval(low: float, middle: float, high: float) -> StartInterval | str:
    return NOT_KNOWN if np.isnan(low) else StartInterval(low, middle, high, Source.PACE)
