"""The true stall: when it is one, and who may be given up."""

from __future__ import annotations

import pytest

from slackwater.admission.stall import RunningPod, StallWatch, observe, stalled, victim
from slackwater.errors import BadNumber


@pytest.mark.parametrize(
    ("running", "pending", "fits"),
    [
        pytest.param(1, 5, False, id="a-task-runs"),
        pytest.param(0, 0, False, id="nothing-waits"),
        pytest.param(0, 5, True, id="something-fits"),
    ],
)
def test_ordinary_moments_are_no_stall(running: int, pending: int, fits: bool) -> None:
    """Anything that can still move ends the watch."""
    assert observe(StallWatch(since=0), 100, running=running, pending=pending, fits=fits) == StallWatch()


def test_stall_is_called_after_a_minute_without_movement() -> None:
    """Sixty seconds, counted from the first look that found nothing moving."""
    watch = observe(StallWatch(), 10, running=0, pending=3, fits=False)
    watch = observe(watch, 69, running=0, pending=3, fits=False)
    assert not stalled(watch, 69)
    assert stalled(watch, 70)


def test_movement_starts_the_minute_again() -> None:
    """A pause between stages does not add up with the next."""
    watch = observe(StallWatch(), 0, running=0, pending=3, fits=False)
    watch = observe(watch, 59, running=1, pending=2, fits=False)
    watch = observe(watch, 60, running=0, pending=3, fits=False)
    assert not stalled(watch, 61)


def test_youngest_driver_that_would_come_back_is_chosen() -> None:
    """A bare pod is never given up, however young."""
    old = RunningPod("old", 0, controlled=True)
    young = RunningPod("young", 50, controlled=True)
    bare = RunningPod("bare", 90, controlled=False)
    assert victim([young, bare, old]) == young
    assert victim([bare]) is None
    assert victim([]) is None


def test_equal_ages_choose_alike_in_any_order() -> None:
    """The listing does not decide."""
    pair = [RunningPod("a", 5, controlled=True), RunningPod("b", 5, controlled=True)]
    assert victim(pair) == victim(pair[::-1])


def test_clock_that_is_no_number_is_refused() -> None:
    """NaN names its field."""
    with pytest.raises(BadNumber, match="now"):
        observe(StallWatch(), float("nan"), running=0, pending=1, fits=False)
