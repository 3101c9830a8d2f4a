"""Room in the paper's simulator."""

from __future__ import annotations

import math

import pytest

from slackwater.errors import BadNumber
from slackwater_simulator.physics.room import accepts, sim_room


def test_a_node_without_allowance_takes_nothing() -> None:
    """AR = 0 refuses every positive request, and lets a pod that asks for nothing pass."""
    assert not accepts(0.1, sim_room(0.0, 0.0))
    assert accepts(0.0, sim_room(0.0, 5.0))


def test_sums_that_differ_by_rounding_still_fit() -> None:
    """0.1 + 0.2 fits into 0.3."""
    assert accepts(0.1 + 0.2, 0.3)


@pytest.mark.parametrize("bad", [math.nan, math.inf], ids=str)
def test_bad_numbers_name_their_field(bad: float) -> None:
    """Each function says which input it could not use."""
    for field, call in (
        ("allowance", lambda: sim_room(bad, 1.0)),
        ("estimate", lambda: sim_room(1.0, bad)),
        ("request", lambda: accepts(bad, 1.0)),
        ("room", lambda: accepts(1.0, bad)),
    ):
        with pytest.raises(BadNumber) as caught:
            call()
        assert caught.value.field == field
