"""How much of the time was ours on a machine whose host has other guests."""

from collections.abc import Iterator

import pytest

from slackwater_lab.processes.stealtime import ProcessorSeconds, Stopwatch, look, ours

BEGIN = ProcessorSeconds(100.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("wall", "used", "stolen", "left"),
    [
        (10.0, 4.0, 0.0, 10.0),  # nothing was stolen
        (10.0, 20.0, 0.0, 10.0),  # a machine that is busy with our own programs is no excuse
        (10.0, 10.0, 10.0, 5.0),  # two processors were wanted, and both were there half of the time
        (10.0, 5.0, 5.0, 5.0),  # one was wanted, half of the time
        (10.0, 1.0, 1.0, 9.0),  # most of the time nobody wanted any: what was stolen is all that was lost
        (10.0, 0.0, 10.0, 0.0),
        (0.0, 0.0, 0.0, 0.0),
    ],
)
def test_stolen_time_is_counted_out(wall: float, used: float, stolen: float, left: float) -> None:
    assert ours(BEGIN, ProcessorSeconds(100.0 + wall, used, stolen)) == pytest.approx(left)


def test_a_stopwatch_adds_up_what_it_sees_between_two_looks() -> None:
    """A burst of stolen time counts where it was, not over the whole time."""
    seen: Iterator[ProcessorSeconds] = iter(
        [BEGIN, ProcessorSeconds(110.0, 10.0, 0.0), ProcessorSeconds(112.0, 11.0, 1.0)]
    )
    watch = Stopwatch(lambda: next(seen))
    assert watch.seconds == pytest.approx(10.0)
    assert watch.seconds == pytest.approx(11.0)


def test_this_machine_tells_what_its_processors_did() -> None:
    before = look()
    assert sum(number for number in range(1_000_000)) > 0
    now = look()
    assert now.wall > before.wall
    assert 0.0 <= ours(before, now) <= now.wall - before.wall
