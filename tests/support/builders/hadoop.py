"""What Hadoop's scheduler load simulator did with four small workloads, and the same runs by ours.

`python -m support.builders.hadoop` (tests/ on PYTHONPATH) prints the table of docs/simulator/sls.md; `uncalibrated` as
argument the same without what was taken from the reference runs (heartbeat phases, warm-up times, update drift).
"""

from __future__ import annotations

import csv
import json
import statistics
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.simulation import run
from slackwater_simulator.workload.cluster import Cluster, uniform
from slackwater_simulator.workload.workload import MEBI, Driver, Job, Stage, Workload

FOLDER = Path(__file__).parents[2] / "simulator" / "sls"
SEEDS = range(5)
HALVES = {"a": 50.0, "b": 50.0}
QUEUES = {"W1": {"a": 100.0}, "W2": HALVES, "W3": {"a": 100.0}, "W4": HALVES}
# Settings under which our world is Hadoop's load simulator (SLS 3.3). That quantises everything by heartbeats, so it is
# run twice: as Hadoop ships, and with fast heartbeats that place many containers each. Its masters handle a response
# one tick after fetching it, log a job's end one tick after the goodbye, and its resource manager is slow in its first
# second (medians of the reference runs).
SLS: dict[str, dict[str, Any]] = {
    "default": {
        "node_heartbeat": 1.0,
        "master_heartbeat": 1.0,
        "response_lag": 1,
        "farewell_lag": 1,
        "warm_up": 0.9,
        "warm_master": 1.4,
    },
    "fast": {
        "node_heartbeat": 0.1,
        "master_heartbeat": 0.1,
        "response_lag": 1,
        "farewell_lag": 1,
        "warm_up": 0.35,
        "warm_master": 0.55,
    },
}
# What the two profiles change in the schedulers themselves.
SLS_POLICY: dict[tuple[str, str], dict[str, Any]] = {
    ("capacity", "default"): {"offswitch_per_beat": 1},
    ("capacity", "fast"): {"offswitch_per_beat": 100},
    ("fair", "default"): {"update_interval": 0.5},
    ("fair", "fast"): {"update_interval": 0.1, "assign_multiple": True, "dynamic_max_assign": False},
}


@dataclass(frozen=True)
class Cell:
    """One line of the reference: a workload under a scheduler and a profile."""

    name: str
    workload: str
    policy: str
    profile: str
    am_share: float
    user_limit_factor: float
    makespan: float | None  # None: deadlock
    completion: float | None
    drivers: int
    repeats: tuple[float, ...]
    job_ends: tuple[float, ...]
    phases: tuple[float, ...]

    def options(self) -> dict[str, Any]:
        """What `run` needs to play this cell."""
        chosen: dict[str, Any] = SLS[self.profile] | SLS_POLICY.get((self.policy, self.profile), {})
        chosen = chosen | {"first_beats": self.phases}
        if self.policy == "capacity":
            chosen["queues"] = {name: {"capacity": share} for name, share in QUEUES[self.workload].items()}
            chosen |= {"maximum_am_percent": self.am_share, "user_limit_factor": self.user_limit_factor}
            if self.name.endswith("-drf"):
                chosen["calculator"] = "dominant"
        if self.policy == "fair":
            chosen["max_am_share"] = self.am_share
            chosen["ordering"] = "drf" if self.name.endswith("-drf") else "fair"
        return chosen

    def tolerance(self) -> float:
        """Seconds of makespan the reference's own spread allows."""
        if self.profile == "fast":
            return max(2.0, 0.03 * (self.makespan or 0.0))
        return 6.0 if self.workload == "W3" else 4.0

    def peaks(self) -> set[int]:
        """Driver counts to be seen: one, except where the reference itself has two."""
        either = {"W3-fair-fast-am1.0": {8, 9}, "W2-fair-default": {4, 5}, "W4-fifo-fast": {3, 4}}
        return either.get(self.name, {self.drivers})


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split())


def _cell(row: dict[str, str]) -> Cell:
    stuck = row["makespan_s"] == "deadlock"
    return Cell(
        name=row["cell"],
        workload=row["workload"],
        policy=row["policy"],
        profile=row["profile"],
        am_share=float(row["am_share"]),
        user_limit_factor=float(row["user_limit_factor"]),
        makespan=None if stuck else float(row["makespan_s"]),
        completion=None if stuck else float(row["mean_completion_s"]),
        drivers=int(row["peak_drivers"]),
        repeats=_numbers(row["repeats_s"]),
        job_ends=_numbers(row["job_ends_s"]),
        phases=_numbers(row["node_phases_s"]),
    )


def cells() -> list[Cell]:
    """All lines of the reference."""
    with (FOLDER / "reference.csv").open(encoding="utf-8") as file:
        return [_cell(row) for row in csv.DictReader(file)]


