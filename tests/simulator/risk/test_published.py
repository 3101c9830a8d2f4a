"""The published predictors, each on an example worked by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray

from slackwater_simulator.risk.bench import estimators
from slackwater_simulator.risk.machines import HISTORY, Moment, Play
from slackwater_simulator.risk.ours import PaperEstimate
from slackwater_simulator.risk.published import (
    BINS,
    CPU_HALF_LIFE,
    HOUR,
    WARM_UP,
    Autopilot,
    borg_default,
    n_sigma,
    percentiles,
    rc_like,
)


def seen(*tasks: list[float], step: int = 0, arrived: bool = False) -> Moment:
    """One machine whose tasks have shown these samples, oldest first."""
    history = np.full((1, len(tasks), HISTORY), -1.0, np.float32)
    for place, samples in enumerate(tasks):
        history[0, place, HISTORY - len(samples) :] = samples
    age = np.array([[len(samples) for samples in tasks]])
    return Moment(step, history[:, :, -1], age, np.full(age.shape, arrived), np.zeros(age.shape, np.bool_), history)


def test_borg_default_is_nine_tenths_of_the_limits() -> None:
    """Two tasks of 100."""
    assert borg_default(seen([5.0], [5.0])).tolist() == [180.0]


def test_rc_like_adds_percentiles_and_counts_young_tasks_in_full() -> None:
    """101 samples 0 to 100 have their 99th percentile at 99; a task below two hours counts 100."""
    old = [float(value) for value in range(101)]
    assert rc_like(seen(old, [3.0] * (WARM_UP - 1))) == pytest.approx(199.0)
    assert rc_like(seen(old), percentile=50.0) == pytest.approx(50.0)


@pytest.mark.parametrize("percentile", [50.0, 80.0, 95.0, 99.0])
def test_percentiles_are_numpy_s(percentile: float) -> None:
    """Whatever the number of samples."""
    rng = np.random.default_rng(1)
    for count in (1, 2, 24, HISTORY):
        samples = rng.uniform(0, 100, count).round(2)
        found = percentiles(seen(samples.tolist()).history, percentile)[0, 0]
        assert found == pytest.approx(np.percentile(samples, percentile), rel=1e-5)


def test_n_sigma_is_the_machine_s_mean_and_five_deviations() -> None:
    """Two warm tasks that together use 30 and 50 by turns: mean 40, deviation 10 √(24/23); a young one adds 100."""
    tasks = [10.0, 20.0] * 12, [20.0, 30.0] * 12
    deviation = 10 * np.sqrt(24 / 23)
    assert n_sigma(seen(*tasks)) == pytest.approx(40 + 5 * deviation)
    assert n_sigma(seen(*tasks, [7.0])) == pytest.approx(140 + 5 * deviation)
    assert n_sigma(seen(*tasks), sigmas=0.0) == pytest.approx(40.0)


def test_n_sigma_does_not_take_filling_up_for_growth() -> None:
    """A task that came later and uses as much as the other: the share of the limits is constant."""
    assert n_sigma(seen([20.0] * 60, [20.0] * 30)) == pytest.approx(40.0)


def test_max_is_the_larger_of_the_two() -> None:
    """A task that swings has the wider deviation; one that stands at 40 has its percentile, and no deviation."""
    asked = estimators(Play(machines=1), 0.01, memory=False)
    swinging, steady = seen([0.0, 40.0] * 20), seen([40.0] * 40)
    assert n_sigma(swinging) > rc_like(swinging)
    assert asked["max-nsigma-rc"](swinging) == n_sigma(swinging)
    assert asked["max-nsigma-rc"](steady).tolist() == rc_like(steady).tolist() == [40.0]


def test_n_sigma_of_young_tasks_alone_is_their_limits() -> None:
    """Nothing is warm."""
    assert n_sigma(seen([1.0], [1.0])).tolist() == [200.0]


@pytest.mark.parametrize("asked", [(5.0, 99.0, WARM_UP), (3.0, 80.0, WARM_UP), (5.0, 99.0, 1)])
def test_what_settings_have_in_common_is_worked_out_once(asked: tuple[float, float, int]) -> None:
    """A frontier asks for many N and percentiles: nobody is told what was worked out for another warm-up."""
    tasks = [10.0, 20.0] * 40, [20.0, 90.0] * 5
    sigmas, percentile, warm_up = asked
    moment, counted = seen(*tasks), list[int]()
    for other in (WARM_UP, 1):
        n_sigma(moment, 2.0, other)
        rc_like(moment, 50.0, other)
    assert n_sigma(moment, sigmas, warm_up) == n_sigma(seen(*tasks), sigmas, warm_up)
    assert rc_like(moment, percentile, warm_up) == rc_like(seen(*tasks), percentile, warm_up)
    for _ in range(2):
        moment.once("anything", lambda: counted.append(1))
    assert counted == [1]


def test_autopilot_weighs_samples_by_their_load_and_half_life() -> None:
    """80 once, then 20: when 80 has less than a twentieth of all load, it is kept for an hour and then gone.

    Without a half-life that would be 76 samples later: 80 ≤ 0.05 · (80 + 76 · 20).
    """
    rule = Autopilot(memory=False)
    samples = [80.0] + [20.0] * 100
    peaks = [rule.peak(seen(samples[: count + 1], step=count, arrived=count == 0))[0] for count in range(len(samples))]
    assert peaks[HOUR - 2] == 100.0  # its request until an hour was seen
    assert peaks[HOUR - 1] == pytest.approx(80 * 1.15)
    weights = [0.5 ** (ago / CPU_HALF_LIFE) for ago in range(len(samples))]
    loads = [(20 * sum(weights[:n]), 80 * weights[n]) for n in range(len(samples))]
    first = next(n for n, (low, high) in enumerate(loads) if n and low >= 0.95 * (low + high))
    assert 60 < first < 76
    assert peaks[first + HOUR - 2] == pytest.approx(80 * 1.15)
    assert peaks[first + HOUR - 1] == pytest.approx(20 * 1.15)


def test_autopilot_adds_up_no_bins_that_were_never_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use grows from a tenth of the request to twice of it: limits are those of all bins, and few bins are added."""
    widths, add = list[int](), np.cumsum

    def added(values: NDArray[np.float32], axis: int) -> NDArray[np.float32]:
        widths.append(values.shape[axis])
        return add(values, axis=axis)

    monkeypatch.setattr(np, "cumsum", added)
    few, all_bins = Autopilot(memory=False), Autopilot(memory=False)
    all_bins.peak(seen([600.0], [600.0], arrived=True))  # fills the last bin, for tasks that are gone then
    samples = np.random.default_rng(1).uniform(0.5, 1.0, 60) * np.linspace(10.0, 200.0, 60)
    for count in range(1, 61):
        moment = seen(samples[:count].tolist(), (samples[:count] / 3).tolist(), step=count, arrived=count == 1)
        assert few.peak(moment).tolist() == all_bins.peak(moment).tolist()
    assert widths[0] == BINS
    assert max(widths[1::2]) == np.ceil(samples.max())
    assert set(widths[2::2]) == {BINS}


