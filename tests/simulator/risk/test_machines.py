"""Days that are played: who is there, what is seen, what came."""

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.risk.machines import HISTORY, Machines, Play
from slackwater_simulator.risk.series import UsageSeries


def ramp(series: int = 12, samples: int = 48) -> UsageSeries:
    """Series n uses n at sample 0 and a hundredth more with every sample."""
    levels = np.arange(series)[:, None] + np.arange(samples)[None, :] / 100
    return UsageSeries("ramp", levels.astype(np.float32))


def test_residents_are_replaced_without_a_gap() -> None:
    """Ages grow by one or start at one again; some tasks end, some stay."""
    machines = Machines(ramp(), Play(machines=5, residents=8, days=2, horizon=6))
    before = machines.advance(0).age
    renewed = 0
    for step in range(1, 40):
        moment = machines.advance(step)
        assert ((moment.age == before + 1) | ((moment.age == 1) & moment.arrived)).all()
        renewed += int(moment.arrived.sum())
        before = moment.age
    assert 0 < renewed < 39 * 40


def test_history_is_the_task_s_own() -> None:
    """As many samples as its age, the last of them its use; a ramp rises by a hundredth or begins anew."""
    machines = Machines(ramp(), Play(machines=3, residents=4, days=2, horizon=6, seed=2))
    for step in range(30):
        moment = machines.advance(step)
        assert ((moment.history >= 0).sum(axis=2) == np.minimum(moment.age, HISTORY)).all()
        assert (moment.history[:, :, -1] == moment.use).all()


def test_truth_is_the_peak_of_those_who_are_there() -> None:
    """Recounted from the moments that follow: Σ over the residents of then that are still there."""
    play = Play(machines=4, residents=6, days=2, horizon=9, seed=1)
    machines = Machines(ramp(), play)
    moments, truths = [], []
    for step in range(40):
        moments.append(machines.advance(step))
        truths.append(machines.truth())
    for start in range(40 - play.horizon):
        there = np.ones((4, 6), np.bool_)
        peak = np.zeros(4)
        for step in range(start, start + play.horizon + 1):
            there &= (step == start) | ~moments[step].arrived
            peak = np.maximum(peak, np.where(there, moments[step].use, 0.0).sum(axis=1))
        assert truths[start].peak == pytest.approx(peak, rel=1e-5)


def test_tasks_are_cuts_of_their_series() -> None:
    """From anywhere in it: a ramp rises by a hundredth with every sample, and never starts over within a task."""
    machines = Machines(ramp(), Play(machines=5, residents=8, days=2, horizon=6, seed=3))
    before = machines.advance(0).use
    for step in range(1, 60):
        moment = machines.advance(step)
        stayed = ~moment.arrived
        assert (moment.use - before)[stayed] == pytest.approx(0.01, abs=1e-5)
        before = moment.use


def test_in_step_every_task_is_at_its_own_time_of_day() -> None:
    """All samples of a step are those of that time, and at midnight everybody is new."""
    machines = Machines(ramp(), Play(machines=5, residents=8, days=3, horizon=6, in_step=True))
    for step in range(100):
        moment = machines.advance(step)
        assert moment.use % 1 == pytest.approx(step % 48 / 100, abs=1e-5)
        assert moment.arrived.all() == (step % 48 == 0)


def test_what_reservations_overload_is_counted_apart() -> None:
    """Tasks that use 150 of 100: the truth is Σ requests, and it says so."""
    machines = Machines(UsageSeries("high", np.full((10, 20), 150, np.float32)), Play(2, 3, 2, 4))
    machines.advance(0)
    truth = machines.truth()
    assert truth.peak.tolist() == [300.0, 300.0]
    assert truth.overloaded.all()


def test_the_same_seed_plays_the_same_days() -> None:
    """And another one other days."""
    played = [
        np.array([Machines(ramp(), Play(2, 3, 2, 4, seed=seed)).advance(step).use for step in range(3)])
        for seed in (5, 5, 6)
    ]
    assert (played[0] == played[1]).all()
    assert (played[0] != played[2]).any()


def test_how_many_apps_are_unknown_changes_nothing_else() -> None:
    """A task's app stays what it was, a quarter of the tasks are strangers, and the days are the same."""
    none, some = (Machines(ramp(), Play(20, 10, 2, 4, unknown_apps=share)) for share in (0.0, 0.25))
    before, shares = none.advance(0).unknown, []
    assert not before.any()
    before = some.advance(0).unknown
    for step in range(1, 60):
        one, other = none.advance(step), some.advance(step)
        assert (one.use == other.use).all()
        assert (other.unknown == before)[~other.arrived].all()
        shares.append((before := other.unknown).mean())
    assert np.mean(shares) == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    ("play", "option"),
    [
        (Play(machines=0), "--machines"),
        (Play(residents=0), "--residents"),
        (Play(days=1), "--days"),
        (Play(horizon=0), "--horizon"),
        (Play(horizon=48, days=2), "--horizon"),
        (Play(horizon=6 * 48), "--horizon: it is as long as what is counted; give less than 24h, or more --days"),
        (Play(whole_day=1.5), "--whole-day"),
        (Play(unknown_apps=-0.1), "--unknown-apps"),
        (Play(machines=99_999_999_999, horizon=6), "--machines times --residents be at most"),
        (Play(residents=999_999_999, horizon=6), "--machines times --residents be at most"),
        (Play(days=999_999_999), "--days: 999,999,999 are too many; give at most"),
    ],
)
def test_what_cannot_be_played_is_refused_by_its_option(play: Play, option: str) -> None:
    """Before anything runs."""
    with pytest.raises(InvalidInput, match=option):
        Machines(ramp(), play)


@pytest.mark.parametrize("horizon", [48, 60])
def test_a_horizon_may_be_as_long_as_the_series(horizon: int) -> None:
    """No task outlives its series: what is beyond its end is nobody's."""
    shorter, longer = (Machines(ramp(), Play(machines=4, days=3, horizon=steps)) for steps in (47, horizon))
    for step in range(5):
        for machines in (shorter, longer):
            machines.advance(step)
        assert longer.truth().peak.tolist() == shorter.truth().peak.tolist()
