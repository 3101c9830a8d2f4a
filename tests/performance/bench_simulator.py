# ruff: noqa: T201 - a program for people, who read what it prints
"""How fast the simulator plays, against `bounds.toml` (`make bench-simulator`): CPU seconds, each case in a process.

    python tests/performance/bench_simulator.py [CASE …] [--list]

Cases that need a public trace look for it beside the project (../shared/traces) and are skipped where it is absent.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import process_time

import numpy as np

from slackwater_simulator.cluster import parse
from slackwater_simulator.loading import load
from slackwater_simulator.run import run
from slackwater_simulator.workload import GIBI, Driver, Job, Stage, Workload

HERE = Path(__file__).resolve()
TRACES = HERE.parents[3] / "shared" / "traces"
BOUNDS = tomllib.loads(HERE.with_name("bounds.toml").read_text())["simulator"]
FB2009 = "swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz"
FB2010 = "swim-facebook/FB-2010_samples_24_times_1hr_0.tsv.gz"


@dataclass(frozen=True, slots=True)
class Case:
    """One run: a trace below TRACES (with `?…` parameters) or `pods:COUNT`, a cluster, a policy and a world."""

    workload: str
    cluster: str
    policy: str
    world: str


CASES = {
    "lcg-fifo": Case("swf-lcg/LCG-2005.swf.gz", "500x4", "first-fit", "ideal"),
    "fb2009-capacity": Case(f"{FB2009}?usage=borg", "600x8c16Gi", "capacity", "yarn"),
    "fb2009-slackwater": Case(f"{FB2009}?usage=borg", "600x8c16Gi", "slackwater", "yarn"),
    "pods-kube": Case("pods:10000", "1000x8c16Gi", "kube", "kubernetes"),
    "pods-slackwater": Case("pods:10000", "1000x8c16Gi", "slackwater", "kubernetes"),
    "fb2010-capacity": Case(FB2010, "3000x8c16Gi", "capacity", "yarn"),
    "growth-10k": Case("pods:10000", "1000x8c16Gi", "fifo", "yarn"),
    "growth-1m": Case("pods:1000000", "1000x8c16Gi", "fifo", "yarn"),
}

# What ten thousand containers took: a million may take `growth` times as long for each of them.
SMALL: dict[str, float] = {}


def pods(count: int) -> Workload:
    """So many pods of a hundred tasks per app, arriving as fast as 1,000 nodes take them."""
    rng = np.random.default_rng(0)
    apps = max(1, count // 101)
    driver = Driver((1.0, GIBI), startup=1.0)
    jobs = tuple(
        Job(f"app{n}", n * 0.5, (Stage("map", (1.0, GIBI), rng.uniform(20.0, 60.0, 100)),), driver) for n in range(apps)
    )
    return Workload(f"pods:{count}", jobs)


def measure(name: str) -> dict[str, float]:
    """Play one case in this process: CPU seconds of load and run, peak memory and containers."""
    case = CASES[name]
    began = process_time()
    kind, _, count = case.workload.partition(":")
    workload = pods(int(count)) if kind == "pods" else load(str(TRACES / case.workload))
    outcome = run(workload, parse(case.cluster), case.policy, world=case.world)
    peak = getrusage(RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": process_time() - began, "megabytes": peak, "containers": len(outcome.containers.job)}


def present(name: str) -> bool:
    """Whether the case's trace is there."""
    case = CASES[name]
    return case.workload.startswith("pods:") or (TRACES / case.workload.partition("?")[0]).exists()


def judge(name: str) -> bool:
    """Measure one case in a fresh process and compare it with its bounds."""
    if not present(name):
        print(f"{name:20} skipped: {TRACES / CASES[name].workload} is not there")
        return True
    found = subprocess.run([sys.executable, __file__, "--one", name], check=True, capture_output=True, text=True)
    numbers = json.loads(found.stdout)
    bound = dict(BOUNDS.get(name, {}))
    if name == "growth-10k":
        SMALL.update(numbers)
    elif name == "growth-1m" and SMALL:
        times = numbers["containers"] / SMALL["containers"]
        bound["seconds"] = BOUNDS["growth"] * times * SMALL["seconds"]
    good = all(numbers[key] <= limit for key, limit in bound.items())
    limits = ", ".join(f"{key} ≤ {limit:g}" for key, limit in bound.items())
    print(
        f"{name:20} {numbers['seconds']:8.1f} s {numbers['megabytes']:7.0f} MB "
        f"{numbers['containers']:9.0f} containers   {'ok' if good else 'TOO SLOW'} ({limits})",
        flush=True,
    )
    return good


def main(arguments: list[str]) -> int:
    """Run the named cases, or all."""
    if arguments[:1] == ["--one"]:
        print(json.dumps(measure(arguments[1])))
        return 0
    if arguments == ["--list"]:
        print("\n".join(CASES))
        return 0
    verdicts = [judge(name) for name in arguments or CASES]  # every case is told, also after a slow one
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
