"""Resource vectors over named kinds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.resources import NOTHING, PLENTY, Resources, holding, least, needed, needed_by, places, plain, total

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


@pytest.mark.parametrize(
    ("request_", "residual", "fits"),
    [
        pytest.param([0.3, 0], [0.1 + 0.2, -5], True, id="rounding-and-a-kind-not-asked-for"),
        pytest.param([0.3, 0], [0.29, 9], False, id="too-little"),
        pytest.param([0, 0], [-1, -1], True, id="asks-for-nothing"),
        pytest.param([3e9, 0], [3e9 - 1, 0], True, id="one-byte-of-three-gigabytes"),
    ],
)
def test_needs_what_is_asked_for_and_nothing_else(request_: list[float], residual: list[float], fits: bool) -> None:
    """The tolerance is relative; a kind not asked for never refuses."""
    assert bool((needed(np.array(request_, dtype=float)) <= np.array(residual)).all()) is fits


sizes = st.sampled_from([1e-3, 0.1, 0.3, 1.0, 2.5, 3e9, 7.0 * 2**30])


@given(asked=st.lists(st.just(0.0) | sizes, min_size=2, max_size=2), data=st.data())
def test_names_numbers_and_arrays_give_one_answer(asked: list[float], data: st.DataObject) -> None:
    """Whether a demand fits does not depend on the form in which it is asked."""
    near = [st.sampled_from([-1.0, each, each * (1 - 5e-10), each - 5e-10, each * 0.999]) for each in asked]
    left = [data.draw(each) for each in near]
    fits = Resources(zip_kinds(asked)).fits(Resources(zip_kinds(left)))
    assert all(have >= least(want) for have, want in zip(left, asked, strict=True)) is fits
    assert all(have >= want for have, want in zip(left, needed_by(tuple(asked)), strict=True)) is fits
    assert bool((np.array(left) >= needed(np.array(asked))).all()) is fits
    assert holding(np.array([left]), asked).tolist() == [fits]
    assert (places(np.array([left]), asked) >= 1).tolist() == [fits]


def zip_kinds(amounts: list[float]) -> dict[str, float]:
    """As cores and bytes."""
    return dict(zip(("cpu", "memory"), amounts, strict=True))


def test_an_endless_demand_fits_nowhere() -> None:
    """It stands for a kind that no node has."""
    left = np.array([[1e300]])
    assert (least(math.inf), needed(np.array([math.inf])).tolist()) == (math.inf, [math.inf])
    assert (holding(left, [math.inf]).tolist(), places(left, [math.inf]).tolist()) == ([False], [0.0])


@pytest.mark.parametrize(
    ("left", "asked", "found"),
    [
        pytest.param([0.1 + 0.2, 9.0], [0.1, 0.0], 3, id="three-tenths-are-three-times-one-tenth"),
        pytest.param([4.0, 3.0 * 7e9 - 1], [1.0, 7e9], 3, id="a-byte-of-seven-gigabytes"),
        pytest.param([8.0, 5.0], [2.0, 2.0], 2, id="the-scarcest-kind-counts"),
        pytest.param([-1.0, 5.0], [1.0, 0.0], 0, id="an-overfull-node-holds-none"),
        pytest.param([-1.0, 5.0], [0.0, 2.0], 2, id="but-of-a-kind-that-is-asked-for"),
        pytest.param([-1.0, -1.0], [0.0, 0.0], PLENTY, id="asks-for-nothing"),
    ],
)
def test_how_often_a_demand_goes_into_what_is_left(left: list[float], asked: list[float], found: float) -> None:
    """With the slack of a single one, whatever the unit."""
    assert places(np.array([left]), asked).tolist() == [found]


def test_a_demand_for_a_kind_that_no_node_has_is_more_than_any_node_has() -> None:
    """So that it fits nowhere; kinds that are there and not asked for are 0."""
    kinds = ("cpu", "memory")
    assert Resources(cpu=2.0).demand(kinds) == [2.0, 0.0]
    assert Resources({"cpu": 2.0, "nvidia.com/gpu": 1.0}).demand(kinds) == [math.inf, math.inf]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (12_000.0, "12,000"),
        (-12_345.6, "-12,346"),
        (1.5, "1.5"),
        (0.00005, "0.0001"),
        (-1.8e-15, "0"),
        (999.94, "999.9"),
    ],
)
def test_numbers_for_people_have_no_exponent(value: float, words: str) -> None:
    """What subtraction leaves over is nothing."""
    assert plain(value) == words
