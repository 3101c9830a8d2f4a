"""What makes a random world wild: devices, nodes that change or come late, visitors, users who delete, requests of 0.

After the last change a world can run whatever it could run at any time before: who waits when a label is taken away
or a node cordoned has lost nothing but time, so that both sides can be compared.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from support.search.plan import AppPlan, NodePlan, StagePlan, Trouble, VisitorPlan, WorldPlan

Feature = Callable[[random.Random, WorldPlan], WorldPlan]


def widened(world: WorldPlan) -> WorldPlan:
    """The world with some of these features, at least one."""
    rng = random.Random(f"wild {world.seed}")
    world = replace(world, open_gate=rng.random() < 0.3, grace=rng.choice((0.0, 0.0, 2.0, 30.0)))
    chosen = [each for each in FEATURES if rng.random() < 0.3] or [rng.choice(FEATURES)]
    for feature in chosen:
        world = feature(rng, world)
    return replace(world, troubles=tuple(sorted(world.troubles, key=lambda each: each.at)))


# -- pods -------------------------------------------------------------------------------------------------------------


def _partial(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Some pods ask for one kind only, or for nothing."""
    return replace(world, apps=tuple(_less(rng, app) if rng.random() < 0.6 else app for app in world.apps))


def _less(rng: random.Random, app: AppPlan) -> AppPlan:
    stages = []
    for stage in app.stages:
        cpu, memory = rng.choice(((1, 0), (0, 1), (0, 0), (1, 1)))
        stages.append(replace(stage, cpu=stage.cpu * cpu, memory=stage.memory * memory))
    driver = app.driver
    if driver is not None:
        cpu, memory = rng.choice(((1, 0), (0, 1), (0, 0), (1, 1), (1, 1)))
        driver = (driver[0] * cpu, driver[1] * memory)
    return replace(app, stages=tuple(stages), driver=driver)


