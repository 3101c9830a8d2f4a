"""Room that is kept for the first task of a driver that has just started.

It takes a driver some seconds to ask for tasks. Room that comes free meanwhile would be lent to the other pool, for as
long as the tasks there run, and the driver would hold its own for nothing. So what is lent beyond a border, and whoever
starts into room that is left over, leaves each such driver room for one task:

    its driver is on its way, or was bound less than patience ago; no task of it was ever there
    what a task of it asks for is known, and a node has room for that now
    nobody of a higher priority waits

A gang is assembled otherwise (`assembly`), and goes whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from slackwater.cycle.appsize import AppFacts
from slackwater.cycle.snapshot import App, PodGroup
from slackwater.resources import NOTHING
from slackwater.roles import Role


def awaiting(apps: Collection[App], now: float, patience: float, gone: Collection[str] = ()) -> Iterator[App]:
    """The apps of which the first task is still to come. `gone`: those of which this round has released something."""
    urgent = max((app.priority for app in apps if app.held_pods), default=0)
    for app in apps:
        if app.priority >= urgent and not app.gang and _led(app, now, patience, gone) and not _had_tasks(app):
            yield app


def first_tasks(facts: Iterable[AppFacts]) -> list[PodGroup]:
    """One task of each app that says how large it is; by how much its request will be lowered nobody knows yet."""
    needs = [next(iter(each.needs), None) for each in facts]
    return [
        PodGroup("", Role.TASK, need.request, native=NOTHING, constraints=need.constraints) for need in needs if need
    ]


def _led(app: App, now: float, patience: float, gone: Collection[str]) -> bool:
    drivers = [group for group in app.groups if group.driver]
    if any(group.running for group in drivers):
        return app.driver_bound is not None and now - app.driver_bound < patience
    return any(group.released or (group.held and app.id in gone) for group in drivers)


def _had_tasks(app: App) -> bool:
    tasks = (group for group in app.groups if not group.driver)
    return any(group.held or group.blocked or group.charged or group.finished for group in tasks)
