"""May this group go now, were there room for it? What its queue, its app and the group itself say, in one place.

    app or queue     paused; or the queue is draining and the app has not started
    group            a release of it came to nothing a moment ago, or placement found no node for it
    a driver         of a gang that has not started: the gang is not complete
    a task           no driver of its app runs; its gang is not complete, or a part of it stands aside as above;
                     the stages before it are not placed

Room, pools, budget and window are no part of this: they are for the round to weigh.
"""

from __future__ import annotations

from typing import NamedTuple

from slackwater.cycle.appstarts.impossible import incomplete
from slackwater.cycle.appverdicts import WaitReason
from slackwater.cycle.podline.earlystart import startable
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot


class Readiness(NamedTuple):
    """Held pods of one group."""

    pods: int  # so many the stages of its app let go
    reason: WaitReason | None = None  # what keeps them all the same, or keeps all of them; None: nothing but room


_NO_PODS = Readiness(0)


def readiness(app: App, queue: Queue) -> list[Readiness]:
    """Of each group of an app, in their order; nothing is said of one that holds no pod."""
    closed, tasks = _closed(app, queue), _tasks_wait_for(app)
    return [
        _of(app, group, closed or _waits_for(app, group, tasks)) if group.held else _NO_PODS for group in app.groups
    ]


def lacking_room(app: App, queue: Queue) -> list[PodGroup]:
    """The groups that lack nothing but room: those that may go now, and those for which placement found no node."""
    told = zip(app.groups, readiness(app, queue), strict=True)
    return [group for group, ready in told if ready.pods and ready.reason in (None, WaitReason.UNPLACED)]


def helped_by_room(app: App, queue: Queue, snapshot: Snapshot) -> bool:
    """Whether room could let a task of a started app go, at the latest once what is before it has gone or ended.

    Drivers leave room for such tasks, and for those to come. It would lie idle for an app that is paused, and for a
    gang whose missing pods have not come in patience.
    """
    if _closed(app, queue) is not None:
        return False
    reasons = {
        ready.reason
        for group, ready in zip(app.groups, readiness(app, queue), strict=True)
        if group.held and not group.driver
    }
    return reasons != {WaitReason.GANG} or not 0 < snapshot.patience <= snapshot.now - app.waits_since


def led_by_driver(app: App) -> bool:
    """Head before workers: tasks wait until a driver of their app is bound (Ray's workers, Spark's executors).

    Once every driver has finished nobody is left to wait for, and what it left behind goes.
    """
    drivers = [group for group in app.groups if group.driver]
    if not drivers:
        return not app.has_driver
    return all(group.ended for group in drivers) or any(group.running for group in drivers)


def _closed(app: App, queue: Queue) -> WaitReason | None:
    """What keeps all of an app."""
    if app.paused or queue.paused:
        return WaitReason.PAUSED
    return WaitReason.DRAINING if queue.draining and not app.started else None


def _tasks_wait_for(app: App) -> WaitReason | None:
    """What keeps all tasks of an app: looked at once, whatever the number of its groups."""
    if not led_by_driver(app):
        return WaitReason.DRIVER
    if not app.gang:
        return None
    if incomplete(app) is not None:
        return WaitReason.GANG
    # The others would go without those that stand aside.
    aside = {stands_aside(group) for group in app.groups if group.held and not group.driver}
    return next((reason for reason in (WaitReason.NOT_BOUND, WaitReason.UNPLACED) if reason in aside), None)


def _waits_for(app: App, group: PodGroup, tasks: WaitReason | None) -> WaitReason | None:
    """What keeps a group; `tasks` is what keeps all tasks of its app. A gang of which a part pauses pauses."""
    if not group.driver and tasks is WaitReason.NOT_BOUND:
        return tasks
    if (aside := stands_aside(group)) is not None:
        return aside
    if not group.driver:
        return tasks
    return WaitReason.GANG if not app.started and incomplete(app) is not None else None


def stands_aside(group: PodGroup) -> WaitReason | None:
    """Why it is left out for now, and would only take the turn of others."""
    if group.pausing:
        return WaitReason.NOT_BOUND
    return WaitReason.UNPLACED if group.unplaceable else None


def _of(app: App, group: PodGroup, reason: WaitReason | None) -> Readiness:
    pods = startable(app, group)
    return Readiness(pods, reason if pods or reason is not None else WaitReason.PARENTS)
