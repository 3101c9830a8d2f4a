"""A cluster's past as a workload trace: what was asked for, when, for how long, and what it used.

Three files: the trace (Parquet, our format), the nodes (YAML, for `--cluster`), and what did happen (JSON), against
which a replay is judged.

- A pod that ran from before the period until after it is a service: it is no job, its request is taken off its node.
- Tasks of an app that were created together and ask for the same are a stage; a later wave is a stage that asks later.
- A pod that still ran at the end is cut there, one that ran at the beginning starts there; both are counted.
- Where namespaces are chosen, only their pods are jobs; services of all of them are taken off the nodes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from slackwater.errors import InvalidInput
from slackwater_cluster import names
from slackwater_monitor.assessment.assessment import Assessment
from slackwater_monitor.assessment.lifetimes import AT, shape
from slackwater_monitor.assessment.pods import Key, Pod
from slackwater_monitor.assessment.run import unmeasured
from slackwater_monitor.assessment.usage import UsageStatistics
from slackwater_monitor.assessment.windows import CPU, MEMORY
from slackwater_simulator.workload.readers.formats import stem, writer
from slackwater_simulator.workload.workload import Driver, Job, Stage, Usage, Workload

# Tasks created within this many seconds of each other are one wave.
WAVE = 15.0
SHORTEST = 0.001
# A driver that outlives its tasks by more than this many seconds had work of its own.
TAIL = 2.0
MEBI = 1024.0**2


@dataclass(frozen=True, slots=True)
class Happened:
    """What became of one job, in seconds from the period's start."""

    id: str
    submit: float
    start: float  # its first task ran; its driver where it had no task
    end: float
    startup: float | None = None  # mean seconds from having a node to running, of its pods of which both are known


@dataclass(frozen=True, slots=True)
class Export:
    """A period as a workload, the nodes it ran on, and what did happen."""

    workload: Workload
    nodes: Mapping[str, tuple[float, float]]  # name → cores and bytes left beside services
    happened: Sequence[Happened]


@dataclass(slots=True)
class _Life:
    """One pod's time and size, cut to the period."""

    key: Key
    created: float
    started: float
    ended: float
    request: tuple[float, float]
    level: tuple[float, float]  # mean CPU and peak memory as fractions of the request
    startup: float | None = None  # from having a node to running; None where one of them is not known


@dataclass(slots=True)
class _Counts:
    chosen: frozenset[str] = frozenset()  # the namespaces whose pods become jobs; none: all
    services: int = 0
    elsewhere: int = 0
    cut: int = 0
    unasked: int = 0
    unended: int = 0
    lives: dict[tuple[str, str], list[_Life]] = field(default_factory=lambda: defaultdict(list))


def export(found: Assessment, name: str, namespaces: Sequence[str] = ()) -> Export:
    """Turn an assessed period of a whole cluster into a workload, of all namespaces or of some."""
    if namespaces and not any(namespace in namespaces for namespace, _ in found.census.pods):
        raise unmeasured(namespaces)
    sizes, counts = _sizes(found), _Counts(chosen=frozenset(namespaces))
    taken: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key, pod in found.census.pods.items():
        _take(found, key, pod, found.seen.get(key, 0.0), sizes.get(key), counts, taken)
    jobs = [_job(found, key, lives) for key, lives in counts.lives.items()]
    if not jobs:
        raise InvalidInput("export", "no pod began and was measured in this period", "ask for a longer --since")
    nodes = {
        node: (max(size.get(CPU, 0.0) - taken[node][0], 0.0), max(size.get(MEMORY, 0.0) - taken[node][1], 0.0))
        for node, size in found.census.allocatable.items()
    }
    workload = Workload(
        name=name,
        jobs=tuple(sorted((job for job, _ in jobs), key=lambda job: (job.submit, job.id))),
        modelled=(("durations", "from start to completion as kube-state-metrics tells them, in whole seconds"),),
        notes=(*_notes(counts), *_lowered(found)),
    )
    return Export(workload, nodes, sorted((done for _, done in jobs), key=lambda each: (each.submit, each.id)))


