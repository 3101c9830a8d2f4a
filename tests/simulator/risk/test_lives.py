"""Series made of a generator's tasks, and how they are played."""

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.risk.lives import DAY, MOST, live
from slackwater_simulator.risk.machines import Machines, Play
from slackwater_simulator.risk.series import UsageSeries


def lives_of(series: UsageSeries) -> list[np.ndarray[tuple[int], np.dtype[np.float32]]]:
    """Each task's samples, without the day behind its end."""
    assert series.lives is not None
    return [row[:length] for row, length in zip(series.samples, series.lives, strict=True)]


@pytest.mark.parametrize(
    ("shape", "early", "late"),
    [pytest.param("ramp", 0.6, 1.0, id="ramp"), pytest.param("plateaus", 0.4, 1.0, id="plateaus"),
     pytest.param("spike", 0.3, 1.0, id="spike"), pytest.param("flat", 1.0, 1.0, id="flat")],
)  # fmt: skip
def test_memory_follows_the_shape_over_a_life(shape: str, early: float, late: float) -> None:
    """What a long task uses at 45 % and at 90 % of its life, of the most it uses."""
    for samples in lives_of(live(f"gen:hour?apps=6&shape={shape}", memory=True)):
        if len(samples) >= 60:
            at = samples[[int(0.45 * len(samples)), int(0.9 * len(samples))]] / samples.max()
            assert at.tolist() == pytest.approx([early, late], abs=0.04)


def test_ratios_are_those_of_borg() -> None:
    """The median task of 3,000 uses 0.27 of its CPU and 0.55 of its memory, as jobs there did; shares have no noise."""
    for memory, median in ((False, 0.269), (True, 0.551)):
        series = live("gen:borg?tasks=3000&noise=0", memory=memory)
        assert np.median(series.samples[:, 0]) / 100 == pytest.approx(median, abs=0.04)


def test_noise_makes_cpu_uneven_and_no_larger() -> None:
    """Around the same mean; memory knows no noise."""
    calm, uneven = (live(f"gen:borg?noise={noise}", memory=False, seed=3) for noise in (0, 0.3))
    longest = [max(lives_of(series), key=len) for series in (calm, uneven)]
    assert np.ptp(longest[0]) == 0
    assert longest[1].std() / longest[1].mean() == pytest.approx(0.3, abs=0.06)
    assert longest[1].mean() == pytest.approx(longest[0].mean(), rel=0.1)
    assert all(np.ptp(samples) == 0 for samples in lives_of(live("gen:borg?noise=0.3", memory=True)))


def test_a_seed_gives_the_same_lives() -> None:
    """Another seed gives others; of a large workload so many tasks are drawn."""
    first, again, other = (live("gen:estimation", memory=True, seed=seed) for seed in (1, 1, 2))
    assert (first.samples == again.samples).all()
    assert len(first.samples) == MOST
    assert (first.samples != other.samples).any()


def test_a_share_of_the_tasks_lasts_the_day() -> None:
    """The bench's own rule for lengths."""
    series = live("gen:borg", memory=False, whole_day=0.5)
    assert series.lives is not None
    assert (series.lives == DAY).mean() == pytest.approx(0.5, abs=0.05)
    assert series.lives.min() >= 2


def test_a_generator_that_tells_no_use_is_refused() -> None:
    """With those that do."""
    with pytest.raises(InvalidInput, match="gen:borg, gen:hour or gen:estimation"):
        live("gen:haste", memory=False)


def steps(lives: list[int], samples: int = 24) -> UsageSeries:
    """Series n shows 100·n + j at its sample j until its life ends, and 0 from then on."""
    told = 100 * np.arange(len(lives))[:, None] + np.arange(samples)
    return UsageSeries(
        "lives", np.where(told % 100 < np.array(lives)[:, None], told, 0).astype(np.float32), np.array(lives)
    )


def test_a_life_is_played_from_its_start_to_its_end() -> None:
    """A task that comes shows its first sample; one that goes has shown its last."""
    lives = [3, 5, 8, 24]
    machines = Machines(steps(lives), Play(machines=4, residents=6, days=2, horizon=3))
    before = machines.advance(0)
    for step in range(1, 48):
        moment = machines.advance(step)
        assert (moment.use[moment.arrived] % 100 == 0).all()
        gone = before.use[moment.arrived]
        assert all(int(use) % 100 == lives[int(use) // 100] - 1 for use in gone)
        assert (moment.age - 1 == moment.use % 100).all()
        before = moment


def test_lives_have_no_time_of_day() -> None:
    """So they cannot be played in step."""
    with pytest.raises(InvalidInput, match="time of day"):
        Play(in_step=True, horizon=3).check(steps([3, 5]))
