"""The median task of the apps seen so far."""

from __future__ import annotations

from slackwater.pools.mediantask import MOST, MedianTask
from slackwater.resources import NOTHING, Resources


def test_nothing_is_known_before_the_first_task() -> None:
    """A driver alone says nothing of its tasks."""
    sizes = MedianTask()
    sizes.see("etl", NOTHING)
    assert sizes.current == NOTHING
    assert len(sizes) == 0


def test_each_name_has_one_vote() -> None:
    """An app that runs every minute, or changes its size, does not outvote the others."""
    sizes = MedianTask()
    for _ in range(100):
        sizes.see("every minute", Resources(cpu=8))
    sizes.see("etl", Resources(cpu=1))
    sizes.see("report", Resources(cpu=2))
    assert sizes.current == Resources(cpu=2)


def test_it_is_renewed_as_the_number_of_names_doubles() -> None:
    """So the border between pools does not move with the mix of a moment."""
    sizes = MedianTask()
    found = []
    for number in range(8):
        sizes.see(f"app-{number}", Resources(cpu=float(number + 1)))
        found.append(sizes.current["cpu"])
    assert found == [1.0, 1.5, 1.5, 2.5, 2.5, 2.5, 2.5, 4.5]


def test_what_is_remembered_is_bounded() -> None:
    """Beyond the bound it begins anew."""
    sizes = MedianTask()
    for number in range(MOST):
        sizes.see(f"app-{number}", Resources(cpu=2))
    assert sizes.current == Resources(cpu=2)
    sizes.see("one more", Resources(cpu=4))
    assert len(sizes) == 1
    assert sizes.current == Resources(cpu=4)
