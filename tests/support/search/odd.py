"""Worlds at the edges: one huge pod among tiny ones, tasks of no length, nodes that have none of a kind, many queues.

All that the empty nodes could run they still can, and no trouble lasts: whoever waits has lost nothing but time.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from support.search.plan import AppPlan, NodePlan, QueuePlan, StagePlan, Trouble, WorldPlan

Feature = Callable[[random.Random, WorldPlan], WorldPlan]


def odd(world: WorldPlan) -> WorldPlan:
    """The world with some of these features, at least one."""
    rng = random.Random(f"odd {world.seed}")
    chosen = [each for each in FEATURES if rng.random() < 0.25] or [rng.choice(FEATURES)]
    for feature in chosen:
        world = feature(rng, world)
    return replace(world, troubles=tuple(sorted(world.troubles, key=lambda each: each.at)))


def _giant(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """A pod as large as a node, and an app of many tiny ones, before it or after."""
    model = rng.choice(world.nodes)
    huge = StagePlan(1, model.cpu - model.daemon, model.memory * 0.9, float(rng.choice((1, 5, 20))))
    size = rng.choice((0.01, 0.02, 0.05))
    tiny = StagePlan(40, max(0.001, round(model.cpu * size, 3)), model.memory * size, float(rng.choice((1, 5, 20))))
    space, late = rng.choice(world.namespaces), float(rng.choice((0, 1, 5)))
    apps = (
        AppPlan("huge", (huge,), space, late, rng.choice((0, 0, 10)), tolerates=True),
        AppPlan("tiny", (tiny,), space, late - rng.choice((0.0, late)), tolerates=True),
    )
    return replace(world, apps=tuple(sorted((*world.apps, *apps), key=lambda each: each.at)))


def _small(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Nodes of a core or less, and everybody by as much smaller."""
    by = max(node.cpu for node in world.nodes) * rng.choice((1.0, 2.0))

    def scaled(cpu: float) -> float:
        return max(0.001, int(cpu / by * 1000) / 1000) if cpu else 0.0

    def shrunk(app: AppPlan) -> AppPlan:
        stages = tuple(replace(stage, cpu=scaled(stage.cpu)) for stage in app.stages)
        driver = (scaled(app.driver[0]), app.driver[1]) if app.driver else None
        return replace(app, stages=stages, driver=driver)

    return replace(
        world,
        nodes=tuple(replace(node, cpu=node.cpu / by, daemon=scaled(node.daemon)) for node in world.nodes),
        apps=tuple(map(shrunk, world.apps)),
        visitors=tuple(replace(each, cpu=scaled(each.cpu)) for each in world.visitors),
        queues=tuple(replace(each, most=each.most / by) for each in world.queues),
    )


def _instants(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Tasks that are over as soon as they run."""
    return _with_stages(world, lambda stage: replace(stage, seconds=rng.choice((0.0, 0.0, 0.1, stage.seconds))))


def _bursts(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """All come at the same moment."""
    at = float(rng.choice((0, 3)))
    return replace(world, apps=tuple(replace(app, at=at) for app in world.apps))


def _empty(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Nodes that offer none of a kind, or next to nothing."""
    sizes = ((0.0, 8.0), (8.0, 0.0), (0.0, 0.0), (0.01, 0.01))
    more = [NodePlan(f"void-{n}", *rng.choice(sizes)) for n in range(rng.choice((1, 2, 3)))]
    return replace(world, nodes=(*world.nodes, *more))


def _tenants(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """A queue for each of many namespaces, some of them of weights that differ by far, most of them empty."""
    spaces = [*world.namespaces, *(f"guest-{number}" for number in range(rng.choice((4, 10, 30))))]
    known = {name for queue in world.queues for name in queue.namespaces}
    weights = tuple((name, rng.choice((0.001, 1.0, 1000.0))) for name in spaces)
    fair = rng.random() < 0.5
    queues = [
        QueuePlan(f"of-{name}", (name,), fair=fair, pooled=rng.random() < 0.5, weights=weights if fair else ())
        for name in spaces
        if name not in known
    ]
    return replace(world, queues=(*queues, *world.queues))


def _uneven(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Tasks of one stage that ask for less than others of it."""
    return replace(world, apps=tuple(replace(app, uneven=rng.choice((0.0, 0.1, 0.5, 0.9))) for app in world.apps))


def _ranks(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Pods of one app, gangs among them, with several priorities."""
    ranks = ((), (0, 10), (100, 0, 10))
    return replace(world, apps=tuple(replace(app, ranks=rng.choice(ranks)) for app in world.apps))


def _flaps(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """A node or two come and go all the time, for a minute."""
    names = rng.sample([node.name for node in world.nodes], min(len(world.nodes), rng.choice((1, 2))))
    every = rng.choice((4.0, 9.0))
    made = [Trouble(at * every, "node", name, every / 2) for at in range(1, 8) for name in names]
    return replace(world, troubles=(*world.troubles, *made))


def _restarts(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Programs that start anew again and again, for a minute."""
    what = rng.choice((("operator",), ("extender",), ("operator", "extender")))
    every = rng.choice((3.0, 10.0))
    made = [Trouble(at * every, program) for at in range(1, 8) for program in what]
    return replace(world, troubles=(*world.troubles, *made))


def _slow(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Watches that are far behind, and containers that take their time."""
    lags = (0.0, 2.0, 5.0)
    return replace(
        world,
        operator_lag=rng.choice(lags),
        extender_lag=rng.choice(lags),
        start_lag=float(rng.choice((0, 10, 20))),
    )


def _thirds(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Pods of which three or seven fill a node, but for what rounding leaves."""
    model = rng.choice(world.nodes)
    parts = rng.choice((3, 7))

    def part(stage: StagePlan) -> StagePlan:
        return replace(
            stage, cpu=int((model.cpu - model.daemon) / parts * 1000) / 1000, memory=model.memory / parts / 2
        )

    chosen = rng.randrange(len(world.apps))
    apps = [
        replace(app, stages=tuple(map(part, app.stages))) if number == chosen and not app.gang else app
        for number, app in enumerate(world.apps)
    ]
    return replace(world, apps=tuple(apps))


def _with_stages(world: WorldPlan, change: Callable[[StagePlan], StagePlan]) -> WorldPlan:
    return replace(
        world, apps=tuple(replace(app, stages=tuple(change(stage) for stage in app.stages)) for app in world.apps)
    )


FEATURES: tuple[Feature, ...] = (
    _giant,
    _instants,
    _bursts,
    _empty,
    _tenants,
    _uneven,
    _ranks,
    _flaps,
    _restarts,
    _slow,
    _thirds,
    _small,
)
