"""Random small worlds for the simulator: a seed in, a world out."""

from __future__ import annotations

import random

import numpy as np

from slackwater_simulator.workload.workload import GIBI, Driver, Job, Stage, Usage
from support.simsearch.world import Host, SmallWorld

CORES = (1.0, 2.0, 4.0, 8.0, 16.0)
SHARES = (0.05, 0.1, 0.125, 0.25, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0)  # of a node, for containers
MOST_TASKS = 60  # of all jobs together: what is slow to play is not more telling
EXTRAS = 4  # policies played beside those that are compared in every world
OTHERS = (
    *(
        f"{world}:{policy}"
        for world in ("yarn", "ideal")
        for policy in (
            "fifo",
            "capacity",
            "capacity?calculator=dominant",
            "fair",
            "fair?ordering=drf",
            "drf",
            "ffd-dp",
            "estimation",
            "haste",
            "haste-a",
            "admission",
            "admission?base=fifo&cores=true",
            "static-reservation?reserve=1",
        )
    ),
    *(f"ideal:{policy}" for policy in ("first-fit", "fcfs", "small-first-backfill", "easy", "dress", "oracle")),
    "kubernetes:kube-most",
    "kubernetes:slackwater?pools=false",
    "kubernetes:slackwater?overcommit=false",
    "kubernetes:slackwater?order=false",
    "kubernetes:slackwater?risk=0.01",
    "kubernetes:slackwater?forecasts=true&reasons=true",
    "yarn:slackwater?pools=false",
    "yarn:slackwater?order=false",
)


def world(seed: int) -> SmallWorld:
    """The world of a seed."""
    rng = random.Random(seed)
    hosts = _hosts(rng)
    jobs = _jobs(rng, hosts)
    outages = _outages(rng, hosts) if rng.random() < 0.25 else ()
    policies = list(rng.sample(OTHERS, EXTRAS))
    if all(job.driver is None and all(stage.tasks == 1 for stage in job.stages) for job in jobs):
        policies += ["transfer:network", "transfer:nearest"]
    return SmallWorld(seed, hosts, jobs, outages, tuple(policies))


def _hosts(rng: random.Random) -> tuple[Host, ...]:
    mixed, devices = rng.random() < 0.5, rng.random() < 0.2
    cores = rng.choice(CORES)
    made = []
    for number in range(rng.choice((1, 1, 2, 2, 3, 4, 5, 8))):
        cpu = rng.choice(CORES) if mixed else cores
        memory = cpu * rng.choice((2.0, 4.0, 8.0)) if mixed else cpu * 4.0
        gpus = rng.choice((0, 1, 4)) if devices else 0
        made.append(Host(f"n{number}", cpu, memory, gpus, f"rack{number % 2}"))
    return tuple(made)


def _jobs(rng: random.Random, hosts: tuple[Host, ...]) -> tuple[Job, ...]:
    count = rng.choice((1, 1, 2, 3, 4, 6, 8, 12, 20))
    measured, greedy, ranked, graphs = (rng.random() < share for share in (0.75, 0.15, 0.3, 0.1))
    at, left, made = 0.0, MOST_TASKS, []
    for number in range(count):
        if left <= 0:
            break
        host = rng.choice(hosts)  # containers are sized after one of the nodes there are
        stages = _graph(rng, host) if graphs else _stages(rng, hosts, host, left)
        stages = tuple(_with_use(rng, stage, greedy) for stage in stages) if measured else stages
        # All that a gang asks for at one time goes at once, so its stages follow each other.
        gang = not graphs and len(stages) <= 2 and bool(len(stages) == 1 or stages[1].parents) and rng.random() < 0.2
        made.append(
            Job(
                f"job-{number}",
                at,
                stages,
                _driver(rng, host, greedy and measured) if not graphs and rng.random() < 0.6 else None,
                user=rng.choice(("ann", "bob", "cay")),
                queue=rng.choice(("default", "default", "other")),
                name=rng.choice(("", "daily", "hourly")),
                priority=rng.choice((0, 0, 10, 100)) if ranked else 0,
                gang=gang,
                strict=len(stages) > 1 and rng.random() < 0.3,
                estimate=rng.choice((0.0, 5.0, 60.0)),
            )
        )
        left -= made[-1].tasks
        at += rng.choice((0.0, 0.0, 0.0, 0.5, 3.0, 10.0, 100.0))
    return tuple(made)


