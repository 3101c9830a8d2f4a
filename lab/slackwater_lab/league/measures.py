"""What became of a play, in numbers: from the times of the audit log alone. Seconds; None is never."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from slackwater_lab.league.audit import AuditTimes, PodTimes
from slackwater_lab.league.workloads import CORES, Workload
from slackwater_lab.live.workload import Play

WINDOW = 10.0  # seconds over which bindings are counted


@dataclass(frozen=True, slots=True)
class JobTimes:
    """One job, in seconds from its submission; None is never."""

    id: str
    wait: float | None  # until its first task runs
    completion: float | None  # until its last task has succeeded
    spread: float | None  # from its first task's start to its last one's


@dataclass(frozen=True, slots=True)
class _Run:
    """One pod on its node."""

    node: str
    use: float
    start: float
    end: float


def measures(workload: Workload, times: AuditTimes, last: float) -> dict[str, object]:
    """All figures of one play; `last` is when it was stopped, in seconds since the epoch."""
    origin = begin(workload.plays, times)
    jobs = job_times(workload.plays, times, origin)
    done = [job for job in jobs if job.completion is not None]
    ends = [pod.ended for pod in times.pods.values() if pod.succeeded and pod.ended]
    makespan = max(ends, default=last) - origin if len(done) == len(jobs) else None
    horizon = origin + (makespan if makespan is not None else last - origin)
    runs = list(_runs(workload.plays, times, horizon))
    created = sum(pod.created is not None for pod in times.pods.values())
    binds = [pod.bound for pod in times.pods.values() if pod.bound]
    return {
        "jobs": len(jobs),
        "finished": len(done),
        "makespan": _rounded(makespan),
        **_spread("completion", [job.completion for job in jobs]),
        **_spread("wait", [job.wait for job in jobs]),
        **_spread("pod_wait", [pod.bound - pod.created for pod in times.pods.values() if pod.bound and pod.created]),
        "cpu_used": _rounded(sum(r.use * (r.end - r.start) for r in runs) / (workload.cores * (horizon - origin)), 4),
        "node_seconds_over": _rounded(over(runs, CORES)),
        "pods": created,
        "bound": len(binds),
        "binds_per_second": _rounded(busiest(binds) / WINDOW, 2),
        "requests_per_pod": _rounded(sum(times.requests.values()) / max(1, created), 2),
        "requests": _by_sender(times, created),
        "watched": [_told(job) for job in jobs if job.id in workload.watched],
    }


def begin(plays: Sequence[Play], times: AuditTimes) -> float:
    """When the play began, by the API server's clock: no pod was asked for before its job was due."""
    early = [
        pod.created - play.submit
        for play in plays
        for name in _first_names(play)
        if (pod := times.pods.get(name)) is not None and pod.created is not None
    ]
    return min(early, default=math.nan)


def job_times(plays: Sequence[Play], times: AuditTimes, origin: float) -> list[JobTimes]:
    """Each job's times, from when it was due."""
    slots = _slots(plays)
    found: dict[str, dict[str, list[PodTimes]]] = {play.id: {} for play in plays}
    for name, pod in times.pods.items():
        if place := _place(name, slots):
            found[place[0]].setdefault(place[1], []).append(pod)
    return [_job_times(play, found[play.id], origin + play.submit) for play in plays]


def _job_times(play: Play, tasks: dict[str, list[PodTimes]], submit: float) -> JobTimes:
    starts = [pod.started for pods in tasks.values() for pod in pods if pod.started]
    ends = [
        min(pod.ended for pod in pods if pod.succeeded and pod.ended) for pods in tasks.values() if _succeeded(pods)
    ]
    whole = len(ends) == play.tasks
    return JobTimes(
        play.id,
        min(starts) - submit if starts else None,
        max(ends) - submit if whole else None,
        max(starts) - min(starts) if whole else None,
    )


def _succeeded(pods: Sequence[PodTimes]) -> bool:
    return any(pod.succeeded and pod.ended for pod in pods)


def over(runs: Sequence[_Run], cores: float) -> float:
    """Seconds in which a node's pods together would use more than it has, summed over nodes."""
    total = 0.0
    for node in {run.node for run in runs}:
        marks = sorted(mark for run in runs if run.node == node for mark in ((run.start, run.use), (run.end, -run.use)))
        level, since = 0.0, 0.0
        for at, change in marks:
            total += at - since if level > cores + 1e-6 else 0.0
            level, since = level + change, at
    return total


def busiest(moments: Sequence[float], window: float = WINDOW) -> int:
    """How many of the moments lie in the window that holds most."""
    ordered, first, most = sorted(moments), 0, 0
    for number, at in enumerate(ordered):
        while at - ordered[first] > window:
            first += 1
        most = max(most, number - first + 1)
    return most


def _runs(plays: Sequence[Play], times: AuditTimes, horizon: float) -> Iterator[_Run]:
    sizes = {play.id: play for play in plays}
    slots = _slots(plays)
    for name, pod in times.pods.items():
        if pod.started is None or pod.started >= horizon:
            continue
        play = sizes.get(name.rpartition("-driver")[0])
        if place := _place(name, slots):
            part = next(part for part in sizes[place[0]].parts if name.startswith(f"{place[0]}-{part.name}-"))
            use = part.size.used_cpu
        elif play is not None and play.driver is not None:
            use = play.driver.used_cpu
        else:
            continue
        yield _Run(pod.node, use, pod.started, min(pod.ended or horizon, horizon))


def _slots(plays: Sequence[Play]) -> dict[str, str]:
    """Every task's first pod by name, with its job."""
    return {
        f"{play.id}-{part.name}-{number}": play.id
        for play in plays
        for part in play.parts
        for number in range(len(part.durations))
    }


def _place(name: str, slots: dict[str, str]) -> tuple[str, str] | None:
    """Job and task of a pod; a task's second pod carries a number behind the name of the first."""
    base = name if name in slots else name.rpartition("-")[0]
    return (slots[base], base) if base in slots else None


def _first_names(play: Play) -> set[str]:
    if play.driver is not None:
        return {f"{play.id}-driver"}
    return {f"{play.id}-{part.name}-{n}" for part in play.parts if not part.parents for n in range(len(part.durations))}


def _by_sender(times: AuditTimes, pods: int) -> dict[str, float]:
    sums: Counter[str] = Counter()
    for (who, _), count in times.requests.items():
        sums[who] += count
    return {who: round(count / max(1, pods), 2) for who, count in sums.most_common()}


def _spread(name: str, values: Sequence[float | None]) -> dict[str, float | None]:
    """Mean and percentiles of those that came; how many never came is told by `finished`."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return {f"{name}_{what}": None for what in ("mean", "p50", "p95")}
    return {
        f"{name}_mean": _rounded(fmean(known)),
        f"{name}_p50": _rounded(percentile(known, 0.5)),
        f"{name}_p95": _rounded(percentile(known, 0.95)),
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest value that so large a share does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def _told(job: JobTimes) -> dict[str, object]:
    return {
        "id": job.id,
        "wait": _rounded(job.wait),
        "completion": _rounded(job.completion),
        "spread": _rounded(job.spread),
    }


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None or math.isnan(value) else round(value, digits)
