"""Forecasts of starts of a simulated run."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater.pools.forecastlog import Judged
from slackwater.pools.startforecast import Source, StartInterval
from slackwater_simulator.results.startforecasts import judged, read, written
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Workload


def test_forecasts_survive_being_written_as_series() -> None:
    """Those that were not known come back as not known."""
    made = [Judged(1.0, StartInterval(1, 2, 3, Source.PACE), 2.5), Judged(2.0, "too few", 9.0)]
    found = read(written(made))
    assert [each.wait for each in found] == [2.5, 9.0]
    assert found[0].told == made[0].told
    assert isinstance(found[1].told, str)
    assert written([]) == {}
    assert read({}) == []


@pytest.mark.parametrize("world", ["yarn", "kubernetes"])
def test_a_run_judges_the_starts_it_forecast(world: str) -> None:
    """Forty jobs that each fill the only node: all but the first wait, and the last are told when they start."""
    stage = Stage("map", (4.0, GIBI), np.full(1, 20.0))
    jobs = tuple(Job(f"j{number}", 18.0 * number, (stage,)) for number in range(40))
    played = run(Workload("line", jobs), parse("1x4c16Gi"), "slackwater", world=world, forecasts=True)
    found = judged(played)
    assert found.known > 0
    assert found.known + found.unknown >= 30
    assert found.error < 100
    plain = run(Workload("line", jobs), parse("1x4c16Gi"), "slackwater", world=world)
    assert plain.jobs.start.tolist() == played.jobs.start.tolist()  # looking changes nothing
    assert "start_low" not in plain.series
    assert plain.starts == ()


def test_a_run_with_reasons_keeps_what_was_told_of_starts_while_apps_waited() -> None:
    """As the operator's status would: now and then, counted from when it was told, first why nothing is known."""
    stage = Stage("map", (4.0, GIBI), np.full(1, 20.0))
    jobs = tuple(Job(f"j{number}", 18.0 * number, (stage,)) for number in range(40))
    line = Workload("line", jobs)
    played = run(line, parse("1x4c16Gi"), "slackwater", world="kubernetes", forecasts=True, reasons=True)
    assert "it came before 10 apps like it had waited and started" in str(played.starts[0].told)
    assert [each.time for each in played.starts] == sorted(each.time for each in played.starts)
    assert all(each.time <= played.jobs.driver[each.job] for each in played.starts)
    last = [each.told.middle for each in played.starts if each.job == 39 and isinstance(each.told, StartInterval)]
    assert len(last) > 3
    assert last == sorted(last, reverse=True)
    assert played.starts[-1].error is not None
