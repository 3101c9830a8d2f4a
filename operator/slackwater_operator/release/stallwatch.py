"""Watches for the true stall (paper 002): tasks wait, none that could end runs where they could, and none of them goes.

Looked at ground by ground: tasks that can use other nodes do not help those that cannot. What keeps the tasks does not
matter here, be it full nodes, a closed pool or a node that is too small: where nothing runs and nothing goes, nothing
will end by itself. Tasks that run and wait for held ones of their own app (a later stage, the rest of a gang) will not
end either: a lost node or an eviction can leave them in the room of the very tasks they wait for.

And for the driver that is in the way of its own tasks: no node could take one beside the drivers there are, but one
could if that driver were elsewhere or gone. It will never get on, and others may wait for what it holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from slackwater.admission.stall import RunningPod, StallWatch, observe, stalled, victim
from slackwater.cycle.appsize import TaskNeed
from slackwater.cycle.appverdicts import describe, singular
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.feasibility import fitting, reachable
from slackwater.cycle.podline.earlystart import stuck
from slackwater.cycle.podline.readiness import led_by_driver
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster.apps.membership import app_id
from slackwater_cluster.pods.nodefit import shut
from slackwater_cluster.watch.records import PodRecord
from slackwater_operator.cache.apps.appindex import Pod
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.lastcycle import Outlook
from slackwater_operator.cache.podstate import PodState

# Drivers that are told of one stall; the rest learn it from the queue's status and the alert.
TOLD = 20


@dataclass(frozen=True, slots=True)
class Stall:
    """Apps that stand still, and whom it would help to evict."""

    queue: str
    seconds: float
    waiting: int
    victim: PodRecord | None  # the youngest one that a controller brings back, of those that lose least
    evict: bool
    words: str = ""
    told: tuple[tuple[str, PodRecord], ...] = ()  # the apps that wait, each with the pod that stands for it
    blocked: tuple[str, TaskNeed] | None = None  # the app of a driver to be evicted, and its tasks that cannot run
    ahead: tuple[str, tuple[str, ...]] | None = None  # the app of a driver to be evicted, and those that go before it


@dataclass
class StallKeeper:
    """Remembers since when the tasks of each queue that ask the same of a node do not move."""

    cache: OperatorCache
    clock: Callable[[], float]
    _watches: dict[tuple[str, str], StallWatch] = field(default_factory=dict)
    _ended: dict[tuple[str, str], int] = field(default_factory=dict)
    _blocked: dict[str, float] = field(default_factory=dict)  # apps that their own driver blocks, and since when

    def look(self, outlook: Outlook) -> list[Stall]:
        """What is stalled now. Tasks that were released count as running, those that ended as movement."""
        snapshot, now, found = outlook.snapshot, self.clock(), []
        ended: dict[tuple[str, str], int] = {}
        watches: dict[tuple[str, str], StallWatch] = {}
        for queue in snapshot.queues:
            apps = [app for app in snapshot.apps if app.queue == queue.name]
            terms = self.cache.governing.queue(queue.name).stall
            for asked, waiting in _by_constraints(apps).items():
                key = (queue.name, asked)
                near = [(app, group) for app, group in _tasks(apps) if _meet(snapshot, queue, group, asked)]
                ended[key] = sum(group.finished for _, group in near)
                watches[key] = observe(
                    self._watches.get(key, StallWatch()),
                    now,
                    running=sum(group.charged for app, group in near if not stuck(app, group)),
                    pending=sum(len(group.held) for _, group in waiting),
                    fits=bool(outlook.holding) or queue.paused or ended[key] > self._ended.get(key, 0),
                )
                if stalled(watches[key], now, terms.after_seconds):
                    seconds = now - (watches[key].since or now)
                    found.append(self._stall(outlook, queue, waiting, seconds, terms.evict_youngest_driver))
        self._watches, self._ended = watches, ended
        told = {app for stall in found for app, _ in stall.told}
        return found + [stall for stall in self._own_drivers(outlook) if not told & {app for app, _ in stall.told}]

    def _own_drivers(self, outlook: Outlook) -> list[Stall]:
        """Apps that their own driver has kept from running any task for long enough, while others wait."""
        now, before, found = self.clock(), self._blocked, list[Stall]()
        waiting = {app.id for app in outlook.snapshot.apps if any(group.held for group in app.groups)}
        blocked = _blocked(outlook) if len(waiting) > 1 else []
        self._blocked = {app.id: before.get(app.id, now) for app, _ in blocked}
        for app, task in blocked:
            seconds, terms = now - self._blocked[app.id], self.cache.governing.queue(app.queue).stall
            if seconds >= terms.after_seconds:
                found.append(self._own_driver(outlook, app, task, seconds, terms.evict_youngest_driver))
                self._blocked[app.id] = now
        return found

    def _own_driver(self, outlook: Outlook, app: App, task: TaskNeed, seconds: float, evict: bool) -> Stall:
        asked = f"a task asks for {describe(task.request)}"
        if task.together > 1:
            asked = f"{task.together} tasks that run at once ask for {describe(task.request)} each"
        words = (
            f"app {app.id} has not moved for {seconds:.0f} s: {asked}, and its own driver "
            "holds a node that they need; lower one of them, or announce the size of its tasks"
        )
        lead = self._lead(app.id)
        count = sum(len(group.held) for group in app.groups)
        told = ((app.id, lead),) if lead is not None else ()
        chosen = self._victim([app])
        return Stall(
            app.queue, seconds, count, chosen, evict, words, told, (app.id, task), (app.id, _waiting(outlook, app))
        )

    def reset(self, queue: str) -> None:
        """Something was done about it: count anew."""
        self._watches = {key: watch for key, watch in self._watches.items() if key[0] != queue}
        self._blocked = {}

    def _stall(
        self, outlook: Outlook, queue: Queue, waiting: Sequence[tuple[App, PodGroup]], seconds: float, evict: bool
    ) -> Stall:
        apps = list({app.id: app for app, _ in waiting}.values())
        count = sum(len(group.held) for _, group in waiting)
        verdict = outlook.round.verdicts.get(apps[0].id)
        why = verdict.sentence if verdict else ""
        runs = sum(group.charged for app, group in _tasks(apps) if stuck(app, group))
        others = f"what runs of them has to wait for those ({runs} tasks)" if runs else "none runs"
        words = singular(
            f"queue {queue.name} has not moved for {seconds:.0f} s: held are {count} tasks of {len(apps)} apps, and "
            f"{others}; {_room(outlook.snapshot, queue, waiting)}" + (f"; {apps[0].id}: {why}" if why else "")
        )
        leads = [(app.id, pod) for app in apps[:TOLD] if (pod := self._lead(app.id)) is not None]
        chosen = self._victim(apps)
        led = next((app for app in apps if chosen is not None and self._leads(chosen, app)), None) if evict else None
        need = DriverNodes(outlook.snapshot).unserved(led) if led is not None else None
        return Stall(
            queue.name,
            seconds,
            count,
            chosen,
            evict,
            words,
            tuple(leads),
            # Who forgets these lets the next driver in at once, where it stands in the way again: the same one is
            # given up again and again, and whom it was given up for does not get on.
            blocked=(led.id, need) if led is not None and need is not None else None,
            ahead=(led.id, _waiting(outlook, led)) if led is not None else None,
        )

    def _leads(self, chosen: PodRecord, app: App) -> bool:
        """Whether the pod is a driver of the app."""
        member = self.cache.index.member(chosen.uid)
        if member is None or app_id(chosen.namespace, member.app) != app.id:
            return False
        return Pod(chosen, member).role is Role.DRIVER

    def _lead(self, app: str) -> PodRecord | None:
        known = self.cache.views.get(app)
        return self.cache.index.pod(known.lead) if known else None

    def _victim(self, apps: Sequence[App]) -> PodRecord | None:
        """A task that waits for a stage before it, which has done nothing yet; else a driver; else one of a gang."""
        pods = self.cache.pods_of(self.cache.views[app.id] for app in apps if app.id in self.cache.views)
        waiting = [(app, group) for app, group in _tasks(apps) if stuck(app, group)]
        stages = {_place(app, group) for app, group in waiting if not app.gang}
        gangs = {_place(app, group) for app, group in waiting if app.gang}
        return (
            self._youngest(pod.record for pod in pods if _seat(pod) in stages)
            or self._youngest(pod.record for pod in pods if pod.role is Role.DRIVER)
            or self._youngest(pod.record for pod in pods if _seat(pod) in gangs)
        )

    def _youngest(self, pods: Iterable[PodRecord]) -> PodRecord | None:
        bound = {pod.uid: pod for pod in pods if self.cache.state_of(pod) is PodState.BOUND and self._frees(pod)}
        chosen = victim(
            RunningPod(uid, pod.started or pod.created, any(owner.controller for owner in pod.owners))
            for uid, pod in bound.items()
        )
        return bound[chosen.uid] if chosen else None

    def _frees(self, pod: PodRecord) -> bool:
        """Whether others could use the room of a pod: nobody can while its node is shut."""
        node = self.cache.node_requests.nodes.get(pod.node)
        return node is None or not shut(pod.constraints, node)


def _waiting(outlook: Outlook, but: App) -> tuple[str, ...]:
    """The other apps of a queue that wait and were not refused: they go before one whose driver is given up."""
    said = outlook.round.verdicts
    refused = {app for app, verdict in said.items() if verdict.refused}
    mates = (app for app in outlook.snapshot.apps if app.queue == but.queue and app.id != but.id)
    return tuple(app.id for app in mates if app.id not in refused and any(group.held for group in app.groups))


def _place(app: App, group: PodGroup) -> tuple[str, Role, str, Resources]:
    """What tells the pods of a group from others."""
    return app.id, group.role, group.stage, group.request


def _seat(pod: Pod) -> tuple[str, Role, str, Resources]:
    return app_id(pod.record.namespace, pod.member.app), pod.role, pod.member.stage, pod.record.declared


def _blocked(outlook: Outlook) -> list[tuple[App, TaskNeed]]:
    """Apps that their own driver keeps from running any task, and those tasks."""
    if outlook.holding:
        return []
    nodes = DriverNodes(outlook.snapshot)
    idle = [app for app in outlook.snapshot.apps if _idle(app)]
    return [(app, task) for app in idle if (task := nodes.in_the_way(app)) is not None]


def _idle(app: App) -> bool:
    """Whether a driver of the app runs, tasks of it wait and none runs."""
    tasks = [group for group in app.groups if group.role is not Role.DRIVER]
    leads = any(group.running for group in app.groups if group.role is Role.DRIVER)
    return leads and not app.paused and any(map(_waits, tasks)) and not any(g.charged for g in tasks)


def _waits(group: PodGroup) -> bool:
    """Whether pods of a group wait for room; what pauses was let go in vain, and waits for something else."""
    return bool(group.held) and not group.pausing


def _by_constraints(apps: Iterable[App]) -> dict[str, list[tuple[App, PodGroup]]]:
    """Groups of tasks that wait although their app has started, and for no driver of it."""
    found: dict[str, list[tuple[App, PodGroup]]] = {}
    for app in apps:
        if not app.started or app.paused or not led_by_driver(app):
            continue
        for group in app.groups:
            if group.role is not Role.DRIVER and _waits(group):
                found.setdefault(group.constraints, []).append((app, group))
    return found


def _tasks(apps: Iterable[App]) -> Iterable[tuple[App, PodGroup]]:
    return ((app, group) for app in apps for group in app.groups if group.role is not Role.DRIVER)


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
