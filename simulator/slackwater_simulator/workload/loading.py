"""What a person may write where a workload is expected: a trace file or a generator, each with parameters.

`gen:dress?small=0.2` makes a workload; `jobs.tsv.gz?limit=500&load=2` takes the first 500 jobs of a trace and lets
them arrive twice as fast.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qsl

from slackwater.errors import BadNumber, InvalidInput, UnknownName
from slackwater.validation import once
from slackwater_simulator.charts.amounts import count
from slackwater_simulator.workload.generators.catalogue import PREFIX, cluster_of, generate
from slackwater_simulator.workload.imputation import with_borg_usage
from slackwater_simulator.workload.readers.formats import open_workload
from slackwater_simulator.workload.readers.source import SKIPPED
from slackwater_simulator.workload.workload import Workload


def load(text: str | Path, *, seed: int = 0, skip_bad: bool = False) -> Workload:
    """The workload behind a path or a generator's name. A trace without jobs is an error: there is nothing to play."""
    text = str(text)
    workload = generate(text, seed=seed) if text.startswith(PREFIX) else _trace(text, seed, skip_bad)
    if not workload.jobs:
        raise InvalidInput("workload", f"{text} holds no job{_skips(workload)}", "give a trace with at least one job")
    return workload


def _skips(workload: Workload) -> str:
    """How many broken jobs were passed over, and what was wrong with the first."""
    if not workload.skipped:
        return ""
    first = next((note for note in workload.notes if note.startswith(SKIPPED)), "").removeprefix(SKIPPED)
    return f": {count(workload.skipped, 'broken one was', 'broken ones were')} skipped, the first: {first}"


def default_cluster(text: str) -> str:
    """The cluster a generator was made for; a trace does not say on which one to play it."""
    if text.startswith(PREFIX):
        return cluster_of(text)
    raise InvalidInput("cluster", "a trace does not name its machines", "add --cluster, for example --cluster 500x4")


def _trace(text: str, seed: int, skip_bad: bool) -> Workload:
    path, _, query = (text, "", "") if Path(text).exists() else text.partition("?")
    workload = open_workload(path, seed=seed, skip_bad=skip_bad)
    changes = parse_qsl(query, keep_blank_values=True)
    once("workload", (name for name, _ in changes))
    for name, value in changes:
        if name not in CHANGES:
            raise UnknownName("workload", name, CHANGES)
        workload = CHANGES[name](workload, value, seed)
    return workload


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise BadNumber(name, text, "give a number above 0")
    return value


def _limit(workload: Workload, value: str, _: int) -> Workload:
    most = int(_number("limit", value))
    note = "only the first job" if most == 1 else f"only the first {most} jobs"
    return replace(workload, jobs=workload.jobs[:most], notes=(*workload.notes, note))


def _load(workload: Workload, value: str, _: int) -> Workload:
    factor = _number("load", value)
    if any(not math.isfinite(float(job.submit) / factor) for job in workload.jobs):
        raise BadNumber("load", value, "give a larger number: with this one jobs never arrive")
    jobs = tuple(replace(job, submit=job.submit / factor) for job in workload.jobs)
    return replace(workload, jobs=jobs, modelled=(*workload.modelled, ("arrivals", f"{factor:g} times as fast")))


def _usage(workload: Workload, value: str, seed: int) -> Workload:
    if value != "borg":
        raise UnknownName("usage", value, ("borg",))
    return with_borg_usage(workload, seed)


def _slow_start(workload: Workload, value: str, _: int) -> Workload:
    """Which share of its parents' tasks must be done before a stage asks; Hadoop has 0.05 by default, many set 1."""
    share = _number("slow_start", value)
    if share > 1:
        raise BadNumber("slow_start", value, "give a share of at most 1")
    jobs = tuple(
        replace(job, stages=tuple(replace(s, start_after=share) if s.parents else s for s in job.stages))
        for job in workload.jobs
    )
    return replace(
        workload, jobs=jobs, notes=(*workload.notes, f"stages ask once {share:.0%} of those before are done")
    )


CHANGES: dict[str, Callable[[Workload, str, int], Workload]] = {
    "limit": _limit,
    "load": _load,
    "slow_start": _slow_start,
    "usage": _usage,
}
