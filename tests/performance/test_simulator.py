"""How fast the simulator is, in processor time, each run in a process of its own. `pytest -s` shows the numbers."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

BOUNDS = tomllib.loads(Path(__file__).with_name("simulator.toml").read_text(encoding="utf-8"))
TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"
FB = "swim-facebook/FB-{}_samples_24_times_1hr_0.tsv.gz"

REPLAY = """
import json, resource, sys, time
from slackwater_simulator.cluster import parse
from slackwater_simulator.readers.formats import open_workload
from slackwater_simulator.run import run
path, spec, policy, options = sys.argv[1:]
outcome = run(open_workload(path), parse(spec), policy, **json.loads(options))
size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": time.process_time(), "megabytes": size, "containers": len(outcome.containers.job)}))
"""

GROW = """
import json, sys, time
import numpy as np
from slackwater_simulator.cluster import uniform
from slackwater_simulator.run import run
from slackwater_simulator.workload import GIBI, Driver, Job, Stage, Workload
count = int(sys.argv[1])
rng = np.random.default_rng(1)
# Jobs of 99 tasks and a driver, one every 4 s: about 600 of 800 cores are busy, whatever the length of the run.
jobs = tuple(
    Job(f"j{n}", 4.0 * n, (Stage("map", (1.0, GIBI), rng.uniform(10.0, 30.0, 99)),), Driver((1.0, GIBI)))
    for n in range(count // 100)
)
began = time.process_time()
outcome = run(Workload("growth", jobs), uniform(100, 8, 8 * GIBI), "capacity")
print(json.dumps({"seconds": time.process_time() - began, "containers": len(outcome.containers.job)}))
"""


def measured(script: str, *arguments: str) -> dict[str, float]:
    """Run the script in a fresh process and read what it prints."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True)
    numbers: dict[str, float] = json.loads(done.stdout)
    sys.stdout.write(f"{arguments}: {numbers}\n")
    return numbers


def replay(trace: str, spec: str, policy: str, **options: Any) -> dict[str, float]:
    """Play a real log; skipped where the logs are not beside the project."""
    if not (TRACES / trace).is_file():
        pytest.skip(f"the real log {trace} (../shared/traces beside the project) is not here")
    return measured(REPLAY, str(TRACES / trace), spec, policy, json.dumps(options))


@pytest.mark.bench
def test_lcg_under_fifo() -> None:
    """188,041 jobs in seconds, where tick-driven simulators need minutes."""
    numbers = replay("swf-lcg/LCG-2005.swf.gz", "500x4", "first-fit")
    assert numbers["seconds"] < BOUNDS["lcg"]["seconds"]
    assert numbers["megabytes"] < BOUNDS["lcg"]["megabytes"]


@pytest.mark.bench
def test_a_facebook_day_of_2009_under_capacity() -> None:
    """600 nodes, 86,400 heartbeats each, of which the idle ones cost nothing."""
    assert replay(FB.format(2009), "600x8c32Gi", "capacity")["seconds"] < BOUNDS["fb2009"]["seconds"]


@pytest.mark.bench
@pytest.mark.timeout(3600)
def test_a_facebook_day_of_2010_under_capacity() -> None:
    """4.5 million containers on 3,000 nodes."""
    numbers = replay(FB.format(2010), "3000x8c32Gi", "capacity", usage_period=0)
    assert numbers["containers"] > 4_400_000
    assert numbers["seconds"] < BOUNDS["fb2010"]["seconds"]
    assert numbers["megabytes"] < BOUNDS["fb2010"]["megabytes"]


@pytest.mark.bench
@pytest.mark.timeout(3600)
def test_time_grows_with_containers_and_no_faster() -> None:
    """A hundred times the containers take a hundred times the time, within the bound."""
    small, large = measured(GROW, "10000"), measured(GROW, "1000000")
    ratio = (large["seconds"] / large["containers"]) / (small["seconds"] / small["containers"])
    assert ratio < BOUNDS["growth"]["ratio"]
