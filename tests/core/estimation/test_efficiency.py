"""Allocation efficiency: equation 7 of paper 000."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber, InvalidInput
from slackwater.estimation.efficiency import Usage, container, grouped, together

usages = st.builds(Usage, st.integers(0, 1000).map(float), st.integers(1, 1000).map(float))


def test_a_user_is_the_sum_of_its_jobs() -> None:
    """Numerators and denominators are summed, ratios are not averaged."""
    jobs = {"long": Usage(10.0, 100.0), "short": Usage(9.0, 10.0)}
    assert together(jobs.values()).efficiency == pytest.approx(19 / 110)


def test_nothing_reserved_has_no_efficiency() -> None:
    """0/0 is neither waste nor thrift."""
    assert container([], []).efficiency is None


def test_usage_is_grouped_by_key() -> None:
    """Containers of the same user go together."""
    groups = grouped([("ann", Usage(1.0, 2.0)), ("bob", Usage(1.0, 4.0)), ("ann", Usage(1.0, 2.0))])
    assert {user: usage.efficiency for user, usage in groups.items()} == {"ann": 0.5, "bob": 0.25}


def test_every_use_needs_its_reservation() -> None:
    """Lists of unequal length are a mistake of the caller."""
    with pytest.raises(InvalidInput, match="2 samples beside 1 reservations"):
        container([1.0, 2.0], [4.0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -1.0], ids=str)
def test_bad_numbers_name_their_field(bad: float) -> None:
    """Use and reservation alike."""
    with pytest.raises(BadNumber, match=r"^used"):
        container([bad], [1.0])
    with pytest.raises(BadNumber, match=r"^reserved"):
        container([1.0], [bad])


@given(st.lists(usages, min_size=1))
def test_a_whole_lies_between_its_parts(parts: list[Usage]) -> None:
    """And does not depend on the order in which they are listed."""
    efficiencies = [part.used / part.reserved for part in parts]
    whole = together(parts).efficiency
    assert whole is not None
    assert min(efficiencies) - 1e-9 <= whole <= max(efficiencies) + 1e-9
    assert together(reversed(parts)) == together(parts)
