"""Worlds with gangs of two sizes: servers and workers that start together, as many as the empty nodes can hold."""

from __future__ import annotations

import random
from dataclasses import replace

from support.search.plan import AppPlan, StagePlan, WorldPlan

SHARES = (0.1, 0.25, 0.3, 0.4, 0.55, 0.6, 0.75)  # of a node
MOST = 12  # pods of a gang


def mixed(world: WorldPlan) -> WorldPlan:
    """The world with one app that is such a gang, or two."""
    rng = random.Random(f"mixed {world.seed}")
    chosen = {rng.randrange(len(world.apps)) for _ in range(rng.choice((1, 1, 2)))}
    return replace(world, apps=tuple(_gang(rng, world, a) if n in chosen else a for n, a in enumerate(world.apps)))


def _gang(rng: random.Random, world: WorldPlan, app: AppPlan) -> AppPlan:
    """What some of the nodes hold when they are empty, each a part of it: so there is a way to place it."""
    model = rng.choice(world.nodes)
    sizes = [model.cpu * share for share in rng.sample(SHARES, 2)]
    counts = [0, 0]
    for node in rng.sample(world.nodes, min(len(world.nodes), 4)):
        left = (node.cpu - node.daemon) * 0.99
        for which in rng.choices((0, 1), k=MOST):
            if sizes[which] <= left and sum(counts) < MOST and rng.random() < 0.8:
                left -= sizes[which]
                counts[which] += 1
    seconds = float(rng.choice((2, 5, 20)))
    memory = min(node.memory for node in world.nodes) / (4 * MOST)
    stages = [StagePlan(n, cpu, memory, seconds) for n, cpu in zip(counts, sizes, strict=True) if n]
    if not stages:
        return app
    return replace(
        app, stages=tuple(stages), driver=None, gang=True, strict=False, upfront=True, group="", tolerates=True
    )
