"""Detects the true stall (paper 002): tasks wait, none that could end runs where they could, and none of them goes.

Looked at ground by ground: tasks that can use other nodes do not help those that cannot. What keeps the tasks does not
matter here, be it full nodes, a closed pool or a node that is too small: where nothing runs and nothing goes, nothing
will end by itself. Tasks that run and wait for held ones of their own app (a later stage, the rest of a gang) will not
end either: a lost node or an eviction can leave them in the room of the very tasks they wait for. What was let go so
that a machine is added, and waited in vain for one, waits like what is held.

And the driver that is in the way of its own tasks: no node could take one beside the drivers there are, but one
could if that driver were elsewhere or gone. It will never get on, and others may wait for what it holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from slackwater.admission.stall import PATIENCE_SECONDS, StallWatch, observe, stalled
from slackwater.cycle.appsize import TaskNeed
from slackwater.cycle.appverdicts import Verdict, describe, singular
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.feasibility import fitting, reachable
from slackwater.cycle.podline.earlystart import stuck
from slackwater.cycle.podline.readiness import led_by_driver
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot

# Apps that are told of one stall; the rest learn it from the queue's status and the alert.
TOLD = 20


@dataclass(frozen=True, slots=True)
class Stall:
    """Apps that stand still."""

    queue: str
    seconds: float
    waiting: int  # tasks
    apps: tuple[App, ...]
    words: str
    need: TaskNeed | None = None  # tasks of the one app, if its own driver is in their way

    @property
    def told(self) -> tuple[str, ...]:
        """The apps that are told of it."""
        return tuple(app.id for app in self.apps[:TOLD])


@dataclass(frozen=True, slots=True)
class StallHistory:
    """What was seen so far, by queue and by what its waiting tasks ask of a node."""

    watches: Mapping[tuple[str, str], StallWatch] = field(default_factory=dict)  # since when nothing moves
    ended: Mapping[tuple[str, str], int] = field(default_factory=dict)  # tasks that had ended
    # Apps that their own driver blocks, by queue and name, and since when.
    blocked: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def reset(self, queue: str) -> StallHistory:
        """Something was done about a stall of the queue: count anew."""
        kept = {key: watch for key, watch in self.watches.items() if key[0] != queue}
        blocked = {key: since for key, since in self.blocked.items() if key[0] != queue}
        return replace(self, watches=kept, blocked=blocked)


def detect(
    history: StallHistory,
    snapshot: Snapshot,
    verdicts: Mapping[str, Verdict],
    now: float,
    patience: Mapping[str, float],
    *,
    holding: bool = False,
) -> tuple[StallHistory, list[Stall]]:
    """What is stalled now. Tasks that were released count as running, those that ended as movement.

    `patience` has the seconds of each queue after which it is a stall. `holding`: nothing at all is released now.
    """
    found: list[Stall] = []
    ended: dict[tuple[str, str], int] = {}
    watches: dict[tuple[str, str], StallWatch] = {}
    for queue in snapshot.queues:
        apps = [app for app in snapshot.apps if app.queue == queue.name]
        for asked, waiting in _by_constraints(apps).items():
            key = (queue.name, asked)
            near = [(app, group) for app, group in tasks(apps) if _meet(snapshot, queue, group, asked)]
            ended[key] = sum(group.finished for _, group in near)
            watch = watches[key] = observe(
                history.watches.get(key, StallWatch()),
                now,
                running=sum(group.on_nodes for app, group in near if not stuck(app, group)),
                pending=sum(group.unserved for _, group in waiting),
                fits=holding or queue.paused or ended[key] > history.ended.get(key, 0),
            )
            if watch.since is not None and stalled(watch, now, patience.get(queue.name, PATIENCE_SECONDS)):
                found.append(_stall(snapshot, verdicts, queue, waiting, now - watch.since))
    told = {app for stall in found for app in stall.told}
    since, alone = _own_drivers(history.blocked, [] if holding else _blocked(snapshot), now, patience)
    return StallHistory(watches, ended, since), found + [stall for stall in alone if not told & set(stall.told)]


def tasks(apps: Iterable[App]) -> Iterator[tuple[App, PodGroup]]:
    """The groups of apps that are no drivers."""
    return ((app, group) for app in apps for group in app.groups if not group.driver)


def _stall(
    snapshot: Snapshot,
    verdicts: Mapping[str, Verdict],
    queue: Queue,
    waiting: Sequence[tuple[App, PodGroup]],
    seconds: float,
) -> Stall:
    apps = tuple({app.id: app for app, _ in waiting}.values())
    count, asking = sum(group.unserved for _, group in waiting), sum(group.growing_in_vain for _, group in waiting)
    first = next((app for app in apps if app.held_pods), None)
    verdict = verdicts.get(first.id) if first else None
    why = f"; {verdict.app}: {verdict.sentence}" if verdict and verdict.sentence else ""
    runs = sum(group.on_nodes for app, group in tasks(apps) if stuck(app, group))
    others = f"what runs of them has to wait for those ({runs} tasks)" if runs else "none runs"
    kept = "held, or waiting in vain for a machine, are" if asking else "held are"
    words = singular(
        f"queue {queue.name} has not moved for {seconds:.0f} s: {kept} {count} tasks of {len(apps)} apps, and "
        f"{others}; {_room(snapshot, queue, waiting)}{why}"
    )
    return Stall(queue.name, seconds, count, apps, words)


def _own_drivers(
    before: Mapping[tuple[str, str], float],
    blocked: Sequence[tuple[App, TaskNeed]],
    now: float,
    patience: Mapping[str, float],
) -> tuple[dict[tuple[str, str], float], list[Stall]]:
    """Since when their own drivers block apps, and those of them that it has kept from any task for long enough."""
    since = {(app.queue, app.id): before.get((app.queue, app.id), now) for app, _ in blocked}
    found: list[Stall] = []
    for app, need in blocked:
        seconds = now - since[app.queue, app.id]
        if seconds >= patience.get(app.queue, PATIENCE_SECONDS):
            found.append(_own_driver(app, need, seconds))
            since[app.queue, app.id] = now
    return since, found


def _own_driver(app: App, need: TaskNeed, seconds: float) -> Stall:
    asked = f"a task asks for {describe(need.request)}"
    if need.together > 1:
        asked = f"{need.together} tasks that run at once ask for {describe(need.request)} each"
    words = (
        f"app {app.id} has not moved for {seconds:.0f} s: {asked}, and its own driver "
        "holds a node that they need; lower one of them, or announce the size of its tasks"
    )
    return Stall(app.queue, seconds, app.held_pods, (app,), words, need)


def _blocked(snapshot: Snapshot) -> list[tuple[App, TaskNeed]]:
    """Apps that their own driver keeps from running any task, and those tasks, while others wait too."""
    if sum(app.waits for app in snapshot.apps) <= 1:
        return []
    nodes = DriverNodes(snapshot)
    idle = [app for app in snapshot.apps if _idle(app)]
    return [(app, need) for app in idle if (need := nodes.in_the_way(app)) is not None]


def _idle(app: App) -> bool:
    """Whether a driver of the app runs, tasks of it wait and none runs."""
    leads = any(group.running for group in app.groups if group.driver)
    return leads and not app.paused and stands_still(app)


def stands_still(app: App) -> bool:
    """Whether tasks of an app wait, and none is on a node."""
    own = [group for _, group in tasks([app])]
    return any(group.unserved for group in own) and not any(group.on_nodes for group in own)


def _by_constraints(apps: Iterable[App]) -> dict[str, list[tuple[App, PodGroup]]]:
    """Groups of tasks that wait although their app has started, and for no driver of it."""
    found: dict[str, list[tuple[App, PodGroup]]] = {}
    for app, group in tasks(app for app in apps if app.started and not app.paused and led_by_driver(app)):
        if group.unserved:
            found.setdefault(group.constraints, []).append((app, group))
    return found


def _meet(snapshot: Snapshot, queue: Queue, group: PodGroup, constraints: str) -> bool:
    """Whether a running group may sit on nodes that the waiting ones can use."""
    if group.constraints == constraints or snapshot.nodes is None:
        return True
    theirs = reachable(snapshot, queue, group.constraints)
    its = snapshot.reach.get(constraints)
    return theirs is None or its is None or bool((theirs & its).any())


def _room(snapshot: Snapshot, queue: Queue, waiting: Iterable[tuple[App, PodGroup]]) -> str:
    """Whether a node has room, looked at one by one."""
    masks = [(fitting(snapshot, queue, group), reachable(snapshot, queue, group.constraints)) for _, group in waiting]
    if any(fits is not None and fits.any() for fits, _ in masks):
        return "a node they can use has room for one of them"
    reached = max((int(rows.sum()) for _, rows in masks if rows is not None), default=0)
    return f"no node of the {reached} that they can use has room for one of them"