def test_autopilot_takes_the_peak_of_memory() -> None:
    """15 % above the largest sample."""
    assert Autopilot(memory=True).peak(seen([30.0] * 11 + [50.0] + [30.0] * 8)) == pytest.approx(57.5)
    assert Autopilot(memory=True).peak(seen([95.0] * 20)) == pytest.approx(95.0 * 1.15)


def test_what_a_task_uses_beyond_its_request_counts() -> None:
    """One uses 150 of 100 and the other 20: only a machine's sum is cut at the requests, for every estimator alike."""
    tasks = [150.0] * 30, [20.0] * 30
    assert rc_like(seen(*tasks)) == pytest.approx(170.0)
    assert n_sigma(seen(*tasks)) == pytest.approx(170.0)
    assert Autopilot(memory=True).peak(seen(*tasks)) == pytest.approx(170.0 * 1.15)
    rule = Autopilot(memory=False)
    moments = [seen(*(task[:n] for task in tasks), step=n, arrived=n == 1) for n in range(1, HOUR + 1)]
    assert [rule.peak(moment)[0] for moment in moments][-1] == pytest.approx(170.0 * 1.15)


def test_autopilot_does_not_forget_a_task_s_peak_of_memory() -> None:
    """50 in its first hour, ten hours and more ago; a task that comes into its place begins anew."""
    rule = Autopilot(memory=True)
    samples = [50.0] + [30.0] * (HISTORY + HOUR)
    peaks = [
        rule.peak(seen(samples[: count + 1][-HISTORY:], step=count, arrived=count == 0))[0]
        for count in range(len(samples))
    ]
    assert peaks[-1] == pytest.approx(57.5)
    rule.peak(seen([10.0], step=len(samples), arrived=True))
    later = [rule.peak(seen([10.0] * count, step=len(samples) + count))[0] for count in range(2, 3 * HOUR)]
    assert later[-1] == pytest.approx(11.5)


def test_paper_000_believes_the_last_sample() -> None:
    """After five minutes a heartbeat of one second has forgotten all else; a task that just came is in it, and once."""
    paper = PaperEstimate(1, 2, 100.0)
    assert paper.peak(seen([10.0], [30.0], arrived=True)) == pytest.approx(200.0)
    assert paper.peak(seen([10.0, 20.0], [30.0, 30.0], step=1)) == pytest.approx(50.0)
    newcomer = seen([10.0, 20.0, 20.0], [5.0], step=2)
    newcomer.arrived[0, 1] = True
    assert paper.peak(newcomer) == pytest.approx(25.0)
