"""Random worlds: a seed in, a plan out. Most are small, because small worlds are played fast and read easily."""

from __future__ import annotations

import random
from dataclasses import replace

from support.search.mixed import mixed
from support.search.odd import odd
from support.search.owned import owned, rewritten
from support.search.plan import AppPlan, NodePlan, QueuePlan, StagePlan, Trouble, WorldPlan
from support.search.wild import widened

CORES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
SHARES = (0.05, 0.1, 0.125, 0.25, 0.3, 0.5, 0.6, 0.75, 0.9, 1.0)  # of a node, for pods
OPEN_GATES = 1_000_000  # from this seed on tasks may come without a gate where nobody waits …
WILD = 2_000_000  # … and from this one on worlds are wild: a second family, so that the seeds before keep their worlds
MIXED = 3_000_000  # from here on they have gangs of two sizes
OWNED = 20_000_000  # and from here on their owners pause, bound, weigh and withhold: plain, wild or mixed ones
REWRITTEN = 40_000_000  # and from here on they write their queues and pools anew while apps wait and run
ODD = 60_000_000  # and from here on worlds lie at the edges: of any of the families before
MOST_TASKS = 60  # of all apps together: what is slow to play is not more telling


def plan(seed: int) -> WorldPlan:
    """The world of a seed."""
    if seed >= ODD:
        return odd((_same, widened, mixed, owned)[seed % 4](_plain(seed)))
    if seed >= REWRITTEN:
        return rewritten(owned((_same, _same, widened, mixed)[seed % 4](_plain(seed))))
    if seed >= OWNED:
        return owned((_same, _same, widened, mixed)[seed % 4](_plain(seed)))
    if seed >= MIXED:
        return mixed(_plain(seed))
    return widened(_plain(seed)) if seed >= WILD else _plain(seed)


def _same(world: WorldPlan) -> WorldPlan:
    return world


def _plain(seed: int) -> WorldPlan:
    rng = random.Random(seed)
    nodes = _nodes(rng)
    namespaces = [f"team-{number}" for number in range(rng.choice((1, 1, 1, 2, 3)))]
    queues = _queues(rng, namespaces, nodes)
    apps = _apps(rng, namespaces, nodes)
    lagging = rng.random() < 0.3
    return WorldPlan(
        seed=seed,
        nodes=nodes,
        apps=apps,
        queues=queues,
        troubles=_troubles(rng, nodes) if rng.random() < 0.3 else (),
        ceiling_cpu=rng.choice((100, 150, 200, 200, 200, 400)),
        ceiling_memory=rng.choice((100, 150, 150, 150, 200)),
        operator_lag=rng.choice((0.5, 1.0, 2.0)) if lagging else 0.0,
        extender_lag=rng.choice((0.5, 1.0, 2.0)) if lagging else 0.0,
        start_lag=rng.choice((0.0, 0.0, 1.0, 3.0)),
        measured=rng.random() < 0.9,
        pressure=rng.choice((0.0, 300.0, 300.0)),  # 300 is what kubelets do by default
        open_gate=OPEN_GATES <= seed < MIXED,
    )


def _nodes(rng: random.Random) -> tuple[NodePlan, ...]:
    count = rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12, rng.randint(1, 50)))
    mixed, grouped = rng.random() < 0.5, rng.random() < 0.3
    tainted = grouped and rng.random() < 0.6
    daemon = rng.random() < 0.2
    cores = rng.choice(CORES)
    made = []
    for number in range(count):
        cpu = rng.choice(CORES) if mixed else cores
        group = rng.choice(("a", "b")) if grouped else ""
        made.append(
            NodePlan(
                f"n{number}",
                cpu,
                cpu * rng.choice((2.0, 4.0, 8.0)) if mixed else cpu * 4.0,
                group,
                tainted and group == "b",
                rng.choice((0.1, 0.25)) * cpu if daemon else 0.0,
            )
        )
    return tuple(made)


def _queues(rng: random.Random, namespaces: list[str], nodes: tuple[NodePlan, ...]) -> tuple[QueuePlan, ...]:
    groups = sorted({node.group for node in nodes if node.group})
    pooled = rng.random() < 0.5
    if len(namespaces) == 1 or rng.random() < 0.5:
        return (QueuePlan("default", fair=rng.random() < 0.3, pooled=pooled),)
    apart = bool(groups) and rng.random() < 0.5
    return tuple(
        QueuePlan(
            f"queue-{number}",
            (name,),
            rng.choice(groups) if apart else "",
            fair=rng.random() < 0.3,
            pooled=pooled and rng.random() < 0.7,
        )
        for number, name in enumerate(namespaces)
    )


