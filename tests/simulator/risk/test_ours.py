"""What Slackwater's estimator expects of tasks whose app was never seen before."""

from dataclasses import replace

import numpy as np
import pytest

from slackwater.estimation.calibration import EVERY
from slackwater_simulator.risk.bench import judge
from slackwater_simulator.risk.machines import Machines, Moment, Play
from slackwater_simulator.risk.ours import WATCHED, Slackwater, first_promise
from slackwater_simulator.risk.series import STEP, UsageSeries

PLAY = Play(machines=12, residents=10, days=2, horizon=12)


def levels(name: str) -> UsageSeries:
    """Sixty tasks of 20 to 40 % of their request, each steady."""
    rows = np.random.default_rng(1).uniform(20, 40, (60, 1))
    return UsageSeries(name, np.repeat(rows, 144, axis=1).astype(np.float32))


def saved(unknown: float, *, memory: bool) -> float:
    """What is saved at a risk of 5 %."""
    play = replace(PLAY, unknown_apps=unknown)
    ours, _ = judge(levels("steady"), play, {"ours": Slackwater(0.05, 12, memory=memory).peak}, memory=memory)
    return ours.savings


def test_memory_of_unknown_apps_is_expected_by_its_request() -> None:
    """That saves less; but something, as what a task shows is believed in time."""
    none, half, all_of_them = (saved(share, memory=True) for share in (0.0, 0.5, 1.0))
    assert none - 0.05 > half > 0.3
    assert none - 0.05 > all_of_them > 0.3


def test_cpu_of_unknown_apps_is_expected_like_that_of_all() -> None:
    """Who runs out of CPU runs slower: what tasks usually use is good enough."""
    assert saved(1.0, memory=False) == saved(0.0, memory=False)


@pytest.mark.parametrize("unknown", [0.0, 1.0])
def test_promises_of_the_first_hours_are_not_learned_from(unknown: float) -> None:
    """As in a ledger: nobody was watched for six half-lives yet."""
    machines, ours = Machines(levels("steady"), replace(PLAY, unknown_apps=unknown)), Slackwater(0.05, 12, memory=True)
    first, each = int(WATCHED / STEP) + PLAY.horizon, int(EVERY / STEP)
    for step in range(first + each + 1):
        moment: Moment = machines.advance(step)
        ours.peak(moment)
        assert ours.calibration.count == (0 if step < first else PLAY.machines * (1 + (step - first) // each))


@pytest.mark.parametrize("machines", [1, 7, 100])
def test_it_is_known_when_the_first_promise_is_made(machines: int) -> None:
    """A hundred promises must be over: of one machine that takes a day longer than of a hundred."""
    play = replace(PLAY, machines=machines, days=4)
    played, ours = Machines(levels("steady"), play), Slackwater(0.05, play.horizon, memory=True)
    first = int(first_promise(play) / STEP)
    for step in range(first + 1):
        ours.peak(played.advance(step))
        assert ours.calibration.young == (step < first)
