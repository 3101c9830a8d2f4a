"""A contended hour of a shared batch cluster: a few large apps, many small ones, more asked for than there is.

Case `hour` is ordinary work that arrives all the time. Case `nine` is what schedules do to clusters at the full hour:
many apps at the same minute, each a driver that needs its tasks. Use over request is Borg-like (`imputation`).
"""

from __future__ import annotations

import numpy as np

from slackwater.errors import UnknownName
from slackwater_simulator.workload.imputation import with_borg_usage, with_memory_shape
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Workload

CLUSTER = "10x16c64Gi"
CASES = ("hour", "nine")
# How many apps of the full hour start at once: their drivers alone ask for more cores than the cluster has.
CROWD = 180


def generate(*, seed: int = 0, case: str = "hour", apps: int = 90, shape: str = "flat", noise: float = 0.0) -> Workload:
    """Apps of two stages; one in six is large. `apps` is how many arrive within the hour (case `hour`).

    `shape` is how tasks come to their memory (flat, ramp, plateaus, spike), `noise` how uneven their CPU is.
    """
    if case not in CASES:
        raise UnknownName("case", case, CASES)
    rng = np.random.default_rng(seed)
    submits = np.sort(rng.uniform(0.0, 3000.0, apps)) if case == "hour" else np.sort(rng.uniform(0.0, 3.0, CROWD))
    jobs = tuple(_app(number, float(submit), rng, case) for number, submit in enumerate(submits))
    workload = Workload(
        f"a contended hour ({case})", jobs, modelled=(("everything", f"a made-up hour of batch work (seed {seed})"),)
    )
    used = with_borg_usage(workload, seed)
    return used if shape == "flat" and not noise else with_memory_shape(used, shape, noise)


def _app(number: int, submit: float, rng: np.random.Generator, case: str) -> Job:
    large = case == "hour" and rng.random() < 1 / 6
    tasks = int(rng.integers(60, 161) if large else rng.integers(4, 13))
    first = _durations(rng, tasks, 150.0 if large else 60.0)
    second = _durations(rng, max(2, tasks // 4), 90.0 if large else 40.0)
    stages = (
        Stage("scan", (1.0, 4 * GIBI), first),
        Stage("join", (2.0, 6 * GIBI), second, parents=("scan",)),
    )
    driver = Driver((1.0, 2 * GIBI), startup=float(rng.uniform(4.0, 8.0)))
    name = f"{'large' if large else 'small'}-{number:03}"
    return Job(f"app-{number:03}", submit, stages, driver, user=f"team-{number % 5}", name=name)


def _durations(rng: np.random.Generator, count: int, median: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.clip(rng.lognormal(np.log(median), 0.4, count), 5.0, 900.0)
