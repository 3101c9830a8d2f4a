"""Room that is kept for the first task of a driver that has just started.

It takes a driver some seconds to ask for tasks. Room that comes free meanwhile would be lent to the other pool, for as
long as the tasks there run, and the driver would hold its own for nothing. So what is lent beyond a border, and whoever
starts into room that is left over, leaves each such driver room for one task:

    its driver is on its way, or was bound less than patience ago; no task of it was ever there
    what a task of it asks for is known, and a node has room for that now
    pods of a higher priority, of whatever queue, have taken what they can; neither the app nor its queue is paused

A gang is assembled otherwise (`assembly`), and goes whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import lru_cache

from slackwater.cycle.appsize import AppFacts
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.resources import NOTHING, Resources
from slackwater.roles import Role


def first_tasks(
    snapshot: Snapshot,
    queue: Queue,
    apps: Iterable[App],
    facts: Callable[[App], AppFacts],
    gone: Collection[str] = (),
) -> list[tuple[App, PodGroup]]:
    """The apps of a queue of which the first task is still to come, and that task.

    By how much its request will be lowered nobody knows yet. `gone`: apps of which this round has released something.
    """
    young = (app for app in apps if not (queue.paused or app.paused or app.gang) and _begins(app, snapshot, gone))
    needs = ((app, next(iter(facts(app).needs), None)) for app in young)
    return [(app, _task(need.request, need.constraints)) for app, need in needs if need is not None]


@lru_cache(maxsize=1024)
def _task(request: Resources, constraints: str) -> PodGroup:
    """The first task of many apps is one and the same."""
    return PodGroup("", Role.TASK, request, native=NOTHING, constraints=constraints)


def _begins(app: App, snapshot: Snapshot, gone: Collection[str]) -> bool:
    return _driver_started(app, snapshot, gone) and not _task_seen(app)


def _driver_started(app: App, snapshot: Snapshot, gone: Collection[str]) -> bool:
    """Whether its driver was bound a moment ago, or is on its way to a node that exists."""
    drivers = [group for group in app.groups if group.driver]
    if not drivers:
        return False
    if any(group.running for group in drivers):
        return app.driver_bound is not None and snapshot.now - app.driver_bound < snapshot.patience
    return any(group.released > len(group.growing) or (group.held and app.id in gone) for group in drivers)


def _task_seen(app: App) -> bool:
    """Whether there is a task of the app, or was; of one that begins anew those that ended were of another driver."""
    tasks = app.tasks
    if any(group.alive for group in tasks):
        return True
    return any(group.finished for group in tasks) and not app.begins_anew