def repeated_ends(cell: Cell) -> list[tuple[float, ...]]:
    """Each job's ends in all of Hadoop's repeats, for the cells whose single runs differ."""
    with (FOLDER / "W4-fair-ends.csv").open(encoding="utf-8") as file:
        return [_numbers(row["ends_s"]) for row in csv.DictReader(file) if row["cell"] == cell.name]


def load(name: str) -> tuple[Workload, Cluster]:
    """One of the workloads and its cluster."""
    data = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    master = _request(data["master"])
    jobs = tuple(_job(job, master, _request(job.get("task") or data["task"])) for job in data["jobs"])
    node = data["node"]
    return Workload(name, jobs), uniform(node["count"], node["cores"], node["memory_mb"] * MEBI)


def _request(amounts: dict[str, float]) -> tuple[float, float]:
    return amounts["cores"], amounts["memory_mb"] * MEBI


def _job(job: dict[str, Any], master: tuple[float, float], task: tuple[float, float]) -> Job:
    stages = [Stage("map", task, np.array(job["maps_s"]))]
    if "reduces_s" in job:
        stages.append(Stage("reduce", task, np.array(job["reduces_s"]), parents=("map",), reduce=True))
    return Job(job["id"], job["submit_s"], tuple(stages), Driver(master), user=job["user"], queue=job["queue"])


@cache
def play(cell: Cell) -> tuple[Outcome, ...]:
    """Our runs of a cell. The seed moves what the reference does not tell: Fair's update thread, unknown phases."""
    workload, cluster = load(cell.workload)
    return tuple(run(workload, cluster, cell.policy, seed=seed, **cell.options()) for seed in SEEDS)


def makespan(cell: Cell) -> float:
    """The median of our makespans."""
    return statistics.median(measure(outcome).makespan for outcome in play(cell))


def line(cell: Cell) -> str:
    """One row of the document's table."""
    outcomes = play(cell)
    drivers = "/".join(str(peak) for peak in sorted({outcome.peak_drivers for outcome in outcomes}))
    if cell.makespan is None:
        ours = "deadlock" if all(outcome.deadlock for outcome in outcomes) else "no deadlock"
        return f"| {cell.name} | deadlock | {ours} | | | {cell.drivers} | {drivers} |"
    spans = [measure(outcome) for outcome in outcomes]
    completion = statistics.median(span.completion.mean for span in spans)
    lowest, highest = min(s.makespan for s in spans), max(s.makespan for s in spans)
    middle = (
        f"{makespan(cell):.1f}" if highest - lowest < 0.05 else f"{makespan(cell):.1f} ({lowest:.1f}-{highest:.1f})"
    )
    repeats = " / ".join(f"{value:.1f}" for value in cell.repeats)
    return (
        f"| {cell.name} | {cell.makespan:.1f} ({repeats}) | {middle} | "
        f"{cell.completion:.1f} | {completion:.1f} | {cell.drivers} | {drivers} |"
    )


HEAD = """\
| cell | Hadoop makespan, s (all repeats) | ours | Hadoop mean completion, s | ours | Hadoop drivers | ours |
|---|---|---|---|---|---|---|
"""


TAKEN = {"phases": (), "warm_up": 0.0, "warm_master": 0.0}


def uncalibrated(cell: Cell) -> str:
    """One row without anything taken from the reference runs: every seed's makespan, and what lies outside."""
    workload, cluster = load(cell.workload)
    options = cell.options() | TAKEN | ({"update_cost": 0.0} if cell.policy == "fair" else {})
    outcomes = [run(workload, cluster, cell.policy, seed=seed, **options) for seed in SEEDS]
    spans = ["deadlock" if outcome.deadlock else f"{measure(outcome).makespan:.1f}" for outcome in outcomes]
    peaks = sorted({outcome.peak_drivers for outcome in outcomes})
    if cell.makespan is None:
        outside = sum(not outcome.deadlock for outcome in outcomes)
    else:
        target, allowed = cell.makespan, cell.tolerance()
        outside = sum(o.deadlock or abs(measure(o).makespan - target) > allowed for o in outcomes)
    wanted = "deadlock" if cell.makespan is None else f"{cell.makespan:.1f}"
    wrong = "" if set(peaks) <= cell.peaks() else " (differs)"
    seeds = " / ".join(spans)
    return f"| {cell.name} | {wanted} | {seeds} | {outside} of {len(outcomes)} | {cell.drivers} | {peaks}{wrong} |"


def main() -> None:
    """Print the table."""
    if sys.argv[1:] == ["uncalibrated"]:
        rows = "".join(f"{uncalibrated(cell)}\n" for cell in cells())
        sys.stdout.write(
            "| cell | Hadoop, s | ours by seed | outside tolerance | Hadoop drivers | ours |\n"
            + "|---" * 6
            + "|\n"
            + rows
        )
        return
    sys.stdout.write(HEAD + "".join(f"{line(cell)}\n" for cell in cells()))


if __name__ == "__main__":
    main()
