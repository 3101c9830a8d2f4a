"""Which tasks a master may ask for, and when a task that fetches its parents' output can end."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slackwater.errors import CyclicGraph, UnknownName
from slackwater_simulator.worlds.yarn.locality import Locality
from slackwater_simulator.worlds.yarn.model import App, Container, Request

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from slackwater_simulator.workload.workload import Job


def build(app: App, rounded: Callable[[tuple[float, ...]], tuple[float, ...]], places: Mapping[str, int]) -> None:
    """Give the application one request per stage, linked to its parents, in an order that puts parents first."""
    made: dict[str, Request] = {}
    stages = app.job.stages
    for index, stage in enumerate(stages):
        request = Request(app, index, stage, rounded(stage.request), len(stage.durations))
        if stage.hosts and any(stage.hosts):
            request.locality = Locality(stage.hosts, places)
        made[stage.name] = request
    app.requests = list(made.values())
    if len(stages) > 1 or (stages and stages[0].parents):
        for request in app.requests:
            _link(request, made)
        app.requests = _ordered(app.job, app.requests)
    app.waiting = [request for request in app.requests if request.total]
    app.left = len(app.waiting)


def _link(request: Request, made: Mapping[str, Request]) -> None:
    assert request.stage is not None  # noqa: S101 - only the driver has none, and it is not in `made`
    for name in request.stage.parents:
        if name not in made:
            raise UnknownName(f"stage {request.stage.name}: parents", name, made)
        request.parents = [*request.parents, made[name]]
        made[name].children = [*made[name].children, request]


def _ordered(job: Job, requests: list[Request]) -> list[Request]:
    """Parents before children, otherwise as written; each learns its level, the longest way to it from a root."""
    ordered: list[Request] = []
    placed: set[int] = set()
    left = requests
    level = 0
    while left:
        ready = [request for request in left if all(id(parent) in placed for parent in request.parents)]
        if not ready:
            raise CyclicGraph(f"job {job.id}: stages", [str(request.index) for request in left])
        for request in ready:
            request.level = level
        level += 1
        ordered += ready
        placed.update(id(request) for request in ready)
        left = [request for request in left if id(request) not in placed]
    return ordered


def askable(request: Request) -> int:
    """How many of the stage's tasks may have been asked for by now.

    Slow-start: none before `start_after` of every parent's tasks are seen done. A ramping stage then asks for
    floor(done share × n), and for all once its parents hold or have held a container for every task (paper 001).
    """
    share = 1.0
    for parent in request.parents:
        if parent.seen < parent.total:
            share = min(share, parent.seen / parent.total)
    if share >= 1.0:
        return request.total
    stage = request.stage
    hungry = any(parent.asked < parent.total or parent.pending for parent in request.parents)
    request.barred = request.barred and hungry
    if request.barred or stage is None or share < stage.start_after or stage.start_after >= 1.0:
        return 0
    if stage.ramp and hungry:
        return math.floor(share * request.total)
    return request.total


def fetchable(request: Request) -> bool:
    """Whether the parents' whole output exists."""
    return all(parent.done >= parent.total for parent in request.parents)


def run_end(container: Container) -> float:
    """When a started task ends: max(start + shuffle, last parent's end) + duration."""
    request = container.request
    stage = request.stage
    duration = request.durations[container.task]
    if stage is None or not request.parents:
        return container.start + duration
    parents = max(parent.last_done for parent in request.parents)
    return max(container.start + stage.shuffle, parents) + duration