def _devices(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Some nodes have devices, and some apps ask for them."""
    share = rng.choice((0.3, 0.5, 1.0))
    nodes = tuple(replace(node, gpus=rng.choice((1, 2, 4, 8)) if rng.random() < share else 0) for node in world.nodes)
    equipped = [node for node in nodes if node.gpus]
    if not equipped:
        equipped = [replace(nodes[0], gpus=2)]
        nodes = (*equipped, *nodes[1:])
    apps = tuple(_accelerated(rng, app, equipped) if rng.random() < 0.5 else app for app in world.apps)
    late = [
        Trouble(0.0, "unplug", node.name, float(rng.choice((2, 20, 60)))) for node in equipped if rng.random() < 0.2
    ]
    return replace(world, nodes=nodes, apps=apps, troubles=(*world.troubles, *late))


def _accelerated(rng: random.Random, app: AppPlan, equipped: list[NodePlan]) -> AppPlan:
    """Its tasks ask for devices, for no more than one of the nodes has."""
    model = rng.choice(equipped)
    group = model.group if app.group else ""
    stages = tuple(_on(rng, stage, model) if rng.random() < 0.8 else stage for stage in app.stages)
    if app.gang and stages[0].gpus:
        places = sum(_places(stages[0], node) for node in equipped)
        stages = (replace(stages[0], tasks=max(1, min(stages[0].tasks, places))),)
    return replace(app, stages=stages, group=group, tolerates=app.tolerates or model.tainted)


def _on(rng: random.Random, stage: StagePlan, model: NodePlan) -> StagePlan:
    gpus = min(model.gpus, rng.choice((1, 1, 2, 4, 8)))
    cpu, memory = min(stage.cpu, model.cpu - model.daemon), min(stage.memory, model.memory * 0.9)
    return replace(stage, gpus=gpus, cpu=cpu, memory=memory)


def _places(stage: StagePlan, node: NodePlan) -> int:
    """Tasks that an empty node can hold."""
    asked = ((node.cpu, stage.cpu), (node.memory, stage.memory), (node.gpus, stage.gpus))
    return min(int(has / wants + 1e-9) for has, wants in asked if wants)


# -- nodes ------------------------------------------------------------------------------------------------------------


def _late(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Some nodes come later, as an autoscaler adds them."""
    first, *rest = world.nodes
    at = float(rng.choice((5, 20, 60, 120)))
    others = (replace(node, late=at + rng.choice((0, 0, 1, 30))) if rng.random() < 0.5 else node for node in rest)
    return replace(world, nodes=(replace(first, late=at) if rng.random() < 0.2 else first, *others))


def _cordons(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Nodes are closed for a while, and some of them emptied."""
    made = [_on_a_node(rng, world, rng.choice(("cordon", "cordon", "drain"))) for _ in range(rng.choice((1, 2, 4)))]
    return replace(world, troubles=(*world.troubles, *made))


def _labels(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Nodes lose the label that pods select on, for a while or from the beginning until somebody sets it."""
    if not any(node.group for node in world.nodes):
        nodes = tuple(replace(node, group=rng.choice(("a", "b"))) for node in world.nodes)
        groups = sorted({node.group for node in nodes})
        apps = (replace(app, group=rng.choice(groups)) if rng.random() < 0.5 else app for app in world.apps)
        world = replace(world, nodes=nodes, apps=tuple(apps))
    made = [_on_a_node(rng, world, "unlabel") for _ in range(rng.choice((1, 2, 4)))]
    made = [replace(each, at=0.0) if rng.random() < 0.3 else each for each in made]
    return replace(world, troubles=(*world.troubles, *made))


def _on_a_node(rng: random.Random, world: WorldPlan, what: str) -> Trouble:
    node, at = rng.choice(world.nodes).name, rng.choice((0, rng.randint(1, 15), rng.randint(1, 60)))
    return Trouble(float(at), what, node, float(rng.choice((1, 5, 20, 60, 120))))


def _visitors(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Pods of others come and go on the same nodes."""
    made = []
    for number in range(rng.choice((1, 2, 4, 8))):
        model = rng.choice(world.nodes)
        cpu, memory = (rng.choice((0.0, 0.05, 0.25, 0.5, 0.7)) for _ in range(2))
        gpus = rng.randint(0, model.gpus) if rng.random() < 0.3 else 0
        at, seconds = float(rng.randint(0, rng.choice((5, 30, 90)))), float(rng.choice((2, 10, 30, 90)))
        priority, use = rng.choice((0, 0, 0, 50)), rng.choice((0.1, 0.5, 1.0))
        size = ((model.cpu - model.daemon) * cpu, model.memory * memory)
        made.append(VisitorPlan(f"visitor-{number}", *size, at, seconds, gpus, priority, use))
    return replace(world, visitors=tuple(made))


# -- users ------------------------------------------------------------------------------------------------------------


def _deletions(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Users delete pods that wait or run; whoever made them makes them anew."""
    made = []
    for _ in range(rng.choice((1, 2, 4, 8))):
        app = rng.choice(world.apps)
        what = rng.choice(("delete", "delete", "withdraw", "withdraw", "driver"))
        at = app.at + rng.choice((0, 1, rng.randint(1, 10), rng.randint(1, 60)))
        made.append(Trouble(at, what, app=f"{app.namespace}/{app.name}"))
    return replace(world, troubles=(*world.troubles, *made))


def _cancels(rng: random.Random, world: WorldPlan) -> WorldPlan:
    """Users give up whole apps."""
    unlucky = rng.choice(world.apps).name
    apps = (
        replace(app, cancelled=float(rng.choice((1, 2, rng.randint(1, 15), rng.randint(1, 60)))))
        if app.name == unlucky or rng.random() < 0.2
        else app
        for app in world.apps
    )
    return replace(world, apps=tuple(apps))


# Those that change nodes come before those that look at them.
FEATURES: tuple[Feature, ...] = (_devices, _partial, _labels, _late, _cordons, _visitors, _deletions, _cancels)
