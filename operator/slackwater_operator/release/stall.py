"""Watches each queue for the true stall (paper 002): no task runs, some wait, none of them fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from slackwater.admission.stall import RunningDriver, StallWatch, observe, stalled, victim
from slackwater.cycle.snapshot import Snapshot
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster.watch.records import PodRecord
from slackwater_operator.cache.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.podstate import PodState


@dataclass(frozen=True, slots=True)
class Stall:
    """A queue that stands still, and whom it would help to evict."""

    queue: str
    seconds: float
    waiting: int
    driver: PodRecord | None  # the youngest one that a controller brings back
    evict: bool


@dataclass
class StallKeeper:
    """Remembers since when each queue does not move."""

    assembly: OperatorCache
    clock: Callable[[], float]
    _watches: dict[str, StallWatch] = field(default_factory=dict)

    def look(self, snapshot: Snapshot, *, moving: bool) -> list[Stall]:
        """Queues that are stalled now. `moving`: pods were released or are on their way."""
        now = self.clock()
        members: dict[str, list[AppView]] = {}
        for each in self.assembly.portraits.values():
            members.setdefault(self.assembly.governing.queue_of(each.namespace), []).append(each)
        found = []
        for queue in snapshot.queues:
            apps = members.get(queue.name, [])
            watch = observe(
                self._watches.get(queue.name, StallWatch()),
                now,
                running=sum(_running(each) for each in apps),
                pending=sum(_pending(each) for each in apps),
                fits=moving or queue.paused or _fits(apps, queue.free),
            )
            self._watches[queue.name] = watch
            terms = self.assembly.governing.queue(queue.name).stall
            if stalled(watch, now, terms.after_seconds):
                found.append(self._stall(queue.name, apps, now - (watch.since or now), terms.evict_youngest_driver))
        return found

    def reset(self, queue: str) -> None:
        """Something was done about it: count anew."""
        self._watches[queue] = StallWatch()

    def _stall(self, queue: str, apps: Iterable[AppView], seconds: float, evict: bool) -> Stall:
        apps = list(apps)
        return Stall(queue, seconds, sum(_pending(each) for each in apps), self._victim(apps), evict)

    def _victim(self, apps: Iterable[AppView]) -> PodRecord | None:
        pods = {pod.uid: pod for pod in self.assembly.drivers(apps) if self.assembly.state_of(pod) is PodState.BOUND}
        chosen = victim(
            RunningDriver(uid, pod.started or pod.created, any(owner.controller for owner in pod.owners))
            for uid, pod in pods.items()
        )
        return pods[chosen.uid] if chosen else None


def _running(each: AppView) -> int:
    return sum(group.charged for group in each.groups if group.role is not Role.DRIVER)


def _pending(each: AppView) -> int:
    """Tasks that wait although their app has started."""
    if not each.started:
        return 0
    return sum(len(group.held) for group in each.groups if group.role is not Role.DRIVER)


def _fits(apps: Iterable[AppView], free: Resources) -> bool:
    return any(
        group.request.fits(free)
        for each in apps
        if each.started
        for group in each.groups
        if group.held and group.role is not Role.DRIVER
    )
