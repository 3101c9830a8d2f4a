"""Worlds whose owners say something: pauses, bounds of pools, weights, maxima, gangs that stay incomplete, names again.

Whatever is stopped goes on, and what can never be whole is given up by its user: so who waits for it has lost nothing
but time, and both sides can be compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from support.search.plan import AppPlan, QueuePlan, StagePlan, Trouble, WorldPlan

Feature = Callable[[random.Random, WorldPlan], WorldPlan]


def rewritten(world: WorldPlan) -> WorldPlan:
    """The world with owners who also write their queues anew, once or several times, while apps wait and run."""
    rng = random.Random(f"rewritten {world.seed}")
    made = []
    for _ in range(rng.choice((1, 2, 4))):
        queue = rng.choice(world.queues)
        terms = _bounded(rng, queue) if rng.random() < 0.5 else replace(queue, pooled=not queue.pooled)
        terms = replace(terms, fair=rng.random() < 0.5, weights=())
        at = rng.choice((0, 1, 3, rng.randint(1, 20), rng.randint(1, 60)))
        made.append(Trouble(float(at), "rewrite", seconds=_while(rng), scope=queue.name, terms=terms))
    return replace(world, troubles=tuple(sorted((*world.troubles, *made), key=lambda each: each.at)))


def owned(world: WorldPlan) -> WorldPlan:
    """The world with some of these features, at least one."""
    rng = random.Random(f"owned {world.seed}")
    chosen = [each for each in FEATURES if rng.random() < 0.35] or [rng.choice(FEATURES)]
    for feature in chosen:
        world = feature(rng, world)
    return replace(world, troubles=tuple(sorted(world.troubles, key=lambda each: each.at)))


def _tenants(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Two or three queues with the same nodes, and everybody in one of them."""
    spaces = [f"team-{number}" for number in range(rng.choice((2, 2, 3)))]
    apps = tuple(replace(app, namespace=rng.choice(spaces)) for app in world.apps)
    queues = tuple(
        QueuePlan(f"queue-{number}", (name,), fair=rng.random() < 0.3, pooled=rng.random() < 0.5)
        for number, name in enumerate(spaces)
    )
    moved = {
        f"{old.namespace}/{old.name}": f"{new.namespace}/{new.name}" for old, new in zip(world.apps, apps, strict=True)
    }
    troubles = tuple(replace(each, app=moved[each.app]) if each.app else each for each in world.troubles)
    return replace(world, apps=apps, queues=queues, troubles=troubles)


