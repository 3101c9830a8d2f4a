"""Allocation efficiency: equation 7 of paper 000."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.estimation.efficiency import Usage, together

usages = st.builds(Usage, st.integers(0, 1000).map(float), st.integers(1, 1000).map(float))


def test_a_user_is_the_sum_of_its_jobs() -> None:
    """Numerators and denominators are summed, ratios are not averaged."""
    jobs = {"long": Usage(10.0, 100.0), "short": Usage(9.0, 10.0)}
    assert together(jobs.values()).efficiency == pytest.approx(19 / 110)


def test_nothing_reserved_has_no_efficiency() -> None:
    """0/0 is neither waste nor thrift."""
    assert Usage().efficiency is None


@given(st.lists(usages, min_size=1))
def test_a_whole_lies_between_its_parts(parts: list[Usage]) -> None:
    """And does not depend on the order in which they are listed."""
    efficiencies = [part.used / part.reserved for part in parts]
    whole = together(parts).efficiency
    assert whole is not None
    assert min(efficiencies) - 1e-9 <= whole <= max(efficiencies) + 1e-9
    assert together(reversed(parts)) == together(parts)
