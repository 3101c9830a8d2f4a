"""Series of a bounded length, and which policies record what they believe to be in use."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater_simulator.results.samples import MOST_POINTS, Samples
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload


def test_a_long_series_is_thinned_evenly() -> None:
    """Ten thousand samples leave at most the bound, evenly apart; values are made only for those that are kept."""
    samples, made = Samples(("double",)), 0
    for time in range(10_000):
        values = [2.0 * time] if samples.due else ()
        made += len(values)
        samples.add(float(time), values)
    kept = samples.series()["double"]
    assert len(kept.time) <= MOST_POINTS
    assert len(set(np.diff(kept.time).tolist())) == 1
    assert kept.value.tolist() == [2.0 * time for time in kept.time.tolist()]
    assert made < 10_000


def test_nothing_sampled_is_no_series() -> None:
    """A run without a usage model has no estimates to show."""
    assert Samples(("cpu",)).series() == {}


@pytest.mark.parametrize(
    ("policy", "world"), [("estimation", "yarn"), ("slackwater", "yarn"), ("slackwater", "kubernetes")]
)
def test_policies_that_estimate_record_it(policy: str, world: str) -> None:
    """Tasks that use a quarter: the estimate starts at the request and comes down to the use."""
    idle = Usage(cpu=np.full(8, 0.25), memory=np.full(8, 0.25))
    job = Job("j", 0.0, (Stage("map", (1.0, GIBI), np.full(8, 300.0), usage=idle),), Driver((1.0, GIBI)))
    series = run(Workload("w", (job,)), parse("2x8c16Gi"), policy, world=world).series
    estimated, used = series["estimated_cpu"], series["used_cpu"]
    assert set(series) >= {"estimated_memory", "used_memory"}
    assert estimated.value.max() > 6.0
    middle = np.interp(150.0, estimated.time, estimated.value)
    # The driver is charged in full by Slackwater, by its use in paper 000; it has no usage curve, so both are 1 core.
    assert middle == pytest.approx(np.interp(150.0, used.time, used.value), abs=0.1)
