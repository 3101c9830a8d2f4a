"""Groups of held pods that may go now, and the pods that were picked of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from slackwater.cycle.snapshot import App, PodGroup, Queue, taken_sums
from slackwater.pools.pools import Category
from slackwater.resources import Resources


class ReleaseCandidate(NamedTuple):
    """A group of equal pods that may go now, if there is room."""

    app: App
    group: PodGroup
    category: Category
    slots: float  # what one of its pods takes from the pool; 0 where no pool guards the queue
    shape: int  # the number of its shape among the nodes' rooms
    pods: int  # so many of its held pods may go


class Pick(NamedTuple):
    """One pod whose turn it is, with what made it so."""

    candidate: ReleaseCandidate
    uid: str
    urgency: float
    alignment: float
    avoid: tuple[str, ...] = ()  # nodes that it must not be placed on …
    spare: tuple[str, ...] = ()  # … but for these of them, if no other has the memory that its likes came to use
    node: str = ""  # of a gang: where it fits beside the others


class RequestShape(NamedTuple):
    """What one pod of a row takes: of the queue's room, and of which pool how many slots. Rows are many, shapes few."""

    request: Resources
    slots: float
    category: Category
    node: int
    driver: str = ""  # its app, if it is a driver: other nodes may be barred to it than to others alike


def is_first_task(candidate: ReleaseCandidate) -> bool:
    """Whether it would be the first task of an app whose driver runs."""
    app = candidate.app
    if candidate.group.driver or not app.has_driver:
        return False
    return not any(group.charged for group in app.groups if not group.driver)


def shape_of(candidate: ReleaseCandidate) -> tuple[Resources, float, Category, int, str]:
    """What one pod of the group takes, as a plain tuple: one is made for each row."""
    driver = candidate.app.id if candidate.group.driver else ""
    return candidate.group.request, candidate.slots, candidate.category, candidate.shape, driver


def lined_up(
    candidates: Sequence[ReleaseCandidate], held: Mapping[str, float], overdue: float
) -> list[ReleaseCandidate]:
    """In their order among equals: tasks by what those of their app hold, drivers and all others by submission.

    A driver that comes again while its tasks run would otherwise stand behind every new one; and so would, for ever,
    tasks of an app of which one never ends. So an app that got nothing since `overdue` counts as if it held nothing.
    """
    apps = {each.app.id: each.app for each in candidates}
    unserved = {name for name, app in apps.items() if app.unserved_since < overdue}

    def place(each: ReleaseCandidate) -> tuple[float, float, str, str]:
        first = each.group.driver or each.app.id in unserved
        return 0.0 if first else held.get(each.app.id, 0.0), each.app.submitted, each.app.id, each.group.key

    return sorted(candidates, key=place)


def task_shares(candidates: Iterable[ReleaseCandidate], queue: Queue) -> dict[str, float]:
    """By app of the candidates, the dominant share of the queue that its tasks hold: that run or are on their way."""
    apps = {each.app.id: each.app for each in candidates}
    return {name: queue.fair_share(app.namespace, _taken_by_tasks(app)) for name, app in apps.items()}


def _taken_by_tasks(app: App) -> dict[str, float]:
    return taken_sums([group for group in app.groups if not group.driver])
