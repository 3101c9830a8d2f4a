"""A smaller world with the same failure: leave out apps, nodes, troubles and tasks for as long as it still fails."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from support.search.plan import AppPlan, QueuePlan, WorldPlan
from support.search.play import play

T = TypeVar("T")
MOST = 400  # worlds tried


def shrunk(plan: WorldPlan, kind: str, loop: asyncio.AbstractEventLoop | None = None) -> WorldPlan:
    """The smallest world found that fails in the same way."""
    return smallest(plan, _smaller, lambda each: kind in {failure.kind for failure in play(each, loop).failures})


def smallest(world: T, smaller: Callable[[T], Iterator[T]], fails: Callable[[T], bool]) -> T:
    """The smallest of the worlds that still fail, one step after the other."""
    tries = 0
    better = True
    while better and tries < MOST:
        better = False
        for each in smaller(world):
            tries += 1
            if fails(each):
                world, better = each, True
                break
            if tries >= MOST:
                break
    return world


def _smaller(plan: WorldPlan) -> Iterator[WorldPlan]:
    """Worlds that are simpler by one thing, the largest steps first."""
    if len(plan.apps) > 1:
        yield from (_of(plan, rest) for rest in without_one(plan.apps))
    if len(plan.nodes) > 1:
        yield from (replace(plan, nodes=rest) for rest in without_one(plan.nodes))
    yield from (replace(plan, troubles=rest) for rest in without_one(plan.troubles))
    yield from (replace(plan, visitors=rest) for rest in without_one(plan.visitors))
    if plan.grace:
        yield replace(plan, grace=0.0)
    if plan.operator_lag or plan.extender_lag or plan.start_lag:
        yield replace(plan, operator_lag=0.0, extender_lag=0.0, start_lag=0.0)
    if len(plan.queues) > 1:
        yield replace(plan, queues=(QueuePlan("default", pooled=any(queue.pooled for queue in plan.queues)),))
    for number, app in enumerate(plan.apps):
        for simpler in _simpler(app):
            yield replace(plan, apps=(*plan.apps[:number], simpler, *plan.apps[number + 1 :]))
    for number, node in enumerate(plan.nodes):
        for bare in (replace(node, daemon=0.0), replace(node, late=0.0), replace(node, gpus=0)):
            if bare != node:
                yield replace(plan, nodes=(*plan.nodes[:number], bare, *plan.nodes[number + 1 :]))


def _of(plan: WorldPlan, apps: tuple[AppPlan, ...]) -> WorldPlan:
    """The world with these apps alone: nobody deletes pods of others."""
    there = {"", *(f"{app.namespace}/{app.name}" for app in apps)}
    return replace(plan, apps=apps, troubles=tuple(each for each in plan.troubles if each.app in there))


def _simpler(app: AppPlan) -> Iterator[AppPlan]:
    if len(app.stages) > 1:
        yield from (replace(app, stages=rest) for rest in without_one(app.stages))
    for number, stage in enumerate(app.stages):
        for tasks in sorted({1, stage.tasks // 2, stage.tasks - 1} - {0, stage.tasks}):
            less = replace(stage, tasks=tasks)
            yield replace(app, stages=(*app.stages[:number], less, *app.stages[number + 1 :]))
        if stage.gpus:
            without = replace(stage, gpus=0)
            yield replace(app, stages=(*app.stages[:number], without, *app.stages[number + 1 :]))
    if app.cancelled:
        yield replace(app, cancelled=0.0)
    if app.driver and not app.gang:
        yield replace(app, driver=None)
    if app.at:
        yield replace(app, at=0.0)
    plain = replace(app, strict=False, upfront=False, announces=False, ramp=False, group="", tolerates=False)
    if plain != app:
        yield plain


def without_one(items: tuple[T, ...]) -> Iterator[tuple[T, ...]]:
    """Each of them left out once."""
    return ((*items[:at], *items[at + 1 :]) for at in range(len(items)))
