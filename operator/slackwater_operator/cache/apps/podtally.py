"""Counting an app's pods: groups of equal ones, and in each how many stand where."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from slackwater.cycle.snapshot import PodGroup
from slackwater.resources import Resources
from slackwater.roles import Role
from slackwater_cluster.objects.records import Constraints
from slackwater_operator.cache.apps.appindex import Pod
from slackwater_operator.cache.podstate import InFlight, PodState
from slackwater_operator.cache.rooms import named

_WAITING = frozenset({PodState.HELD, PodState.PARKED, PodState.BLOCKED, PodState.FOREIGN})
_PASSED = frozenset({PodState.RELEASED, PodState.BOUND, PodState.DONE})


@dataclass(frozen=True, slots=True)
class PodCounts:
    """The app's pods by state."""

    held: int = 0
    blocked: int = 0
    released: int = 0
    parked: int = 0
    stranded: int = 0
    bound: int = 0
    done: int = 0
    foreign: int = 0


@dataclass(slots=True)
class GroupTally:
    """A group while its pods are counted."""

    role: Role
    stage: str
    request: Resources
    constraints: Constraints
    native: Resources  # of the first that was counted
    held: dict[Resources, list[tuple[float, str, str]]] = field(default_factory=dict)  # by their native requests
    pending: list[tuple[float, str, str]] = field(default_factory=list)
    counts: dict[PodState, int] = field(default_factory=dict)
    seats: list[str] = field(default_factory=list)
    growing: list[tuple[float, str, str]] = field(default_factory=list)

    def add(self, pod: Pod, where: PodState, flight: InFlight | None) -> None:
        """Count one more pod."""
        nominated = flight.node if flight is not None else ""
        if where is PodState.RELEASED and flight is not None and flight.growth:
            self.growing.append((pod.record.created, pod.record.name, pod.uid))
        self.counts[where] = self.counts.get(where, 0) + 1
        if where in (PodState.HELD, PodState.PARKED):
            self.held.setdefault(pod.record.native, []).append((pod.record.created, pod.record.name, pod.uid))
        elif where is PodState.BOUND and self.role is Role.DRIVER:
            self.seats.append(pod.record.node)
        elif where in (PodState.FOREIGN, PodState.RELEASED, PodState.STRANDED):
            if nominated and self.role is Role.DRIVER:
                self.seats.append(nominated)
            self.pending.append((pod.record.created, pod.record.name, pod.uid))

    def groups(self, number: int) -> list[PodGroup]:
        """The group as a round sees it, by the native requests of those that wait: each fits where its own does.

        They differ where ceiling or mode changed while the app lives. All others are counted with the oldest of those.
        """
        natives = sorted(self.held, key=lambda each: min(self.held[each])) or [self.native]
        key = f"{self.role.value}/{self.stage}/{number}"
        elsewhere, stranded = self.counts.get(PodState.FOREIGN, 0), self.counts.get(PodState.STRANDED, 0)
        first = replace(
            self._waiting(key, natives[0]),
            released=self.counts.get(PodState.RELEASED, 0),
            running=self.counts.get(PodState.BOUND, 0),
            finished=self.counts.get(PodState.DONE, 0),
            blocked=self.counts.get(PodState.BLOCKED, 0) + elsewhere + stranded,
            elsewhere=elsewhere,
            stranded=stranded,
            seats=tuple(sorted(self.seats)),
            growing=tuple(uid for _, _, uid in sorted(self.growing)),
        )
        return [first, *(self._waiting(f"{key}.{at}", native) for at, native in enumerate(natives[1:], 1))]

    def _waiting(self, key: str, native: Resources) -> PodGroup:
        return PodGroup(
            key=key,
            role=self.role,
            request=self.request,
            held=tuple(uid for _, _, uid in sorted(self.held.get(native, ()))),
            stage=self.stage,
            native=None if native == self.request else native,
            constraints=named(self.constraints),
        )


@dataclass(slots=True)
class PodTallies:
    """All groups of an app while its pods are counted."""

    groups: dict[tuple[Role, str, Resources, Constraints], GroupTally] = field(default_factory=dict)
    totals: dict[PodState, int] = field(default_factory=dict)
    waiting: list[Pod] = field(default_factory=list)
    begun: set[str] = field(default_factory=set)  # stages of which a pod has passed the gate

    def add(self, pod: Pod, where: PodState, flight: InFlight | None) -> None:
        """Count one more pod; one that was withdrawn is none of the app's any more."""
        if where is PodState.WITHDRAWN:
            return
        self.totals[where] = self.totals.get(where, 0) + 1
        if where in _WAITING:
            self.waiting.append(pod)
        if where in _PASSED:
            self.begun.add(pod.member.stage)
        # Pods that may use different nodes are not equal: one may find no node where the other does.
        key = (pod.role, pod.member.stage, pod.record.declared, pod.record.constraints)
        self.groups.setdefault(key, GroupTally(*key, pod.record.native)).add(pod, where, flight)

    def ordered(self) -> list[GroupTally]:
        """Drivers first; the order depends on what groups are, not on which was seen first."""
        return sorted(
            self.groups.values(),
            key=lambda each: (
                each.role is not Role.DRIVER,
                each.stage,
                sorted(each.request.items()),
                named(each.constraints),
            ),
        )

    def counts(self) -> PodCounts:
        """Its pods by state."""
        return PodCounts(
            **{where.value: self.totals.get(where, 0) for where in PodState if where is not PodState.WITHDRAWN}
        )
