"""What is enough for 95 % of the time is the same for `assess`, which advises requests, and for a stated risk."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from slackwater.estimation.calibration import Calibration, tail_quantile
from slackwater.estimation.risk import Outlook, promised
from slackwater_monitor.assessment.usage import QUANTILES, measure
from slackwater_monitor.assessment.windows import Rows

Floats = NDArray[np.float64]

STEP = 300.0
SHARES = {0.5: 0.5, 0.1: 0.9, 0.05: 0.95}  # by risk; smaller ones are read off where a hundred values lie above


def week(seed: int, windows: int = 2016) -> Floats:
    """Cores that a container used in each window of a week."""
    return np.random.default_rng(seed).lognormal(-1.0, 0.6, windows)


def assessed(use: Floats, share: float) -> float:
    """What `slackwater assess` says was enough for a share of the time: the CPU of one container, by window."""
    of_one = np.zeros(len(use), np.int64)
    rows = Rows(of_one, np.arange(len(use)), use, use, np.full(len(use), STEP), np.ones(len(use)))
    (found,) = measure(of_one, rows, len(use), STEP, beside=False).values()
    return found.quantiles[QUANTILES.index(share)]


@pytest.mark.parametrize(("risk", "share"), SHARES.items())
@pytest.mark.parametrize("windows", [20, 99, 100, 288, 2016])
def test_what_assess_advises_is_what_the_estimator_reads_off(risk: float, share: float, windows: int) -> None:
    """The same windows to both, as use to one and as scores (beyond a centre of 0, in spreads of 1) to the other."""
    use = week(windows, windows)
    assert assessed(use, share) == pytest.approx(tail_quantile(use, risk), rel=1e-12)


@pytest.mark.parametrize("risk", SHARES)
def test_a_promise_at_that_risk_is_the_advised_request(risk: float) -> None:
    """Once the margin for few scores has gone (here after a week of scores that are independent): nothing is on top."""
    use = np.tile(week(3), 19)
    calibration = Calibration(risk, overlap=1.0)
    calibration.learn(use, np.zeros(len(use), np.bool_))
    one = Outlook(np.zeros(1), np.ones(1))
    (peak,) = promised(one, calibration.factor, np.full(1, 100.0)).tolist()
    assert peak == pytest.approx(assessed(use, SHARES[risk]), rel=0.01)
    assert peak >= assessed(use, SHARES[risk])


def test_what_assess_advises_is_exceeded_by_one_window_in_twenty_of_the_next_week() -> None:
    """On average over a hundred containers: that is what the estimator means by a risk of 5 %."""
    above = [(week(n + 1000) > assessed(week(n), 0.95)).mean() for n in range(100)]
    assert np.mean(above) == pytest.approx(0.05, rel=0.05)
