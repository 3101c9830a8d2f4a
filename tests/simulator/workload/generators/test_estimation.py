"""Paper 000's generator has the statistics that the paper prints."""

import numpy as np
import pytest

from slackwater.errors import InvalidInput
from slackwater_simulator.workload.generators.estimation import COURSE, COURSE_AT, MEAN, generate
from slackwater_simulator.workload.workload import GIBI, Workload

SEEDS = range(3)


@pytest.fixture(scope="module")
def weeks() -> list[Workload]:
    """Three weeks of 8,000 jobs."""
    return [generate(seed=seed, jobs=8000) for seed in SEEDS]


def containers(workload: Workload, what: str) -> np.ndarray:
    """One number of every container."""
    stages = [stage for job in workload.jobs for stage in job.stages]
    if what == "seconds":
        return np.concatenate([stage.durations for stage in stages])
    return np.concatenate([getattr(stage.usage, what) for stage in stages])


def efficiency(workload: Workload, by: str) -> np.ndarray:
    """Equation 7: used over requested memory, summed per job or per user."""
    sums: dict[str, list[float]] = {}
    for job in workload.jobs:
        total = sums.setdefault(getattr(job, by), [0.0, 0.0])
        for stage in job.stages:
            assert stage.usage is not None
            total[0] += float(stage.usage.memory.sum()) * MEAN * stage.request[1]
            total[1] += stage.tasks * stage.request[1]
    return np.array([used / asked for used, asked in sums.values()])


def test_a_week_has_about_110000_containers(weeks: list[Workload]) -> None:
    """8,000 jobs, 110,000 containers in the paper."""
    assert np.mean([sum(job.tasks for job in week.jobs) for week in weeks]) == pytest.approx(110_000, rel=0.05)


@pytest.mark.parametrize(("by", "published", "near"), [("id", 0.24, 0.02), ("user", 0.35, 0.06)], ids=["job", "user"])
def test_ninety_percent_of_jobs_and_users_are_wasteful(
    weeks: list[Workload], by: str, published: float, near: float
) -> None:
    """90 % of jobs use less than 24 % of their memory, 90 % of users less than 35 %."""
    assert np.mean([np.percentile(efficiency(week, by), 90) for week in weeks]) == pytest.approx(published, abs=near)


def test_ninety_percent_of_containers_use_less_than_half_their_memory(weeks: list[Workload]) -> None:
    """Published: 90 % below 50 %."""
    levels = [np.percentile(containers(week, "memory") * MEAN, 90) for week in weeks]
    assert np.mean(levels) == pytest.approx(0.5, abs=0.05)


def test_sixty_percent_of_containers_use_less_cpu_than_allocated(weeks: list[Workload]) -> None:
    """Published: 60 % below one core, none above two."""
    cpu = containers(weeks[0], "cpu")
    assert (cpu < 1).mean() == pytest.approx(0.6, abs=0.03)
    assert cpu.max() <= 2


def test_durations_are_mostly_10_to_100_seconds(weeks: list[Workload]) -> None:
    """Published: mostly 10 to 100 s, up to 1,000 s."""
    seconds = containers(weeks[0], "seconds")
    assert ((seconds >= 10) & (seconds <= 100)).mean() == pytest.approx(0.8, abs=0.02)
    assert seconds.min() >= 3
    assert seconds.max() <= 1000


def test_drivers_use_at_most_35_percent(weeks: list[Workload]) -> None:
    """Published: AMs ≤ 35 %."""
    drivers = [job.stages[0].usage for job in weeks[0].jobs]
    assert max(float(usage.memory[0]) * MEAN for usage in drivers if usage) <= 0.35


def test_memory_follows_the_logistic_of_the_snapshot() -> None:
    """Deciles of the peak read off the public snapshot: 0.10, 0.23, 0.52, 0.74 at the first tenths of a life."""
    at = np.interp([0.05, 0.15, 0.25, 0.35], COURSE_AT, COURSE)
    assert np.allclose(at, [0.10, 0.25, 0.50, 0.75], atol=0.02)
    assert np.trapezoid(COURSE, COURSE_AT) == pytest.approx(MEAN, abs=0.01)


def test_exact_requests_are_each_containers_own_maximum() -> None:
    """EFR: memory = peak; CPU = clip(1.6 × mean, 0.1, 4); the same containers as with user requests."""
    user, exact = generate(seed=3, tasks=500), generate(seed=3, tasks=500, requests="exact")
    assert sum(job.tasks for job in exact.jobs) == sum(job.tasks for job in user.jobs) == 500
    job = next(job for job in exact.jobs if job.tasks > 3)
    for stage in job.stages:
        assert stage.usage is not None
        assert stage.usage.memory[0] == 1.0
        mean = float(stage.usage.cpu[0]) * stage.request[0]
        assert stage.request[0] == pytest.approx(np.clip(1.6 * mean, 0.1, 4.0))
    used = [
        sum(float(s.usage.memory.sum()) * s.request[1] for j in w.jobs for s in j.stages if s.usage)
        for w in (user, exact)
    ]
    assert used[0] == pytest.approx(used[1])


def test_user_requests_are_one_core_and_fixed_memory() -> None:
    """2.25 GiB a task, 1 GiB the driver."""
    job = generate(tasks=100).jobs[0]
    assert [stage.request for stage in job.stages] == [(1.0, GIBI), (1.0, 2.25 * GIBI)]


def test_unknown_kind_of_request_is_refused() -> None:
    """The error names what may be written."""
    with pytest.raises(InvalidInput, match="use user or exact"):
        generate(requests="half")
