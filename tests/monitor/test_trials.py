"""The form of what-if: plays keep threads busy, so only one waits for another."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from slackwater.errors import Unavailable
from slackwater_monitor.web.trials import SHOWN, Trials
from slackwater_monitor.whatif import Comparison
from support.builders.outcomes import outcome

ROWS = [(job, job % 2, float(job), float(job) + 10) for job in range(4)]
SOON = 10.0  # seconds that no test needs


class Slow(Trials):
    """Plays when it may."""

    def __init__(self) -> None:
        super().__init__(None, outcome(ROWS, usage=True))
        self.free, self.begun = threading.Event(), threading.Event()

    def _compare(self, trace: str, chosen: tuple[str, ...], load: float, was: str) -> Comparison:
        self.begun.set()
        assert self.free.wait(SOON)
        return super()._compare(trace, chosen, load, was)


def test_one_trial_waits_while_another_is_played_and_others_are_told_to_come_again() -> None:
    """What was played before is shown at once, whoever waits."""
    trials = Slow()
    trials.free.set()
    known = trials.play(SHOWN, ("fifo",), 3.0)
    trials.free.clear()
    trials.begun.clear()
    with ThreadPoolExecutor() as pool:
        first = pool.submit(trials.play, SHOWN, ("fifo",), 1.0)
        assert trials.begun.wait(SOON)
        second = pool.submit(trials.play, SHOWN, ("fifo",), 2.0)
        until = time.monotonic() + SOON
        while trials._line._value and time.monotonic() < until:  # until the second one waits
            time.sleep(0.001)
        with pytest.raises(Unavailable, match="ask again in a moment"):
            trials.play(SHOWN, ("fifo",), 4.0)
        assert trials.play(SHOWN, ("fifo",), 3.0) is known
        trials.free.set()
        assert first.result(SOON) is not second.result(SOON)
    assert list(trials.play(SHOWN, ("fifo",), 4.0).policies)
