"""SYNTH files of the scheduler load simulator: job classes with means and deviations from which jobs are drawn.

Both spellings are read: the flat one (`mtasks_avg`, `mtasks_stddev` …) and the newer list of task kinds with
`{"val": …, "std": …}` samples. Counts and sizes are normal, times log-normal, as SLS draws them; the draws
themselves are ours, seeded by the file's `rand_seed` and the run's seed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slackwater_simulator.workload.readers.check import counted
from slackwater_simulator.workload.workload import MEBI, Driver, Job, Stage

Entry = Mapping[str, Any]
DRIVER = (1.0, 1024 * MEBI)


def modelled(entry: Entry, seed: int) -> tuple[str, str]:
    """The entry of Workload.modelled: everything but the classes is drawn."""
    return "jobs", f"SYNTH classes (rand_seed {entry.get('rand_seed', 0)}, seed {seed})"


def jobs(entry: Entry, seed: int) -> list[Job]:
    """Draw `num_jobs` jobs: a workload by weight, a class by weight, a submission by its time distribution."""
    rng = np.random.default_rng((int(entry.get("rand_seed", 0)), seed))
    workloads: Sequence[Entry] = entry["workloads"]
    return [_job(_pick(workloads, "workload_weight", rng), index, rng) for index in range(counted(entry["num_jobs"]))]


def _pick(choices: Sequence[Entry], weight: str, rng: np.random.Generator) -> Entry:
    weights = np.array([float(choice.get(weight, 1.0)) for choice in choices])
    return choices[int(rng.choice(len(choices), p=weights / weights.sum()))]


def _job(workload: Entry, index: int, rng: np.random.Generator) -> Job:
    kind = _pick(workload["job_classes"], "class_weight", rng)
    return Job(
        id=f"{workload.get('workload_name', 'synth')}_{index + 1}",
        submit=_submit(workload["time_distribution"], rng),
        stages=_listed(kind["tasks"], rng) if "tasks" in kind else _flat(kind, rng),
        driver=Driver(DRIVER),
        user=str(kind.get("user_name", "user")),
        queue=str(workload.get("queue_name", "default")),
        name=str(kind.get("class_name", "")),
    )


def _submit(buckets: Sequence[Entry], rng: np.random.Generator) -> float:
    """Somewhere between a bucket's time and the next one's, the bucket chosen by weight."""
    if len(buckets) == 1:
        return float(buckets[0]["time"])
    inner = buckets[:-1]
    weights = np.array([float(bucket["weight"]) for bucket in inner])
    at = int(rng.choice(len(inner), p=weights / weights.sum()))
    return float(rng.uniform(float(buckets[at]["time"]), float(buckets[at + 1]["time"])))


def _flat(kind: Entry, rng: np.random.Generator) -> tuple[Stage, ...]:
    stages: list[Stage] = []
    for name, count, time, size in (("map", "mtasks", "mtime", "map"), ("reduce", "rtasks", "rtime", "reduce")):
        tasks = _count(float(kind.get(f"{count}_avg", 0)), float(kind.get(f"{count}_stddev", 0)), rng)
        if tasks:
            seconds = _lognormal(float(kind[f"{time}_avg"]), float(kind.get(f"{time}_stddev", 0)), tasks, rng)
            request = (
                _size(kind, f"{size}_max_vcores", 1.0, rng),
                _size(kind, f"{size}_max_memory", 1024.0, rng) * MEBI,
            )
            stages.append(_stage(name, request, seconds, name == "reduce" and bool(stages)))
    return tuple(stages)


def _listed(kinds: Sequence[Entry], rng: np.random.Generator) -> tuple[Stage, ...]:
    stages: list[Stage] = []
    for kind in kinds:
        tasks = counted(max(0, round(_sample(kind["count"], rng))))
        if tasks:
            seconds = np.array([_sample(kind["time"], rng) for _ in range(tasks)])
            cores = max(1.0, float(round(_sample(kind.get("max_vcores", {"val": 1}), rng))))
            memory = max(1.0, float(round(_sample(kind.get("max_memory", {"val": 1024}), rng)))) * MEBI
            name = str(kind.get("type", "task"))
            stages.append(_stage(name, (cores, memory), seconds, name == "reduce" and bool(stages)))
    return tuple(stages)


def _stage(name: str, request: tuple[float, float], seconds: np.typing.NDArray[np.float64], waits: bool) -> Stage:
    return Stage(name, request, seconds, parents=("map",) if waits else (), reduce=name == "reduce")


def _size(kind: Entry, field: str, default: float, rng: np.random.Generator) -> float:
    mean, deviation = float(kind.get(f"{field}_avg", default)), float(kind.get(f"{field}_stddev", 0.0))
    return max(1.0, float(round(rng.normal(mean, deviation))))


def _count(mean: float, deviation: float, rng: np.random.Generator) -> int:
    return counted(max(0, round(rng.normal(mean, deviation))))


def _lognormal(mean: float, deviation: float, size: int, rng: np.random.Generator) -> np.typing.NDArray[np.float64]:
    """Log-normal with this mean and deviation: sigma² = ln(1 + (deviation/mean)²), mu = ln mean − sigma²/2."""
    if mean <= 0:
        return np.zeros(size)
    variance = math.log(1.0 + (deviation / mean) ** 2)
    return rng.lognormal(math.log(mean) - variance / 2, math.sqrt(variance), size)


def _sample(sample: Entry, rng: np.random.Generator) -> float:
    """One value of `{"val", "std", "dist"}`, or of `{"discrete": […], "weights": […]}`."""
    if "discrete" in sample:
        values = sample["discrete"]
        weights = np.array(sample.get("weights") or [1.0] * len(values), dtype=np.float64)
        return float(values[int(rng.choice(len(values), p=weights / weights.sum()))])
    mean, deviation = float(sample["val"]), float(sample.get("std") or 0.0)
    if str(sample.get("dist", "LOGNORM")).upper() == "NORM":
        return max(0.0, float(rng.normal(mean, deviation)))
    return float(_lognormal(mean, deviation, 1, rng)[0])
