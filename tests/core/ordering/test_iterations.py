"""Alignment: how near an iterative job is to its end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.ordering.iterations import alignment, factor
from support.builders.oracles import Oracle, rows


@rows("HST-09")
def test_is_the_share_of_stages_reached(row: Oracle) -> None:
    """Ordinary jobs have none."""
    assert [alignment(**case) for case in row.inputs["cases"]] == row.near(row.expected["A"])


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        pytest.param(8, 0.5, id="half-way"),
        pytest.param(None, 0.8, id="one-more-round"),
        pytest.param(2, 1.0, id="more-rounds-than-said"),
        pytest.param(0, 0.0, id="no-rounds"),
    ],
)
def test_an_unknown_total_is_one_more_than_the_round_that_runs(stages: float | None, expected: float) -> None:
    """Never above 1, never a division by zero."""
    assert alignment(iterative=True, stage=4, stages=stages) == expected


@given(stage=st.floats(0, 1e6), stages=st.floats(0, 1e6))
def test_stays_between_nothing_and_one(stage: float, stages: float) -> None:
    """Whatever the counters say."""
    assert 0 <= alignment(iterative=True, stage=stage, stages=stages) <= 1


@pytest.mark.parametrize(("share", "expected"), [(0, 0), (0.25, 0.75), (0.5, 0.5), (0.51, 0), (1, 0)])
def test_the_factor_helps_a_minority_of_iterative_jobs(share: float, expected: float) -> None:
    """1 − q up to one half, then nothing."""
    assert factor(share) == expected


def test_a_bad_share_is_refused_by_name() -> None:
    """A share lies from 0 to 1."""
    with pytest.raises(BadNumber, match=r"alignment\.share"):
        factor(float("nan"))
