"""The runs that judge the simulator's speed: `python tests/support/bench/replays.py CASE [--where]`, a process each.

Prints processor and wall seconds of reading and playing, peak memory, and how many containers there were; with
`--where` also which functions were on the stack for how much of the time. Cases named after a public log need it beside
the project (../shared/traces).
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.loading import load
from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Workload

if TYPE_CHECKING:
    from types import FrameType

TRACES = Path(__file__).resolve().parents[4] / "shared" / "traces"
FACEBOOK = "swim-facebook/FB-{}_samples_24_times_1hr_0.tsv.gz"


@dataclass(frozen=True, slots=True)
class Case:
    """A log below TRACES or a number of containers, on a cluster, under a policy, in a world."""

    log: str | int
    cluster: str
    policy: str
    world: str
    parameters: str = ""  # of the workload, as in `FILE?usage=borg`
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def missing(self) -> str:
        """The log that is not there, or nothing."""
        return self.log if isinstance(self.log, str) and not (TRACES / self.log).is_file() else ""


CASES = {
    "lcg-fifo": Case("swf-lcg/LCG-2005.swf.gz", "500x4", "first-fit", "ideal"),
    "fb2009-capacity": Case(FACEBOOK.format(2009), "600x8c16Gi", "capacity", "yarn", "?usage=borg"),
    "fb2009-slackwater": Case(FACEBOOK.format(2009), "600x8c16Gi", "slackwater", "yarn", "?usage=borg"),
    "fb2010-capacity": Case(FACEBOOK.format(2010), "3000x8c16Gi", "capacity", "yarn"),
    "pods-kube": Case(10_000, "1000x8c16Gi", "kube", "kubernetes"),
    "pods-slackwater": Case(10_000, "1000x8c16Gi", "slackwater", "kubernetes"),
    "growth-10k": Case(10_000, "100x8c8Gi", "capacity", "yarn"),
    "growth-1m": Case(1_000_000, "100x8c8Gi", "capacity", "yarn"),
}


def steady(count: int, every: float) -> Workload:
    """So many containers: applications of a driver and 99 tasks of 10 to 30 s, one every so many seconds."""
    rng = np.random.default_rng(1)
    driver = Driver((1.0, GIBI), startup=1.0)
    jobs = [
        Job(f"app{n}", every * n, (Stage("map", (1.0, GIBI), rng.uniform(10.0, 30.0, 99)),), driver)
        for n in range(count // 100)
    ]
    return Workload(f"{count} containers", tuple(jobs))


def play(case: Case) -> dict[str, float]:
    """Read and play one case. Reading counts; importing does not, so a few containers are played beforehand."""
    cluster = parse(case.cluster)
    # An application every 3,200 core seconds keeps some 60 % of the cores busy, however long the run.
    every = 3200.0 / float(cluster.total[0])
    run(steady(200, every), cluster, case.policy, world=case.world, **case.options)
    began, wall = time.process_time(), time.perf_counter()
    log = steady(case.log, every) if isinstance(case.log, int) else load(f"{TRACES / case.log}{case.parameters}")
    outcome = run(log, cluster, case.policy, world=case.world, **case.options)
    return {
        "seconds": round(time.process_time() - began, 2),
        "wall": round(time.perf_counter() - wall, 2),
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "containers": len(outcome.containers.job),
    }


class Where:
    """A profile by looking at the stack every few milliseconds of processor time: it slows nothing down."""

    def __init__(self, every: float = 0.004) -> None:
        self.looks = 0
        self.seen: Counter[str] = Counter()
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, every, every)

    def _look(self, _: int, frame: FrameType | None) -> None:
        names = set()
        while frame is not None:
            names.add(frame.f_code.co_qualname)
            frame = frame.f_back
        self.looks += 1
        self.seen.update(names)

    def shares(self) -> dict[str, float]:
        """Share of the looks that found each function on the stack, the largest first."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        return {
            name: round(count / self.looks, 3) for name, count in self.seen.most_common() if count > self.looks / 50
        }


if __name__ == "__main__":
    where = Where() if "--where" in sys.argv else None
    sys.stdout.write(json.dumps(play(CASES[sys.argv[1]])) + "\n")
    if where is not None:
        sys.stdout.write(json.dumps(where.shares(), indent=1) + "\n")
