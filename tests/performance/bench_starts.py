"""How good the answers to "when will it start?" are on a real control plane with simulated nodes.

    PYTHONPATH=tests python tests/performance/bench_starts.py WORKLOAD [--nodes 4x16c64Gi] [--scale 10] [--seed 10]

Plays a workload in a lab of its own, so many times as fast, and holds what people were told while apps waited against
the moment at which their first pod was bound. Prints rows for docs/policies/starts.md.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from pathlib import Path

from slackwater.pools.forecastlog import coverage
from slackwater_cli.simulation.live import faster, plays
from slackwater_lab.lab import Lab
from slackwater_lab.nodes.simulated import Shape
from slackwater_lab.plan import PARTS, Plan
from slackwater_lab.site import open_site
from slackwater_simulator.workload.cluster import parse
from slackwater_simulator.workload.loading import load
from support.bench.livestarts import LiveStarts, play

VALUES = ("policy.spec.mode=enforce", "policy.spec.estimation.heartbeatSeconds=2")
EVERY = 10.0  # seconds between two later looks at one app that are counted
HEAD = "| asked | forecasts | inside (80 % aimed at) | median error | median wait | median width | not known yet |"


def rows(found: LiveStarts) -> list[str]:
    """A row for each moment at which one may ask."""
    asked = {
        "first seen to be held": found.first(),
        f"later, every {EVERY:g} s": found.later(EVERY),
        "before submission (`slackwater when`)": found.before(),
    }
    lines = [HEAD, "|---" * HEAD.count(" | ") + "|---|"]
    for name, judged in asked.items():
        good = coverage(judged)
        seconds = (f"{each:.1f} s" for each in (good.error, good.wait, good.width))
        lines.append(f"| {name} | {good.known} | {good.inside:.1%} | {' | '.join(seconds)} | {good.unknown} |")
    return lines


def main() -> None:
    """Start a lab, play, print, stop it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workload", help="gen:… or a trace, as `slackwater simulate` takes it")
    parser.add_argument("--nodes", default="4x16c64Gi", help="so many nodes of such a size")
    parser.add_argument("--scale", type=float, default=10.0, help="how many times as fast")
    parser.add_argument("--seed", type=int, default=10)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds after which the play is stopped")
    parser.add_argument("--logs", type=Path, help="keep what was told and when apps started in this file")
    wish = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave in order: the lab must be stopped
    nodes, jobs = parse(wish.nodes), plays(faster(load(wish.workload, seed=wish.seed), wish.scale))
    cores, memory = nodes.nodes[0].capacity[:2]
    plan = Plan(
        parts=frozenset(PARTS) - {"scheduler"},
        nodes=len(nodes),
        shape=Shape(f"{cores:g}", f"{memory:.0f}"),
        values=VALUES,
    )
    with tempfile.TemporaryDirectory() as home:
        os.environ["SLACKWATER_LAB_HOME"] = home
        with Lab(open_site(f"starts-{os.getpid()}"), plan) as lab:
            lab.up()
            courses, found = asyncio.run(play(lab, jobs, wish.limit))
    if wish.logs:
        wish.logs.write_text("\n".join(map(repr, [*found.looked, *found.asked, found.starts])))
    pods = sum(job.tasks + (job.driver is not None) for job in jobs)
    over = sum(course.over for course in courses)
    sys.stdout.write(
        f"{wish.workload}, seed {wish.seed}, {wish.scale:g} times as fast, on {wish.nodes}: {len(jobs)} apps, "
        f"{over} finished, {pods} pods, load average {os.getloadavg()[2]:.1f}\n\n"
    )
    sys.stdout.write("\n".join(rows(found)) + "\n")


if __name__ == "__main__":
    main()
