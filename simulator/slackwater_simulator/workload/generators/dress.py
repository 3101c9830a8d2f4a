"""Paper 004's workloads: 20 jobs five seconds apart, a few small ones among large ones, on 100 containers."""

from __future__ import annotations

import numpy as np

from slackwater.errors import BadNumber, UnknownName
from slackwater_simulator.workload.workload import GIBI, Job, Stage, Workload

CLUSTER = "5x20"
SLOT = (1.0, GIBI)
# Which of the 20 jobs are small, counted from 1.
SMALL_IDS = {"spark": (4, 5, 7, 9, 10, 12), "mapreduce": (4, 5, 6, 8, 10, 11)}
# Figure 1: six containers, four jobs.
FIGURE_CLUSTER = "1x6"
FIGURE = ((0.0, 3, 10.0), (1.0, 4, 20.0), (2.0, 3, 10.0), (3.0, 2, 10.0))
# A job's containers do not start in one instant: each comes up within this many seconds.
OFFSET = 8.0


def generate(*, seed: int = 0, case: str = "spark", small: float = -1.0, jobs: int = 20, gap: float = 5.0) -> Workload:
    """Cases `spark` and `mapreduce` have the paper's small jobs; `small` from 0 to 1 draws that share instead.

    Large: U{15..28} containers for logN(ln 300, 0.3) s. Small: U{2..9} for logN(ln 95, 0.25) s. All or nothing.
    Case `figure1` is the paper's example of four jobs on six containers.
    """
    if case == "figure1":
        return _figure()
    if case not in SMALL_IDS:
        raise UnknownName("case", case, (*SMALL_IDS, "figure1"))
    if small > 1:
        raise BadNumber("small", small, "give the share of small jobs, from 0 to 1")
    rng = np.random.default_rng(seed)
    chosen = _chosen(case, small, jobs, rng)
    return Workload(
        name=f"dress ({case})" if small < 0 else f"dress ({small:.0%} small)",
        jobs=tuple(_job(index, index + 1 in chosen, index * gap, rng) for index in range(jobs)),
        modelled=(("everything", f"the evaluation of paper 004 (seed {seed})"),),
    )


def _chosen(name: str, small: float, jobs: int, rng: np.random.Generator) -> tuple[int, ...]:
    if small < 0:
        return SMALL_IDS[name]
    return tuple((rng.choice(jobs, size=round(small * jobs), replace=False) + 1).tolist())


def _job(index: int, small: bool, submit: float, rng: np.random.Generator) -> Job:
    count = int(rng.integers(2, 10) if small else rng.integers(15, 29))
    length = float(rng.lognormal(np.log(95.0), 0.25) if small else rng.lognormal(np.log(300.0), 0.3))
    # A container is held while it comes up, so its start offset is part of how long it is held.
    durations = length + rng.uniform(0.0, OFFSET, count)
    stage = Stage("run", SLOT, durations)
    return Job(f"job-{index + 1}", submit, (stage,), name="small" if small else "large", gang=True)


def _figure() -> Workload:
    jobs = tuple(
        Job(f"job-{index + 1}", submit, (Stage("run", SLOT, np.full(count, length)),), gang=True)
        for index, (submit, count, length) in enumerate(FIGURE)
    )
    return Workload(name="dress (figure 1)", jobs=jobs)
