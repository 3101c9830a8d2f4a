"""No more tasks are lost than the stock scheduler loses, whatever way memory takes to its peak."""

from __future__ import annotations

import numpy as np
import pytest

from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import CRASHED
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.loading import load
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage, Workload


def lost(outcome: Outcome) -> list[float]:
    """When tasks broke."""
    return sorted(outcome.containers.end[outcome.containers.status == CRASHED].tolist())


def test_a_second_plateau_ends_no_task() -> None:
    """Two fifths of the peak for half of a life, then all of it: tasks broke while the first half was believed."""
    apps = load("gen:hour?apps=12&shape=plateaus", seed=2)
    assert not lost(run(apps, parse("3x16c32Gi"), "slackwater", seed=2, world="kubernetes"))


def app(name: str, submit: float, tasks: int, seconds: float, level: float, spike: float) -> Job:
    """Tasks of 4 GiB that all use `level` of it, and `spike` of it after four fifths of their life."""
    use = Usage(
        np.full(tasks, 0.3), np.full(tasks, spike), (0.0, 0.8, 0.81, 1.0), (1.0,) * 4, (level / spike,) * 2 + (1.0,) * 2
    )
    stage = Stage("work", (1.0, 4 * GIBI), np.full(tasks, seconds), usage=use)
    return Job(f"{name} at {submit:g}", submit, (stage,), Driver((0.5, GIBI), startup=5.0), name=name)


def spiking(runs: int) -> Workload:
    """An app of 40 tasks that all come to four times their use in the same second, run after run, among steady apps."""
    jobs = [app(f"before-{k}", 60.0 * k, 8, 90.0, 0.3, 0.3) for k in range(12)]
    for begin in (900.0 + 1500.0 * number for number in range(runs)):
        jobs.append(app("spiking", begin, 40, 400.0, 0.25, 1.0))
        jobs += [app(f"beside-{begin:g}-{k}", begin + 30.0 + 20.0 * k, 8, 90.0, 0.3, 0.3) for k in range(20)]
    return Workload("all at once", tuple(sorted(jobs, key=lambda job: job.submit)))


@pytest.mark.parametrize("policy", ["slackwater", "slackwater?risk=0.01"])
def test_an_app_whose_tasks_spike_together_is_known_from_its_second_run_on(policy: str) -> None:
    """Nobody can know the first time; from then on its tasks are charged for their spike."""
    broke = lost(run(spiking(2), parse("2x16c64Gi"), policy, seed=0, world="kubernetes"))
    assert broke
    assert max(broke) < 2400.0
