"""What became of a play, in numbers: from the times of the audit log alone. Seconds; None is never."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from slackwater_lab.league.audit import AuditTimes, PodTimes
from slackwater_lab.league.slots import slot_waits
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
    ends = [p.submit + j.completion for p, j in zip(workload.plays, jobs, strict=True) if j.completion is not None]
    makespan = max(ends) if len(ends) == len(jobs) else None
    horizon = last if makespan is None else origin + makespan
    uses = _uses(workload.plays)
    runs = list(_runs(uses, times, horizon))
    known = [pod for name, pod in times.pods.items() if _base(name, uses) is not None]
    created = sum(pod.created is not None for pod in known)
    binds = [pod.bound for pod in known if pod.bound]
    return {
        "jobs": len(jobs),
        "finished": len(ends),
        "makespan": _rounded(makespan),
        **_spread("completion", [job.completion for job in jobs]),
        **_spread("wait", [job.wait for job in jobs]),
        **_spread("pod_wait", [pod.bound - pod.created for pod in known if pod.bound and pod.created]),
        **_spread("empty_slot", slot_waits(_asked(workload.plays, times), CORES)),
        "cpu_used": _rounded(sum(r.use * (r.end - r.start) for r in runs) / (workload.cores * (horizon - origin)), 4),
        "node_seconds_over": _rounded(over(runs, CORES)),
        "pods": created,
        "placeholders": len(times.pods) - len(known),
        "bound": len(binds),
        "binds_per_second": _rounded(busiest(binds) / WINDOW, 2),
        "requests_per_pod": _rounded(sum(times.requests.values()) / max(1, created), 2),
        "answer_p95": _rounded(percentile(sorted(times.answers), 0.95), 3) if times.answers else None,
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
        if (base := _base(name, slots)) is not None:
            found[slots[base]].setdefault(base, []).append(pod)
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


def _runs(uses: Mapping[str, float], times: AuditTimes, horizon: float) -> Iterator[_Run]:
    """Pods that are none of the jobs' own (placeholders) use nothing."""
    for name, pod in times.pods.items():
        base = _base(name, uses)
        if base is not None and pod.started is not None and pod.started < horizon:
            yield _Run(pod.node, uses[base], pod.started, min(pod.ended or horizon, horizon))


def _uses(plays: Sequence[Play]) -> dict[str, float]:
    """The CPU use of every driver and task, by the name of its first pod."""
    found = {f"{play.id}-driver": play.driver.used_cpu for play in plays if play.driver is not None}
    for play in plays:
        for part in play.parts:
            found |= {f"{play.id}-{part.name}-{number}": part.size.used_cpu for number in range(len(part.durations))}
    return found


def _asked(plays: Sequence[Play], times: AuditTimes) -> list[tuple[PodTimes, float]]:
    """Every pod of the jobs with the CPUs it asks for."""
    sizes = {f"{play.id}-driver": play.driver.cpu for play in plays if play.driver is not None}
    for play in plays:
        for part in play.parts:
            sizes |= {f"{play.id}-{part.name}-{number}": part.size.cpu for number in range(len(part.durations))}
    return [(pod, sizes[base]) for name, pod in times.pods.items() if (base := _base(name, sizes)) is not None]


def _slots(plays: Sequence[Play]) -> dict[str, str]:
    """Every task's first pod by name, with its job."""
    return {
        f"{play.id}-{part.name}-{number}": play.id
        for play in plays
        for part in play.parts
        for number in range(len(part.durations))
    }


def _base(name: str, known: Container[str]) -> str | None:
    """The name of a pod's first version: one that was made again carries a number behind it."""
    base = name if name in known else name.rpartition("-")[0]
    return base if base in known else None


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
