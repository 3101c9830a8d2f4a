"""A step of the machine's clock parks nobody."""

import pytest

from slackwater_operator.steadyclock import SteadyClock


@pytest.mark.parametrize("step", [3600.0, -3600.0, 0.0], ids=["an hour on", "an hour back", "none"])
def test_a_step_is_followed_slowly(step: float) -> None:
    """A second later our time is a second later, give or take a tenth; in the end it is the machine's."""
    now = [1000.0]
    moved = [0.0]
    clock = SteadyClock(lambda: now[0] + moved[0], lambda: now[0])
    before = clock()
    moved[0] = step
    now[0] += 1
    assert 0.89 <= clock() - before <= 1.11
    now[0] += 40_000
    assert clock() == pytest.approx(now[0] + step)


def test_time_never_goes_back() -> None:
    """Whatever the machine's clock does."""
    walls = iter([1000.0, 5.0, 1e9, 0.0, 1000.0])
    ticks = iter([0.0, 1.0, 2.0, 3.0, 4.0])
    clock = SteadyClock(lambda: next(walls), lambda: next(ticks))
    seen = [clock() for _ in range(4)]
    assert seen == sorted(seen)
