"""Who owns whom. A pod's own owners are known; those above it are asked for once and remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slackwater_cluster.watch.records import OwnerRef, PodRecord

# A chain longer than this is not an app but a loop or a mistake.
DEPTH = 10


class OwnerGraph(Protocol):
    """What the resolver may ask about other objects. Answers come from memory; nothing is fetched here."""

    def pod(self, uid: str) -> PodRecord | None:
        """The pod with this uid, if it is or was known."""
        ...

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
        """The owners of any other object; None while nobody looked, () where it no longer exists."""
        ...

    def owns_pods(self, uid: str) -> bool:
        """Whether some pod names this uid as its owner."""
        ...


@dataclass(frozen=True, slots=True)
class OwnerChain:
    """The owners above a pod, nearest first."""

    owners: tuple[OwnerRef, ...] = ()
    unknown: OwnerRef | None = None  # the owner whose own owners must be looked up before more can be said


def leader(owners: Sequence[OwnerRef]) -> OwnerRef | None:
    """The owner that counts: the controller, else the first one named."""
    return next((owner for owner in owners if owner.controller), owners[0] if owners else None)


def chain(pod: PodRecord, lineage: OwnerGraph) -> OwnerChain:
    """Climb from the pod to its topmost owner, at most DEPTH steps."""
    found: list[OwnerRef] = []
    current = leader(pod.owners)
    while current is not None and len(found) < DEPTH:
        found.append(current)
        above = _above(current, lineage)
        if above is None:
            return OwnerChain(tuple(found), unknown=current)
        current = leader(above)
    return OwnerChain(tuple(found))


def _above(owner: OwnerRef, lineage: OwnerGraph) -> Sequence[OwnerRef] | None:
    pod = lineage.pod(owner.uid) if owner.kind == "Pod" and not owner.group else None
    # A pod that is not known may have been looked up too, and found to be gone.
    return lineage.parents(owner) if pod is None else pod.owners


class PodOwners:
    """What one watch of pods tells about who owns whom."""

    def __init__(self) -> None:
        self.pods: dict[str, PodRecord] = {}
        self._children: Counter[str] = Counter()

    def set(self, pod: PodRecord) -> PodRecord | None:
        """Take in a pod; return its owner pod if this is the first child that makes it a driver."""
        known = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        if known is not None and known.owners == pod.owners:
            return None
        if known is not None:
            self._count(known, -1)
        return self._count(pod, +1)

    def forget(self, uid: str) -> PodRecord | None:
        """A pod is gone; return what was held of it."""
        known = self.pods.pop(uid, None)
        if known is not None:
            self._count(known, -1)
        return known

    def owns_pods(self, uid: str) -> bool:
        """Whether some pod names this uid as its owner."""
        return uid in self._children

    def _count(self, pod: PodRecord, step: int) -> PodRecord | None:
        first = None
        for owner in pod.owners:
            if owner.kind != "Pod":
                continue
            self._children[owner.uid] += step
            if step > 0 and self._children[owner.uid] == 1:
                first = self.pods.get(owner.uid)
            if self._children[owner.uid] <= 0:
                del self._children[owner.uid]
        return first