def _bounds(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Owners of pools keep a part of each kind for one side, or for both."""
    return replace(world, queues=tuple(_bounded(rng, queue) if rng.random() < 0.8 else queue for queue in world.queues))


def _bounded(rng: random.Random, queue: QueuePlan) -> QueuePlan:
    minimum, maximum = rng.choice((0.0, 0.1, 0.25, 0.5)), rng.choice((0.0, 0.0, 0.5, 0.75, 0.9))
    theta = rng.choice((0.0, 0.05, 0.3, 0.6))
    return replace(queue, pooled=True, minimum=minimum, maximum=max(minimum, maximum) if maximum else 0.0, theta=theta)


def _scarce(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Memory is what runs out first: nodes have less of it, and some tasks ask for little else."""
    nodes = tuple(replace(node, memory=node.memory * 0.5) for node in world.nodes)
    least = min(node.memory for node in nodes)
    return replace(world, nodes=nodes, apps=tuple(_heavy(rng, app, least) for app in world.apps))


def _heavy(rng: random.Random, app: AppPlan, most: float) -> AppPlan:
    """No task asks for more memory than the smallest node has."""
    light = rng.random() < 0.5
    stages = (replace(s, memory=min(s.memory, most), cpu=s.cpu * (0.25 if light else 1.0)) for s in app.stages)
    driver = app.driver and (app.driver[0], min(app.driver[1], most))
    return replace(app, stages=tuple(stages), driver=driver)


def _weights(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Queues are fair, some with weights and a stated maximum."""
    return replace(world, queues=tuple(_weighted(rng, world, queue) for queue in world.queues))


def _weighted(rng: random.Random, world: WorldPlan, queue: QueuePlan) -> QueuePlan:
    spaces = queue.namespaces or world.namespaces
    weights = tuple((name, float(rng.choice((1, 2, 5)))) for name in spaces) if queue.namespaces else ()
    cores = sum(node.cpu for node in world.nodes)
    return replace(queue, fair=True, weights=weights, most=rng.choice((0.0, 0.0, cores * 0.5, cores, cores * 2)))


# -- who stops and goes on --------------------------------------------------------------------------------------------


def _pauses(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Users pause apps, some before anything of them runs, some once their driver does."""
    made = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        app = rng.choice(world.apps)
        at = rng.choice((0.0, app.at, app.at + 1, app.at + 2, app.at + rng.randint(1, 30)))
        made.append(Trouble(float(at), "pause", seconds=_while(rng), app=f"{app.namespace}/{app.name}"))
    return replace(world, troubles=(*world.troubles, *made))


def _stops(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Queues are paused or closed to new apps."""
    made = []
    for _ in range(rng.choice((1, 1, 2))):
        queue, what = rng.choice(world.queues).name, rng.choice(("halt", "halt", "close"))
        at = rng.choice((0, 1, 2, 3, rng.randint(1, 30), rng.randint(1, 90)))
        made.append(Trouble(float(at), what, seconds=_while(rng), scope=queue))
    return replace(world, troubles=(*world.troubles, *made))


def _leaves(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """A namespace loses the label by which it is managed, for a while or until somebody sets it."""
    at = rng.choice((0, 1, 2, rng.randint(1, 30), rng.randint(1, 60)))
    left = Trouble(float(at), "leave", seconds=_while(rng), scope=rng.choice(world.namespaces))
    return replace(world, troubles=(*world.troubles, left))


def _while(rng: random.Random) -> float:
    return float(rng.choice((2, 5, 20, 60, 200)))


# -- who does not come, and who comes again ---------------------------------------------------------------------------


def _withheld(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Gangs of which a part comes late, or never: their users give these up."""
    chosen = {rng.randrange(len(world.apps)) for _ in range(rng.choice((1, 1, 2)))}
    return replace(world, apps=tuple(_late(rng, app) if n in chosen else app for n, app in enumerate(world.apps)))


def _late(rng: random.Random, app: AppPlan) -> AppPlan:
    last = app.stages[-1]
    if last.tasks < 2:
        last = replace(last, tasks=rng.choice((2, 3, 4)), cpu=last.cpu / 4, memory=last.memory / 4, gpus=0)
    lasts = rng.choice((0.0, 0.0, 5.0, 40.0, 200.0, 350.0))
    return replace(
        app,
        stages=(*app.stages[:-1], last),
        gang=True,
        strict=False,
        upfront=True,
        announces=True,
        withheld=rng.choice((1, 1, last.tasks // 2, last.tasks - 1)),
        withheld_for=lasts,
        cancelled=0.0 if lasts else float(rng.choice((100, 380, 450))),
    )


def _again(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Apps come again under their name, with other sizes."""
    chosen = rng.sample(world.apps, min(len(world.apps), rng.choice((1, 1, 2))))
    runs = [replace(_other(rng, app), run=1) for app in chosen if not app.withheld]
    runs += [replace(_other(rng, app), run=2) for app in runs if rng.random() < 0.3]
    return replace(world, apps=(*world.apps, *runs))


def _other(rng: random.Random, app: AppPlan) -> AppPlan:
    """The next run: its pods are smaller, its tasks fewer or more."""
    part = rng.choice((0.25, 0.5, 0.9, 1.0))
    stages = tuple(_resized(rng, stage, part) for stage in app.stages[: rng.choice((1, 3))])
    driver = app.driver and (app.driver[0] * rng.choice((0.5, 1.0)), app.driver[1] * rng.choice((0.5, 1.0)))
    if rng.random() < 0.1:
        driver = None if driver else (stages[0].cpu, stages[0].memory)
    after = float(rng.choice((0.5, 1, 10, 60, 660)))
    gang = app.gang or rng.random() < 0.1
    if gang:
        stages = tuple(
            replace(stage, tasks=min(stage.tasks, before.tasks))
            for stage, before in zip(stages, app.stages, strict=False)
        )
    return replace(
        app, stages=stages, driver=driver, after=after, gang=gang, strict=False, tidy=rng.random() < 0.5, cancelled=0.0
    )


def _resized(rng: random.Random, stage: StagePlan, part: float) -> StagePlan:
    tasks = max(1, min(20, int(stage.tasks * rng.choice((0.5, 1.0, 2.0)))))
    return replace(stage, tasks=tasks, cpu=stage.cpu * part, memory=stage.memory * part)


# Those that change queues come before those that look at them.
FEATURES: tuple[Feature, ...] = (
    *(_tenants, _bounds, _scarce, _weights),
    *(_withheld, _again, _pauses, _stops, _leaves),
)
