"""Which pod to give up so that a stall ends, and what is to be remembered of the app whose driver it is.

The one that loses least: a task that waits for a stage before it has done nothing yet; else a driver; else one of a
gang. Of those the youngest that a controller brings back (`admission.stall.victim`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slackwater.admission.stall import RunningPod, victim
from slackwater.cycle.appsize import TaskNeed
from slackwater.cycle.appverdicts import Verdict
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.podline.earlystart import stuck
from slackwater.cycle.snapshot import App, PodGroup, Snapshot
from slackwater.cycle.stalls.detection import Stall, tasks
from slackwater.cycle.stalls.sharednodes import beside
from slackwater.resources import Resources
from slackwater.roles import Role


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod on a node whose room others could use, and what it is to its app."""

    pod: RunningPod
    app: str
    role: Role
    stage: str
    request: Resources  # declared

    @property
    def place(self) -> tuple[str, Role, str, Resources]:
        """What tells the pods of a group from others."""
        return self.app, self.role, self.stage, self.request


@dataclass(frozen=True, slots=True)
class Eviction:
    """A pod that has to go, and what has to be remembered if it is a driver.

    Who forgets this lets the next driver in at once, where it stands in the way again: the same one is given up again
    and again, and whom it was given up for does not get on.
    """

    uid: str
    blocked: tuple[str, TaskNeed] | None = None  # its app, and the tasks of it that cannot run
    ahead: tuple[str, tuple[str, ...]] | None = None  # its app, and those that go before it


def choose(
    stall: Stall, snapshot: Snapshot, verdicts: Mapping[str, Verdict], pods: Sequence[BoundPod]
) -> Eviction | None:
    """Whom of the pods of its apps it would help most to evict; None: nobody may be."""
    chosen = _least_loss(stall.apps, pods)
    if chosen is None:
        return None
    app = _driven(stall, chosen)
    if app is None:
        return Eviction(chosen.pod.uid)
    need = DriverNodes(snapshot).unserved(app) if stall.need is None else stall.need
    blocked = (app.id, need) if need is not None else None
    return Eviction(chosen.pod.uid, blocked, ahead=(app.id, _waiting(snapshot, verdicts, app)))


def _driven(stall: Stall, chosen: BoundPod) -> App | None:
    """The app whose driver has to go; None: a task has to."""
    if stall.need is not None:
        return stall.apps[0]
    return next((app for app in stall.apps if chosen.role is Role.DRIVER and app.id == chosen.app), None)


def _least_loss(apps: Sequence[App], pods: Sequence[BoundPod]) -> BoundPod | None:
    waiting = [(app, group) for app, group in tasks(apps) if stuck(app, group)]
    stages = {_place(app, group) for app, group in waiting if not app.gang}
    gangs = {_place(app, group) for app, group in waiting if app.gang}
    return (
        _youngest([pod for pod in pods if pod.place in stages])
        or _youngest([pod for pod in pods if pod.role is Role.DRIVER])
        or _youngest([pod for pod in pods if pod.place in gangs])
    )


def _place(app: App, group: PodGroup) -> tuple[str, Role, str, Resources]:
    return app.id, group.role, group.stage, group.request


def _youngest(pods: Sequence[BoundPod]) -> BoundPod | None:
    chosen = victim(each.pod for each in pods)
    return next((each for each in pods if each.pod is chosen), None)


def _waiting(snapshot: Snapshot, verdicts: Mapping[str, Verdict], but: App) -> tuple[str, ...]:
    """Other apps that wait and were not refused: they go before one whose driver is given up.

    All of its queue, and of others those that stand still on the same nodes.
    """
    refused = {app for app, verdict in verdicts.items() if verdict.refused}
    mates = [app for app in snapshot.apps if app.queue == but.queue and app.id != but.id and app.waits]
    return tuple(app.id for app in (*mates, *beside(snapshot, but)) if app.id not in refused)