def _sizes(found: Assessment) -> dict[Key, tuple[tuple[float, float], tuple[float, float]]]:
    """What each pod asked for, before Slackwater lowered it where that is known, and which part of it it used."""
    made: dict[Key, tuple[tuple[float, float], tuple[float, float]]] = {}
    for key, pod in found.census.pods.items():
        cpu, memory = (found.levels["pod"].get(kind, {}).get(key) for kind in (CPU, MEMORY))
        native = (cpu.asked if cpu else 0.0, memory.asked if memory else 0.0)
        asked = (pod.declared.get(CPU, native[0]), pod.declared.get(MEMORY, native[1]))
        made[key] = (asked, (_share(cpu, "used", asked[0]), _share(memory, "peak", asked[1])))
    return made


def _share(figures: UsageStatistics | None, what: str, asked: float) -> float:
    """Used as a fraction of what was asked for; what was not measured counts as used in full."""
    return float(getattr(figures, what)) / asked if figures is not None and asked > 0 else 1.0


def _take(
    found: Assessment,
    key: Key,
    pod: Pod,
    seen: float,
    size: tuple[tuple[float, float], tuple[float, float]] | None,
    counts: _Counts,
    taken: Mapping[str, list[float]],
) -> None:
    """Put one pod where it belongs."""
    start, end = found.grid.start, found.grid.end
    begun = pod.started or pod.scheduled
    ended = pod.completed or (seen if begun else 0.0)
    if size is None or not begun or ended <= start or begun >= end:
        counts.unended += bool(pod.created) and not begun
        return
    if max(size[0]) <= 0:
        counts.unasked += 1
        return
    if begun <= start and (not pod.completed or pod.completed >= end) and seen >= end - 2 * found.grid.step:
        counts.services += 1
        for kind in (0, 1):
            taken[pod.node][kind] += size[0][kind]
        return
    if counts.chosen and key[0] not in counts.chosen:
        counts.elsewhere += 1
        return
    counts.cut += begun < start or (not pod.completed and seen >= end - found.grid.step)
    begun, ended = max(begun, start), min(max(ended, begun), end)
    created = min(max(pod.created or begun, start), begun)
    startup = max(pod.started - pod.scheduled, 0.0) if pod.started and pod.scheduled else None
    life = _Life(key, created - start, begun - start, ended - start, size[0], size[1], startup)
    counts.lives[key[0], found.members[key].app].append(life)


def _job(found: Assessment, key: tuple[str, str], lives: list[_Life]) -> tuple[Job, Happened]:
    namespace, app = key
    drivers = [life for life in lives if found.members[life.key].role == names.DRIVER]
    lead = min(drivers, key=lambda life: life.created, default=None)
    tasks = [life for life in lives if life is not lead]
    submit = min(life.created for life in lives)
    asks_from = lead.started if lead is not None else submit
    stages = _closed(tuple(_stages(found, tasks, asks_from)), lead, tasks)
    member = found.members[lives[0].key]
    job = Job(
        id=f"{namespace}/{app}",
        submit=submit,
        stages=stages or (_alone(found, lead),),
        driver=_driver(found, lead) if lead is not None and stages else None,
        user=member.user,
        queue=namespace,
        name=f"{namespace}/{member.family}",
    )
    begun = min((life.started for life in tasks), default=lives[0].started)
    known = [life.startup for life in lives if life.startup is not None]
    startup = sum(known) / len(known) if known else None
    return job, Happened(job.id, submit, begun, max(life.ended for life in lives), startup)


def _closed(stages: tuple[Stage, ...], lead: _Life | None, tasks: Sequence[_Life]) -> tuple[Stage, ...]:
    """What the driver did after its last task: a last stage that asks for nothing and keeps the driver alive."""
    left = lead.ended - max((life.ended for life in tasks), default=lead.ended) if lead is not None else 0.0
    if left <= TAIL:
        return stages
    parents = tuple(stage.name for stage in stages)
    return (*stages, Stage("closing", (0.0, 0.0), np.array([left]), parents=parents))


def _alone(found: Assessment, lead: _Life | None) -> Stage:
    """A driver that never had a task is a job of one task."""
    assert lead is not None  # noqa: S101 - a job has at least one pod
    return Stage(
        "driver", lead.request, np.array([max(lead.ended - lead.started, SHORTEST)]), usage=_usage(found, [lead])
    )


def _driver(found: Assessment, lead: _Life) -> Driver:
    return Driver(lead.request, usage=_usage(found, [lead]))


