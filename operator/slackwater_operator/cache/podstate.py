"""Where a managed pod stands between its creation and its end.

    held ──release──► released ──bind──► bound ──► done
                         │  ▲
                  timeout│  │released again
                         ▼  │
                        parked          blocked: somebody else's gate holds it too

A pod is charged from its release on. What the watch shows lags behind what was just written, so releases in flight are
remembered here and count at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum

from slackwater_cluster import names
from slackwater_cluster.objects.records import PodRecord

UNSCHEDULABLE = "Unschedulable"  # kube-scheduler's reason for a pod that it found no node for


class PodState(StrEnum):
    """What may be done with a pod."""

    HELD = "held"
    BLOCKED = "blocked"
    RELEASED = "released"
    PARKED = "parked"
    STRANDED = "stranded"  # released, not bound in time, and the API server refuses to park it
    BOUND = "bound"
    DONE = "done"
    FOREIGN = "foreign"  # waits for another scheduler: not ours to hold or to move
    WITHDRAWN = "withdrawn"  # deleted before it had a node: it never ran and never will, and is not there any more


@dataclass(frozen=True, slots=True)
class InFlight:
    """A release that has not become a bind yet."""

    since: float  # when it was released, or first seen so after a restart
    node: str = ""  # the node it was nominated to; "" where it searches by itself
    seen: bool = False  # the watch has shown the pod without gate and mark
    tried: float = 0.0  # when its nomination was last looked at
    nodes: int = 0  # how often a node that had room for it was refused by the scheduler
    unasked: bool = False  # it came without a gate, or somebody else lifted it: nobody has seen room for it
    growth: bool = False  # released although no node has room, for an autoscaler to see
    stranded: bool = False  # it could not be parked: nobody waits for it


@dataclass(slots=True)
class InFlightPods:
    """All releases under way, by uid."""

    _by_uid: dict[str, InFlight] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._by_uid)

    def __contains__(self, uid: object) -> bool:
        return uid in self._by_uid

    def get(self, uid: str) -> InFlight | None:
        """The release of a pod, if it is under way."""
        return self._by_uid.get(uid)

    def begin(self, uid: str, now: float, node: str, *, growth: bool = False) -> None:
        """Charge a pod from now on, before anything is written: a crash in between costs a timeout, not a deadlock."""
        self._by_uid[uid] = InFlight(now, node, growth=growth, tried=now)

    def restart(self, uid: str, now: float) -> None:
        """The writes of a release begin, after it waited for others."""
        if (on_its_way := self._by_uid.get(uid)) is not None and not on_its_way.seen:
            self._by_uid[uid] = replace(on_its_way, since=now, tried=now)

    def towards_growth(self, uid: str) -> None:
        """A release that a leader before us wrote for an autoscaler to see."""
        if (on_its_way := self._by_uid.get(uid)) is not None and not on_its_way.node:
            self._by_uid[uid] = replace(on_its_way, growth=True)

    def moved(self, uid: str, now: float, node: str) -> None:
        """Another node was named, or none. A growth pod that has its node is from then on one like others."""
        on_its_way = self._by_uid.get(uid)
        if on_its_way is None:
            return
        arrived = on_its_way.growth and bool(node)
        since = now if arrived else on_its_way.since
        nodes = on_its_way.nodes + bool(on_its_way.node)
        self._by_uid[uid] = replace(
            on_its_way, node=node, tried=now, since=since, nodes=nodes, growth=on_its_way.growth and not arrived
        )

    def strand(self, uid: str, now: float) -> None:
        """A pod could not be parked: its time begins anew, without a node and without a place in the window."""
        if (on_its_way := self._by_uid.get(uid)) is not None:
            self._by_uid[uid] = replace(on_its_way, since=now, tried=now, node="", nodes=0, growth=False, stranded=True)

    def end(self, uid: str) -> InFlight | None:
        """Bound, parked, gone, or never written."""
        return self._by_uid.pop(uid, None)

    def observe(self, pod: PodRecord, now: float) -> None:
        """Follow what the watch shows."""
        on_its_way = self._by_uid.get(pod.uid)
        if pod.node or pod.done or pod.deleted:
            self._by_uid.pop(pod.uid, None)
        elif not ours(pod):
            if not pod.gated:
                self._by_uid.pop(pod.uid, None)
        elif on_its_way is None and not pod.gates and not pod.parked:
            # It came through the open gate, or was released by a leader before us or by hand: its time begins now.
            self._by_uid[pod.uid] = InFlight(now, pod.nominated, seen=True, tried=now, unasked=not pod.nominated)
        elif on_its_way is not None and not on_its_way.seen and not pod.gates and not pod.parked:
            self._by_uid[pod.uid] = replace(on_its_way, seen=True)
        elif on_its_way is not None and on_its_way.seen and pod.parked:
            self._by_uid.pop(pod.uid)

    def all(self) -> Iterable[tuple[str, InFlight]]:
        """Every release under way, oldest first."""
        return sorted(self._by_uid.items(), key=lambda each: each[1].since)


def ours(pod: PodRecord) -> bool:
    """Whether our scheduler places this pod."""
    return pod.scheduler == names.SCHEDULER


def withdrawn(pod: PodRecord) -> bool:
    """Whether a pod was deleted before it had a node; a finalizer may keep it in sight."""
    return bool(pod.deleted) and not pod.node and not pod.done


def state(pod: PodRecord, in_flight: InFlightPods) -> PodState:
    """Where a pod stands, by what the watch shows and what was just written."""
    if pod.done:
        return PodState.DONE
    if pod.node:
        return PodState.BOUND
    if withdrawn(pod):
        return PodState.WITHDRAWN
    return _waiting(pod, in_flight) if ours(pod) else PodState.FOREIGN


def _waiting(pod: PodRecord, in_flight: InFlightPods) -> PodState:
    if any(gate != names.GATE for gate in pod.gates):
        return PodState.BLOCKED
    if (on_its_way := in_flight.get(pod.uid)) is not None:
        return PodState.STRANDED if on_its_way.stranded else PodState.RELEASED
    if pod.gated:
        return PodState.HELD
    return PodState.PARKED if pod.parked else PodState.RELEASED
