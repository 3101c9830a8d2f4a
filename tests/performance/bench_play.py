"""The headline on a real control plane: the same 200 jobs under the stock scheduler and under Slackwater, in wall time.

    python tests/performance/bench_play.py [--policy kube --policy slackwater] [--workload FILE] [--nodes 6x16c64Gi]

A public log will do as well, made faster: `--workload 'FILE?usage=borg&limit=200' --scale 40`.

A lab of its own; each play goes through `slackwater simulate --live`, so it is predicted too. Prints a table for
docs/performance.md and holds the prediction against tests/performance/lab.toml.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import Plan
from slackwater_lab.site import open_site
from slackwater_simulator.workload.cluster import parse

HERE = Path(__file__).parent
VALUES = ("policy.spec.mode=enforce", "policy.spec.estimation.heartbeatSeconds=2")
USED = "sum(rate(node_cpu_usage_seconds_total[10s]))"


@dataclass(frozen=True, slots=True)
class Played:
    """What became of one play; seconds."""

    policy: str
    summary: dict[str, Any]
    completions: list[float]
    waits: list[float]
    retries: int
    used: float  # mean share of the cluster's cores while jobs ran

    @property
    def error(self) -> float:
        """(observed − predicted) / predicted makespan."""
        return float(self.summary["observed_makespan"] / self.summary["predicted_makespan"] - 1)


def play(lab: Lab, policy: str, wish: argparse.Namespace, cores: float) -> Played:
    """Play the workload under one policy, and look at use afterwards."""
    program = [str(Path(sys.executable).with_name("slackwater")), "simulate", wish.workload, "--live", "-p", policy]
    limit = wish.limit
    options = {"kubeconfig": lab.site.kubeconfig, "namespace": f"play-{policy}", "limit": limit, "scale": wish.scale}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    began = time.time()
    done = subprocess.run([*program, *words, "-o", "json"], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    jobs = [job for job in found["jobs"] if not math.isnan(job["observed"]["end"])]
    last = found["summary"]["observed_makespan"]
    return Played(
        policy,
        found["summary"],
        [job["observed"]["end"] - job["submit"] for job in jobs],
        [job["observed"]["first"] - job["submit"] for job in jobs],
        sum(job["retries"] for job in found["jobs"]),
        _mean(lab, USED, began, began + (limit if math.isnan(last) else last)) / cores,
    )


def _mean(lab: Lab, query: str, since: float, until: float) -> float:
    asked = {"query": query, "start": str(since), "end": str(until), "step": "2"}
    found = httpx2.get(f"{lab.site.url('prometheus')}/api/v1/query_range", params=asked, timeout=30).json()
    values = [float(value) for series in found["data"]["result"] for _, value in series["values"]]
    return statistics.fmean(values) if values else math.nan


def table(played: list[Played]) -> list[str]:
    """A column for each policy."""
    rows: dict[str, Callable[[Played], str]] = {
        "jobs finished": lambda p: f"{p.summary['finished']} of {p.summary['jobs']}",
        "makespan, s": lambda p: f"{p.summary['observed_makespan']:.1f}",
        "makespan, predicted, s": lambda p: f"{p.summary['predicted_makespan']:.1f} ({p.error:+.1%})",
        "mean completion, s": lambda p: f"{statistics.fmean(p.completions):.1f}",
        "mean completion, predicted, s": lambda p: f"{p.summary['predicted_completion']:.1f}",
        "completion, p95, s": lambda p: f"{sorted(p.completions)[int(0.95 * len(p.completions))]:.1f}",
        "mean wait for the first task, s": lambda p: f"{statistics.fmean(p.waits):.1f}",
        "mean use of the cluster's CPUs": lambda p: f"{p.used:.0%}",
        "pods that failed and were asked for again": lambda p: str(p.retries),
    }
    lines = ["| measure | " + " | ".join(p.policy for p in played) + " |", "|---" * (len(played) + 1) + "|"]
    return lines + [f"| {name} | " + " | ".join(tell(p) for p in played) + " |" for name, tell in rows.items()]


def main() -> None:
    """Start a lab, play, print, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policy", choices=("kube", "slackwater"), action="append", help="default: both")
    parser.add_argument("--workload", default=str(HERE / "jobs.jsonl"))
    parser.add_argument("--nodes", default="6x16c64Gi", help="so many nodes of such a size")
    parser.add_argument("--scale", type=float, default=1.0, help="how many times as fast")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a play is stopped")
    parser.add_argument("--record", type=Path, help="keep what the operator saw and decided (for `slackwater replay`)")
    asked = parser.parse_args()
    if asked.record is not None:
        os.environ["SLACKWATER_OPERATOR_RECORD"] = str(asked.record.resolve())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave in order: the lab must be stopped
    nodes = parse(asked.nodes)
    cores, memory = nodes.nodes[0].capacity[:2]
    plan = Plan(nodes=len(nodes), shape=Shape(f"{cores:g}", f"{memory:.0f}"), scrape="2s", values=VALUES)
    with tempfile.TemporaryDirectory() as home:
        os.environ["SLACKWATER_LAB_HOME"] = home
        with Lab(open_site("bench-play"), plan) as lab:
            lab.up()
            policies = asked.policy or ["kube", "slackwater"]
            played = [play(lab, name, asked, float(nodes.total[0])) for name in policies]
    sys.stdout.write("\n".join(table(played)) + "\n\n")
    bound = tomllib.loads((HERE / "lab.toml").read_text())["play"]["makespan_error"]
    for each in played:
        kept = "kept" if abs(each.error) <= bound else "MISSED"
        sys.stdout.write(f"{each.policy}: makespan {each.error:+.1%} of predicted; wanted within {bound:.0%}: {kept}\n")
    sys.stdout.write(f"load average {os.getloadavg()[1]:.1f} at the end\n")


if __name__ == "__main__":
    main()
