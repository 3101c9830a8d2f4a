"""Resource vectors over named kinds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.resources import NOTHING, Resources, total

kinds = st.sampled_from(["cpu", "memory", "nvidia.com/gpu"])
vectors = st.dictionaries(kinds, st.integers(-1000, 1000).map(float)).map(Resources)


def test_kinds_not_named_are_zero() -> None:
    """A pod that asks for no GPU asks for 0 GPUs."""
    one = Resources(cpu=2.0)
    assert (one["cpu"], one["memory"], "memory" in one) == (2.0, 0.0, False)


def test_zero_is_the_same_as_not_named() -> None:
    """Equal amounts are equal, and hash alike."""
    assert Resources(cpu=1.0, memory=0.0) == Resources(cpu=1.0)
    assert len({Resources(cpu=1.0, memory=0.0), Resources({"cpu": 1.0})}) == 1
    assert Resources(cpu=1.0) != {"cpu": 1.0}


def test_reads_well_in_messages() -> None:
    """Sorted and short."""
    assert repr(Resources(memory=4.0, cpu=0.5)) == "Resources(cpu=0.5, memory=4)"


@pytest.mark.parametrize(
    ("ask", "room", "lacking"),
    [
        (Resources(cpu=2.0), Resources(cpu=2.0), ()),
        (Resources(cpu=0.1) + Resources(cpu=0.2), Resources(cpu=0.3), ()),
        (Resources(cpu=2.0, memory=1.0), Resources(memory=0.5), ("cpu", "memory")),
        (Resources(cpu=1.0), Resources(cpu=1.0, memory=-5.0), ()),
        (NOTHING, Resources(cpu=-1.0), ()),
        ({"cpu": 1.0}, NOTHING, ("cpu",)),
    ],
    ids=["exact", "rounding", "two kinds", "over-full in another kind", "asks for nothing", "empty node"],
)
def test_fits(ask: Resources, room: Resources, lacking: tuple[str, ...]) -> None:
    """Only what is asked for can be lacking."""
    assert Resources(ask).lacking(room) == lacking
    assert Resources(ask).fits(room) is (lacking == ())


def test_limits_are_taken_kind_by_kind() -> None:
    """Maximum and minimum."""
    one, two = Resources(cpu=1.0, memory=4.0), Resources(cpu=2.0)
    assert one.at_least(two) == Resources(cpu=2.0, memory=4.0)
    assert one.at_most(two) == Resources(cpu=1.0)


@pytest.mark.parametrize(
    ("whole", "share"), [(Resources(cpu=4.0, memory=4.0), 0.5), (Resources(cpu=4.0), math.inf)], ids=["largest", "none"]
)
def test_dominant_share(whole: Resources, share: float) -> None:
    """Infinite where the whole has none of a kind that is asked for."""
    assert Resources(cpu=1.0, memory=2.0).share(whole) == share
    assert NOTHING.share(whole) == 0.0


def test_vectors_and_back() -> None:
    """Rows of arrays, in the order of the kinds."""
    order = ("memory", "cpu")
    row = Resources(cpu=1.0).vector(order)
    assert row.tolist() == [0.0, 1.0]
    assert Resources.from_vector(order, row) == Resources(cpu=1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf], ids=str)
def test_bad_amounts_name_their_kind(bad: float) -> None:
    """They never get inside."""
    with pytest.raises(BadNumber, match=r"^memory"):
        Resources(cpu=1.0, memory=bad)


@given(st.lists(vectors))
def test_a_total_does_not_depend_on_the_order(parts: list[Resources]) -> None:
    """And is what adding one by one gives."""
    summed = NOTHING
    for part in parts:
        summed += part
    assert total(parts) == summed == total(reversed(parts))


@given(vectors, vectors)
def test_what_is_added_can_be_taken_away(one: Resources, two: Resources) -> None:
    """Sum, difference and product agree."""
    assert one + two - two == one
    assert one + one == one * 2.0
