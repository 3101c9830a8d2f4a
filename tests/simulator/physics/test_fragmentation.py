"""Capacity in whole containers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slackwater.admission.budget import RunningMeans, WaitingDriver, drain
from slackwater.resources import Resources
from slackwater_simulator.physics.fragmentation import effective


def test_eight_cores_hold_two_containers_of_three() -> None:
    """Eight nodes of 8 cores offer 48 of their 64 to containers of 3."""
    assert effective([Resources(cpu=8)] * 8, Resources(cpu=3)) == Resources(cpu=48)


def test_kind_without_a_grain_counts_in_full() -> None:
    """Sizes that differ leave a kind as it is."""
    assert effective([Resources(cpu=8, memory=12)], Resources(cpu=3)) == Resources(cpu=6, memory=12)


def test_rounding_of_floats_loses_no_container() -> None:
    """Three grains of 0.1 fit into 0.3."""
    assert effective([Resources(cpu=0.3)], Resources(cpu=0.1))["cpu"] > 0.29


def test_admission_on_whole_containers_lets_in_what_fits_with_tasks() -> None:
    """At AMC = TC = 3 the nominal 64 cores admit 10 drivers, but the nodes hold only 16 containers: 8 and 8."""
    grain = Resources(cpu=3)
    jobs = [WaitingDriver("job", grain, grain)] * 72
    nominal, whole = Resources(cpu=64), effective([Resources(cpu=8)] * 8, grain)
    assert sum(verdict.admitted for _, verdict in drain(jobs, RunningMeans(), nominal)) == 10
    assert sum(verdict.admitted for _, verdict in drain(jobs, RunningMeans(), whole)) == 8


@given(st.lists(st.integers(0, 200).map(lambda cpu: Resources(cpu=cpu / 4)), max_size=20), st.integers(1, 40))
def test_effective_capacity_is_never_more_than_nominal(nodes: list[Resources], quarters: int) -> None:
    """Rounding down takes less than a grain per node."""
    grain = quarters / 4
    nominal, whole = sum(node["cpu"] for node in nodes), effective(nodes, Resources(cpu=grain))["cpu"]
    assert nominal - len(nodes) * grain <= whole <= nominal + 1e-6
