"""What will be released, and when a job will fit (paper 004)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.pools.forecast import Variant, Wave, cumulative, first_fit, outlook, release, releases
from support.builders.oracles import Oracle, rows
from support.builders.paperformulas import printed_release

seconds = st.floats(0, 1000)
waves = st.builds(
    lambda count, ended, gamma, spread: Wave(count, max(0, count - ended), gamma, spread),
    st.integers(1, 50),
    st.integers(0, 50),
    seconds,
    st.just(0.0) | st.floats(0.5, 200),
)


def wave(row: Oracle, running: float) -> Wave:
    """The phase of a row with so many containers still running."""
    return Wave(row.inputs["c"], running, row.inputs["gamma"], row.inputs["dps"])


@rows("DRS-02", "DRS-05")
def test_cumulative_release_of_a_phase(row: Oracle) -> None:
    """Even over the window; a step where all tasks started together."""
    given_ = row.inputs
    found = [cumulative(given_["c"], given_["gamma"], given_["dps"], t) for t in given_["t"]]
    assert found == row.expected["G"]


@rows("DRS-05")
def test_step_is_released_whole(row: Oracle) -> None:
    """All of it in the second that reaches γ."""
    assert release(wave(row, row.inputs["c"]), 99) == row.expected["release_99_to_100"]


@rows("DRS-03")
def test_release_of_the_next_second_is_capped_by_what_runs(row: Oracle) -> None:
    """Nobody gives back more than they hold."""
    found = [release(wave(row, running), t) for t, running in row.inputs["t_running"]]
    assert found == row.near(row.expected["release"])


@rows("DRS-04")
def test_printed_equation_for_reference(row: Oracle) -> None:
    """Cumulative inside, nothing after: not a release per second."""
    given_ = row.inputs
    found = [printed_release(given_["c"], given_["gamma"], given_["dps"], t) for t in given_["t"]]
    assert found == row.expected["p_printed"]


def test_unknown_first_end_promises_nothing() -> None:
    """After a restart the forecast is 0 until γ is seen again."""
    unknown = Wave(10, 10, None, 5)
    assert [release(unknown, 100, variant=variant) for variant in Variant] == [0, 0]


@pytest.mark.parametrize(
    ("t", "running", "want"),
    [
        pytest.param(98, 10, 0, id="before-the-first-end"),
        pytest.param(100, 10, 0.5, id="at-the-first-end"),
        pytest.param(110, 8, 0.8, id="late-phase-hurries"),
        pytest.param(119, 3, 3, id="last-second"),
        pytest.param(125, 2, 2, id="overdue"),
    ],
)
def test_conditional_variant_spreads_what_runs_over_what_is_left(t: float, running: float, want: float) -> None:
    """Those that run · min(1, h / (γ + Δps − t))."""
    assert release(Wave(10, running, 100, 20), t, variant=Variant.CONDITIONAL) == pytest.approx(want)


def test_pool_forecast_adds_its_phases() -> None:
    """F_k sums over the phases, unknown ones included as nothing."""
    assert releases([Wave(10, 10, 100, 20), Wave(4, 4, 101, 0), Wave(9, 9, None, 0)], 100) == 4.5


@pytest.mark.parametrize(
    ("required", "want"), [(2, 0.0), (3, 5.0), (6, 9.0), (7, None)], ids=["now", "first", "both", "never"]
)
def test_first_fit_over_known_ends(required: float, want: float | None) -> None:
    """Two slots free, one more at 5, three more at 9, listed in any order."""
    assert first_fit(required, 2, [(9.0, 3), (5.0, 1)]) == want


def test_a_step_is_seen_whatever_rounding_does() -> None:
    """Here now + (γ − now) is a hair before γ: the step would be missed."""
    assert [ended for _, ended in outlook(Wave(1, 1, 2.00001, 0.0), 2.220446049250313e-16, 1)] == [1]


@given(waves, seconds)
def test_an_outlook_gives_back_what_the_forecast_does(phase: Wave, now: float) -> None:
    """Over the whole window, in steps that never go back in time."""
    steps = outlook(phase, now)
    assert [moment for moment, _ in steps] == sorted(moment for moment, _ in steps)
    assert sum(ended for _, ended in steps) == pytest.approx(release(phase, now, 1e5))


@given(waves, seconds, st.floats(0, 500), st.sampled_from(Variant))
def test_forecast_is_between_nothing_and_what_runs(phase: Wave, t: float, horizon: float, variant: Variant) -> None:
    """Whatever the times."""
    assert -1e-9 <= release(phase, t, horizon, variant) <= phase.running


@pytest.mark.parametrize(
    ("phase", "t", "field"),
    [
        pytest.param(Wave(1, 1, 0, 1), float("nan"), "t", id="nan-time"),
        pytest.param(Wave(1, float("inf"), 0, 1), 0, "running", id="infinite-running"),
        pytest.param(Wave(1, 1, float("nan"), 1), 0, "gamma", id="nan-gamma"),
        pytest.param(Wave(1, 1, 0, -1), 0, "spread", id="negative-spread"),
    ],
)
@pytest.mark.parametrize("variant", list(Variant))
def test_bad_number_names_its_field(phase: Wave, t: float, field: str, variant: Variant) -> None:
    """In both variants."""
    with pytest.raises(BadNumber) as caught:
        release(phase, t, variant=variant)
    assert caught.value.field == field
