"""What an app wants, the most it has wanted so far, and the category that follows."""

from hypothesis import given
from hypothesis import strategies as st

from slackwater.pools.demand import Wanted, category, demand, more
from slackwater.pools.pools import Category
from slackwater.resources import Resources

SLOT = Resources(cpu=1, memory=2)


def pods(count: int, cpu: float = 1.0) -> Wanted:
    """So many equal pods."""
    return ((Resources(cpu=cpu, memory=1), count),)


def test_demand_is_counted_in_slots() -> None:
    """Three pods of one slot and a driver of two."""
    assert demand(pods(3) + pods(1, cpu=2), SLOT) == 5


def test_the_most_decides_though_pods_have_ended() -> None:
    """Twelve of a hundred slots are large, and stay so when two are left."""
    most = more(more(pods(1), pods(12), SLOT), pods(2), SLOT)
    assert category(most, SLOT, nominal=100) is Category.LARGE


def test_the_same_pods_are_counted_anew_on_other_nodes() -> None:
    """Twelve are a large part of a hundred slots and a small one of a thousand."""
    assert category(pods(12), SLOT, nominal=100) is Category.LARGE
    assert category(pods(12), SLOT, nominal=1000) is Category.SMALL


def test_what_nobody_knows_counts_as_large() -> None:
    """A driver that has not said what it will ask for."""
    assert category(None, SLOT, nominal=100) is Category.LARGE


@given(st.lists(st.integers(0, 20), min_size=1), st.randoms(use_true_random=False))
def test_the_most_does_not_depend_on_the_order(counts: list[int], random: object) -> None:
    """Whatever comes first."""
    shuffled = list(counts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    most: Wanted = ()
    for count in shuffled:
        most = more(most, pods(count), SLOT)
    assert demand(most, SLOT) == max(counts)