def _stages(rng: random.Random, hosts: tuple[Host, ...], host: Host, left: int) -> tuple[Stage, ...]:
    made: list[Stage] = []
    for number in range(rng.choice((1, 1, 1, 2, 3, 4))):
        tasks = max(1, min(left, rng.choice((1, 1, 2, 3, 4, 6, 10, 20))))
        parents = tuple(stage.name for stage in made if rng.random() < 0.7)
        eager = bool(parents) and rng.random() < 0.3
        hosts_of = tuple((rng.choice(hosts).name,) for _ in range(tasks)) if rng.random() < 0.1 else ()
        made.append(
            Stage(
                f"s{number}",
                _size(rng, host, rng.choice(SHARES)),
                _durations(rng, tasks),
                parents,
                start_after=rng.choice((0.05, 0.5)) if eager else 1.0,
                ramp=eager and rng.random() < 0.5,
                delay=rng.choice((0.0, 0.0, 0.0, 2.5)),
                shuffle=rng.choice((0.0, 3.0)) if parents else 0.0,
                hosts=hosts_of,
                reduce=rng.random() < 0.1,
            )
        )
        left -= tasks
    return tuple(made)


def _graph(rng: random.Random, host: Host) -> tuple[Stage, ...]:
    """Stages of one task whose edges carry bytes."""
    made: list[Stage] = []
    for number in range(rng.randint(1, 6)):
        parents = tuple(stage.name for stage in made if rng.random() < 0.5)
        size = _size(rng, host, rng.choice(SHARES))
        made.append(Stage(f"s{number}", size, _durations(rng, 1), parents, transfer=rng.choice((0.0, 1e6, 1e8))))
    return tuple(made)


def _size(rng: random.Random, host: Host, share: float) -> tuple[float, ...]:
    memory = share * rng.choice((0.25, 0.5, 1.0, 1.0, 2.0))
    gpus = float(host.gpus > 0 and rng.random() < 0.5)
    too_large = 1.5 if rng.random() < 0.02 else 1.0
    return host.cpu * share * too_large, min(1.0, memory) * host.memory * GIBI, gpus


def _durations(rng: random.Random, tasks: int) -> np.typing.NDArray[np.float64]:
    usual = rng.choice((0.0, 0.3, 1.0, 2.0, 5.0, 10.0, 20.0, 40.0))
    if rng.random() < 0.7:
        return np.full(tasks, usual)
    return np.array([usual * rng.choice((0.5, 1.0, 1.5, 4.0)) for _ in range(tasks)])


def _driver(rng: random.Random, host: Host, greedy: bool) -> Driver:
    share = rng.choice((0.05, 0.1, 0.25, 0.5, 0.5, 0.75, 1.0))
    size = (host.cpu * share, host.memory * GIBI * share * rng.choice((0.25, 0.5, 1.0)), 0.0)
    used = Usage(np.array([rng.choice((0.1, 0.5, 1.0))]), np.array([rng.choice((0.1, 1.0, 2.0 if greedy else 0.5))]))
    return Driver(size, rng.choice((0.0, 0.0, 2.0)), used if rng.random() < 0.5 else None)


def _with_use(rng: random.Random, stage: Stage, greedy: bool) -> Stage:
    """Use from nothing to what is asked for; of CPU and, where tasks are greedy, of memory up to twice as much."""
    if rng.random() < 0.2:
        return stage
    cpu = np.full(stage.tasks, rng.choice((0.0, 0.1, 0.4, 0.8, 1.0, 2.0)))
    memory = np.full(stage.tasks, rng.choice((0.0, 0.1, 0.4, 0.8, 2.0 if greedy else 1.0)))
    rising = (0.0, 1.0) if rng.random() < 0.3 else (1.0, 1.0)
    usage = Usage(cpu, memory, memory_shape=rising, noise=rng.choice((0.0, 0.0, 0.3)))
    return Stage(**{name: getattr(stage, name) for name in stage.__slots__ if name != "usage"}, usage=usage)


def _outages(rng: random.Random, hosts: tuple[Host, ...]) -> tuple[tuple[str, float, float], ...]:
    """Every node fails once at most, and comes back."""
    failing = rng.sample(hosts, rng.randint(1, len(hosts)))
    fails = [rng.choice((0.0, 1.0, 7.5, 30.0)) for _ in failing]
    return tuple((host.name, at, at + rng.choice((0.5, 20.0, 200.0))) for host, at in zip(failing, fails, strict=True))
