"""Room: three readings of the same two equations, and the prototype's node total."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater_simulator.physics.room import Side, accepts, live_room, node_totals, prototype_room, sim_room

amounts = st.floats(0, 1e6)


@pytest.mark.parametrize(("real", "room"), [(32.0, 18.0), (20.0, 10.0), (0.0, 18.0), (None, 18.0)], ids=str)
def test_live_room_is_bounded_by_both_capacities(real: float | None, room: float) -> None:
    """min(AR, NC) − E; an unknown NC is AR."""
    assert live_room(28.0, real, 10.0) == room


def test_live_room_ignores_what_containers_use_now() -> None:
    """In a burst the measured ACU stands still while E rises: prototype room would hand out the same room twice."""
    assert prototype_room(28.0, 40.0, containers=0.0, estimate=20.0) == 20.0
    assert live_room(28.0, 40.0, estimate=20.0) == 8.0


def test_a_node_without_allowance_takes_nothing() -> None:
    """AR = 0 refuses every positive request, and lets a pod that asks for nothing pass."""
    assert not accepts(0.1, live_room(0.0, 32.0, 0.0))
    assert accepts(0.0, sim_room(0.0, 5.0))


def test_sums_that_differ_by_rounding_still_fit() -> None:
    """0.1 + 0.2 fits into 0.3."""
    assert accepts(0.1 + 0.2, 0.3)


def side(reserved: float, containers: float, estimate: float) -> Side:
    """AR 7, NC 8, steps of 1."""
    return Side(reserved, 7.0, 8.0, containers, estimate, 1.0)


@pytest.mark.parametrize(
    ("sides", "shrink", "totals"),
    [
        ([side(5.0, 2.0, 4.0)], False, [9.0]),
        ([side(1.0, 2.0, 4.0)], False, [7.0]),
        ([side(5.0, 2.0, 4.0), side(5.0, 6.5, 7.5)], False, [7.0, 7.0]),
        ([side(9.0, 8.0, 8.0)], False, [9.0]),
        ([side(5.0, 8.0, 8.0)], True, [5.0]),
        ([side(1.0, 2.0, 4.0)], True, [5.0]),
    ],
    ids=["stretched", "never below AR", "one kind full", "never below used", "shrunk to used", "shrunk below AR"],
)
def test_node_total(sides: list[Side], shrink: bool, totals: list[float]) -> None:
    """What the authors' prototype shows to the YARN scheduler."""
    assert node_totals(sides, shrink=shrink) == totals


@given(amounts, amounts, amounts, amounts)
def test_live_room_never_exceeds_the_simulators(allowance: float, real: float, used: float, estimate: float) -> None:
    """On a real cluster we promise no more than the paper's simulator would."""
    assert live_room(allowance, real, estimate) <= sim_room(allowance, estimate)


@pytest.mark.parametrize("bad", [math.nan, math.inf], ids=str)
def test_bad_numbers_name_their_field(bad: float) -> None:
    """Each function says which input it could not use."""
    for field, call in (
        ("allowance", lambda: sim_room(bad, 1.0)),
        ("real", lambda: live_room(1.0, bad, 1.0)),
        ("containers", lambda: prototype_room(1.0, 1.0, bad, 1.0)),
        ("estimate", lambda: live_room(1.0, 1.0, bad)),
        ("request", lambda: accepts(bad, 1.0)),
        ("room", lambda: accepts(1.0, bad)),
    ):
        with pytest.raises(BadNumber) as caught:
            call()
        assert caught.value.field == field