def _apps(rng: random.Random, namespaces: list[str], nodes: tuple[NodePlan, ...]) -> tuple[AppPlan, ...]:
    count = rng.choice((1, 1, 2, 3, 4, 5, 6, 8, 12))
    ranked, greedy = rng.random() < 0.3, rng.random() < 0.15
    groups = sorted({node.group for node in nodes if node.group})
    at, left, made = 0.0, MOST_TASKS, []
    for number in range(count):
        if left <= 0:
            break
        app = _app(rng, f"app-{number}", nodes, left, groups, ranked=ranked, greedy=greedy)
        app = replace(app, namespace=rng.choice(namespaces), at=at)
        left -= app.tasks
        at += rng.choice((0.0, 0.0, 0.0, 1.0, 3.0, 10.0, 30.0))
        made.append(app)
    return tuple(made)


def _app(
    rng: random.Random,
    name: str,
    nodes: tuple[NodePlan, ...],
    left: int,
    groups: list[str],
    *,
    ranked: bool,
    greedy: bool,
) -> AppPlan:
    model = rng.choice(nodes)  # pods are sized after one of the nodes there are
    stages = _stages(rng, model, left)
    driven = rng.random() < 0.6
    gang = len(stages) == 1 and rng.random() < 0.2
    if gang:
        stages = (_gang(rng, nodes, model, left),)
    several = len(stages) > 1
    # A task that runs twice beyond its memory is killed again and again, on any scheduler: that is rare on purpose.
    most = 2.0 if greedy else 1.0
    return AppPlan(
        name=name,
        stages=stages,
        priority=rng.choice((0, 0, 10, 100)) if ranked else 0,
        driver=_driver(rng, model) if driven else None,
        gang=gang,
        announces=rng.random() < 0.6,
        strict=several and rng.random() < 0.3,
        upfront=several and rng.random() < 0.4,
        group=rng.choice(groups) if groups and rng.random() < 0.3 else "",
        tolerates=rng.random() < 0.4,
        cpu_use=rng.choice((0.0, 0.1, 0.4, 0.8, 1.0, 2.0)),
        memory_use=rng.choice((0.0, 0.1, 0.4, 0.8, most)),
        ramp=rng.random() < 0.3,
    )


def _driver(rng: random.Random, model: NodePlan) -> tuple[float, float]:
    share = rng.choice((0.05, 0.1, 0.25, 0.5, 0.5, 0.75, 1.0))
    return model.cpu * share, model.memory * share * rng.choice((0.25, 0.5, 1.0))


def _stages(rng: random.Random, model: NodePlan, left: int) -> tuple[StagePlan, ...]:
    made = []
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        tasks = max(1, min(left, rng.choice((1, 1, 2, 3, 4, 6, 10, 20))))
        made.append(_stage(rng, model, tasks))
        left -= tasks
    return tuple(made)


def _stage(rng: random.Random, model: NodePlan, tasks: int) -> StagePlan:
    share = rng.choice(SHARES)
    memory = min(1.0, share * rng.choice((0.25, 0.5, 1.0, 1.0, 2.0)))
    return StagePlan(tasks, model.cpu * share, model.memory * memory, float(rng.choice((1, 2, 5, 10, 20, 40))))


def _gang(rng: random.Random, nodes: tuple[NodePlan, ...], model: NodePlan, left: int) -> StagePlan:
    """A gang of up to as many tasks as the empty nodes could hold."""
    one = _stage(rng, model, 1)
    most = sum(int(min(node.cpu / one.cpu, node.memory / one.memory) + 1e-9) for node in nodes)
    return StagePlan(max(1, min(left, rng.randint(1, max(1, most)))), one.cpu, one.memory, one.seconds)


def _troubles(rng: random.Random, nodes: tuple[NodePlan, ...]) -> tuple[Trouble, ...]:
    made = []
    for _ in range(rng.choice((1, 1, 2, 4))):
        what = rng.choice(("node", "operator", "extender", "silence", "writes"))
        node = rng.choice(nodes).name if what == "node" else ""
        seconds = rng.choice((5.0, 20.0, 40.0)) if what in ("node", "silence", "writes") else 0.0
        made.append(Trouble(float(rng.randint(1, 60)), what, node, seconds))
    return tuple(sorted(made, key=lambda each: each.at))
