"""The workloads of the league: made up, seeded, the same for every scheduler.

Each says what it puts to the test. `size` makes cluster and number of jobs smaller alike, so that what is scarce stays
scarce; the seconds stay as they are.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from slackwater.errors import InvalidInput, UnknownName
from slackwater_lab.live.workload import Part, Play, Size

GIB = 2.0**30
NODES = 6
CORES = 16.0
NODE_MEMORY = 64 * GIB
LOW, URGENT = "league-low", "league-urgent"
PRIORITIES = {LOW: 100, URGENT: 1000}


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs, the cluster they are played on, and how long they may take (seconds)."""

    name: str
    about: str
    plays: tuple[Play, ...]
    limit: float
    nodes: int = NODES
    watched: frozenset[str] = field(default_factory=frozenset)  # jobs that are also measured on their own

    @property
    def pods(self) -> int:
        """How many pods it has when none must be made twice."""
        return sum(play.tasks + (play.driver is not None) for play in self.plays)

    @property
    def cores(self) -> float:
        """All cores of its cluster."""
        return self.nodes * CORES


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Equal in kind: so many within so many seconds, each of a driver and one stage."""

    count: int
    within: float
    tasks: tuple[int, int]
    seconds: tuple[float, float] = (10.0, 40.0)
    use: tuple[float, float] = (0.3, 0.6)  # of the request, by CPU; most lie near the lower end
    startup: float = 0.5
    request: float = 1.0
    priority: str = ""
    prefix: str = "job"


def _size(cpu: float, use: float, memory: float = 2 * GIB) -> Size:
    return Size(cpu, memory, round(cpu * use, 3), memory * 0.4)


def _made(seed: int, kind: _Jobs) -> list[Play]:
    rnd = random.Random(seed)  # noqa: S311 - a workload, not a secret
    submits = sorted(round(rnd.uniform(0, kind.within), 2) for _ in range(kind.count))
    return [_job(rnd, kind, number, at) for number, at in enumerate(submits)]


def _job(rnd: random.Random, kind: _Jobs, number: int, at: float) -> Play:
    durations = tuple(round(rnd.uniform(*kind.seconds), 2) for _ in range(rnd.randint(*kind.tasks)))
    low, high = kind.use
    use = rnd.triangular(low, high, low)
    return Play(
        id=f"{kind.prefix}-{number:03d}",
        submit=at,
        parts=(Part("map", _size(kind.request, use), durations),),
        driver=_size(1.0, 0.1),
        startup=kind.startup,
        priority=kind.priority,
    )


def _share(size: float, count: int) -> int:
    return max(1, round(count * size))


def slack(size: float, seed: int) -> Workload:
    """Tasks use 40 % of what they ask for; the rest could be given to others."""
    plays = _made(seed, _Jobs(_share(size, 50), 30.0, (3, 9)))
    return Workload("slack", _line(slack), tuple(plays), 400.0, _nodes(size))


def drivers(size: float, seed: int) -> Workload:
    """Drivers alone fill the cluster before any of them asks for tasks."""
    plays = _made(seed, _Jobs(_share(size, 120), 4.0, (1, 4), startup=5.0))
    return Workload("drivers", _line(drivers), tuple(plays), 400.0, _nodes(size))


def drivers_mild(size: float, seed: int) -> Workload:
    """Drivers come more slowly and ask for tasks at once: the milder form."""
    plays = _made(seed, _Jobs(_share(size, 160), 10.0, (1, 3)))
    return Workload("drivers-mild", _line(drivers_mild), tuple(plays), 400.0, _nodes(size))


def urgent(size: float, seed: int) -> Workload:
    """A job of high priority comes late into a cluster full of low priority."""
    crowd = _made(seed, _Jobs(_share(size, 40), 15.0, (4, 8), use=(0.8, 0.95), priority=LOW))
    late = Play(
        "urgent-000",
        30.0,
        (Part("map", _size(1.0, 0.9), (10.0,) * _share(size, 12)),),
        driver=_size(1.0, 0.1),
        startup=0.5,
        priority=URGENT,
    )
    return Workload("urgent", _line(urgent), (*crowd, late), 400.0, _nodes(size), frozenset({late.id}))


def gang(size: float, seed: int) -> Workload:
    """A gang of half the cluster's cores comes when small jobs have filled it; its members should start together."""
    crowd = _made(seed, _Jobs(_share(size, 90), 25.0, (1, 3), seconds=(8.0, 25.0), use=(0.8, 0.95)))
    members = _share(size, 48)
    group = Play("gang-000", 15.0, (Part("map", _size(1.0, 0.9), (20.0,) * members),), gang=True)
    return Workload("gang", _line(gang), (*crowd, group), 400.0, _nodes(size), frozenset({group.id}))


def whole(size: float, seed: int) -> Workload:
    """Jobs whose one task needs nearly a whole node come among small ones."""
    crowd = _made(seed, _Jobs(_share(size, 60), 60.0, (2, 4), seconds=(8.0, 25.0), use=(0.8, 0.95)))
    count = _share(size, 6)
    large = [
        Play(f"whole-{n:03d}", 10.0 + 5.0 * n, (Part("map", _size(15.0, 0.9, 48 * GIB), (15.0,)),))
        for n in range(count)
    ]
    return Workload("whole", _line(whole), (*crowd, *large), 400.0, _nodes(size), frozenset(p.id for p in large))


def full(size: float, seed: int) -> Workload:
    """Short tasks that use all they ask for fill the cluster: nothing to gain, and what a freed slot waits shows."""
    rnd = random.Random(seed)  # noqa: S311 - a workload, not a secret
    count = _share(size, 60)
    plays = [
        Play(
            f"full-{n:03d}",
            round(rnd.uniform(0, 10.0), 2),
            (Part("map", _size(1.0, 1.0), tuple(round(rnd.uniform(3.0, 8.0), 2) for _ in range(8))),),
        )
        for n in range(count)
    ]
    return Workload("full", _line(full), tuple(plays), 300.0, _nodes(size))


def stream(size: float, seed: int) -> Workload:
    """2,000 short pods, 100 a second, with room for all: what one pod costs, and how many a second are bound."""
    rnd = random.Random(seed)  # noqa: S311 - a workload, not a secret
    count = _share(size, 2000)
    part = Part("map", _size(0.1, 0.5, GIB / 16), (2.0,))
    plays = [Play(f"pod-{n:04d}", round(n / 100 + rnd.uniform(0, 0.01), 3), (part,)) for n in range(count)]
    return Workload("stream", _line(stream), tuple(plays), 300.0, NODES)


WORKLOADS: dict[str, Callable[[float, int], Workload]] = {
    "slack": slack,
    "drivers": drivers,
    "drivers-mild": drivers_mild,
    "urgent": urgent,
    "gang": gang,
    "whole": whole,
    "full": full,
    "stream": stream,
}


def workload(name: str, size: float = 1.0, seed: int = 1) -> Workload:
    """One of the league's workloads."""
    if name not in WORKLOADS:
        raise UnknownName("workload", name, WORKLOADS)
    if not 0 < size <= 1:
        raise InvalidInput("size", f"{size} is out of range", "use a share of the whole, above 0 and at most 1")
    return WORKLOADS[name](size, seed)


def _nodes(size: float) -> int:
    return max(2, round(NODES * size))


def _line(make: Callable[[float, int], Workload]) -> str:
    return (make.__doc__ or "").splitlines()[0]