def _stages(found: Assessment, tasks: Iterable[_Life], asks_from: float) -> Iterable[Stage]:
    """Waves of equal tasks; each asks as long after the driver's start as it did."""
    groups: dict[tuple[str, tuple[float, float]], list[_Life]] = defaultdict(list)
    for life in tasks:
        groups[found.members[life.key].stage, _rounded(life.request)].append(life)
    number = 0
    for (stage, request), lives in groups.items():
        for wave in _waves(sorted(lives, key=lambda life: (life.created, life.key))):
            number += 1
            yield Stage(
                name=f"{stage or 'tasks'}-{number}",
                request=request,
                durations=np.array([max(life.ended - life.started, SHORTEST) for life in wave]),
                delay=max(wave[0].created - asks_from, 0.0),
                usage=_usage(found, wave),
            )


def _rounded(request: tuple[float, float]) -> tuple[float, float]:
    """Means over windows carry noise of rounding: to a thousandth of a core and a MiB."""
    return round(request[0], 3), round(request[1] / MEBI) * MEBI


def _waves(lives: list[_Life]) -> Iterable[list[_Life]]:
    wave: list[_Life] = []
    for life in lives:
        if wave and life.created - wave[-1].created > WAVE:
            yield wave
            wave = []
        wave.append(life)
    if wave:
        yield wave


def _usage(found: Assessment, lives: Sequence[_Life]) -> Usage:
    """Levels of each pod, and the course they have in common where enough of their lives was seen."""
    levels = np.array([life.level for life in lives])
    cpu, memory = (_shape(found, kind, lives) for kind in (CPU, MEMORY))
    if cpu is None and memory is None:
        return Usage(cpu=levels[:, 0], memory=levels[:, 1])
    flat = (1.0,) * len(AT)
    return Usage(levels[:, 0], levels[:, 1], AT, cpu or flat, memory or flat)


def _shape(found: Assessment, kind: str, lives: Sequence[_Life]) -> tuple[float, ...] | None:
    pods = {life.key for life in lives}
    means = [curve for pod in pods for curve in found.curves.get(kind, {}).get(pod, ())]
    return shape(np.array(means), peak=kind == MEMORY) if means else None


def _notes(counts: _Counts) -> Iterable[str]:
    told = (
        (counts.services, "pods ran before and after the period: services, taken off their nodes"),
        (counts.cut, "pods ran at one end of the period and are cut there"),
        (counts.elsewhere, "pods of other namespaces came or went in the period and are left out"),
        (counts.unasked, "pods have no request and are left out"),
        (counts.unended, "pods never ran and are left out"),
    )
    return (f"{count} {words}" for count, words in told if count)


def _lowered(found: Assessment) -> Iterable[str]:
    """Whether requests may be smaller than what was asked for."""
    if not any(pod.declared for pod in found.census.pods.values()):
        yield (
            "requests are as kube-scheduler saw them; where Slackwater had lowered them, start kube-state-metrics with "
            "--metric-annotations-allowlist=pods=[slackwater.io/declared-cpu,slackwater.io/declared-memory]"
        )


def write(made: Export, path: Path) -> dict[str, Path]:
    """The three files; gives their paths."""
    trace = writer(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    trace.write(made.workload, path)
    nodes, happened = beside(path)
    nodes.write_text(yaml.safe_dump({"nodes": list(_groups(made.nodes))}, sort_keys=False), encoding="utf-8")
    happened.write_text(json.dumps([asdict(each) for each in made.happened], indent=1), encoding="utf-8")
    return {"trace": path, "nodes": nodes, "happened": happened}


def beside(path: Path) -> tuple[Path, Path]:
    """Where the nodes and what happened lie, given the trace."""
    return path.with_name(f"{stem(path)}.nodes.yaml"), path.with_name(f"{stem(path)}.happened.json")


def _groups(nodes: Mapping[str, tuple[float, float]]) -> Iterable[dict[str, Any]]:
    """Equal nodes as one group."""
    equal: dict[tuple[float, int], int] = defaultdict(int)
    for cpu, memory in nodes.values():
        if cpu > 0 and memory > 0:
            equal[round(cpu, 3), round(memory)] += 1
    for number, ((cpu, memory), count) in enumerate(sorted(equal.items(), reverse=True)):
        yield {"count": count, "name": f"n{number}-", "cpu": cpu, "memory": memory}
