"""How large an app is: its driver, one task, and the slots of a pool that it takes or will take."""

from __future__ import annotations

from slackwater.pools import Category, classify, slots
from slackwater.resources import NOTHING, Resources
from slackwater.snapshot import App, Pool, Role


def category(app: App, pool: Pool | None) -> Category:
    """The app's class: what it was given once, else by its demand; an unknown size counts as large."""
    if app.category is not None:
        return app.category
    if pool is None or app.demand is None:
        return Category.LARGE
    return classify(app.demand, pool.nominal, pool.theta)


def driver_size(app: App) -> Resources:
    """What the app's drivers declare together; nothing where it has none."""
    size = NOTHING
    for group in app.groups:
        if group.role is Role.DRIVER:
            size = size + group.request * max(1, len(group.held) + group.charged)
    return size


def task_size(app: App) -> Resources:
    """What one task declares: the largest of the groups that exist, else what the app announced."""
    size = app.task_request or NOTHING
    for group in app.groups:
        if group.role is not Role.DRIVER:
            size = size.at_least(group.request)
    return size


def charged_slots(app: App, pool: Pool) -> float:
    """Slots its released and running pods take."""
    return sum(slots(group.request, pool.slot) * group.charged for group in app.groups)


def held_slots(app: App, pool: Pool) -> float:
    """Slots its held pods would take."""
    return sum(slots(group.request, pool.slot) * len(group.held) for group in app.groups)


def committed(app: App, pool: Pool | None) -> float:
    """Slots a started app occupies: what it has, and what it was let in for and will still ask for.

    A driver starts before its tasks exist; without the commitment the next app would be let in on the same slots.
    """
    if pool is None:
        return 0.0
    has = charged_slots(app, pool)
    if app.demand is None:
        return has
    return max(has, min(app.demand, _to_come(app, pool)))


def _to_come(app: App, pool: Pool) -> float:
    """Slots of all pods that are not finished. A driver app whose tasks do not exist yet counts its whole demand."""
    tasks = [group for group in app.groups if group.role is not Role.DRIVER]
    if app.has_driver and not tasks:
        return app.demand or 0.0
    return sum(slots(group.request, pool.slot) * (group.total - group.finished) for group in app.groups)
