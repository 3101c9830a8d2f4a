"""Who owns whom. A pod's own owners are known; those above it are asked for once and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slackwater_cluster.apps.appids import is_name
from slackwater_cluster.objects.records import OwnerKey, OwnerRef, PodRecord

# A chain longer than this is not an app but a loop or a mistake.
DEPTH = 10
# Owners remembered. Each is a few hundred bytes; the oldest go first, and are looked up again if needed.
MOST_OWNERS = 50_000
# So many are kept without a look whether a pod below them is still there.
FEW_OWNERS = 1_000
# Driver pods remembered after their end, so that executors which outlive them for a moment keep their app.
MOST_GONE = 5_000


class OwnerGraph(Protocol):
    """What the resolver may ask about other objects. Answers come from memory; nothing is fetched here."""

    def pod(self, uid: str) -> PodRecord | None:
        """The pod with this uid, if it is or was known."""
        ...

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
        """The owners of any other object; None while nobody looked, () where it no longer exists."""
        ...

    def owns_pods(self, pod: PodRecord) -> bool:
        """Whether some pod of its namespace names this pod as its owner, or once did."""
        ...


@dataclass(frozen=True, slots=True)
class OwnerChain:
    """The owners above a pod, nearest first."""

    owners: tuple[OwnerRef, ...] = ()
    unknown: OwnerRef | None = None  # the owner whose own owners must be looked up before more can be said


def leader(owners: Sequence[OwnerRef]) -> OwnerRef | None:
    """The owner that counts: the controller, else the first one named. One whose name cannot be a name is none."""
    named = [owner for owner in owners if is_name(owner.kind) and is_name(owner.name)]
    return next((owner for owner in named if owner.controller), named[0] if named else None)


def chain(pod: PodRecord, lineage: OwnerGraph) -> OwnerChain:
    """Climb from the pod to its topmost owner, at most DEPTH steps."""
    found: list[OwnerRef] = []
    current = leader(pod.owners)
    while current is not None and len(found) < DEPTH:
        found.append(current)
        above = _above(current, pod.namespace, lineage)
        if above is None:
            return OwnerChain(tuple(found), unknown=current)
        current = leader(above)
    return OwnerChain(tuple(found))


def _above(owner: OwnerRef, namespace: str, lineage: OwnerGraph) -> Sequence[OwnerRef] | None:
    pod = lineage.pod(owner.uid) if _is_pod(owner) else None
    # A pod that is not known may have been looked up too, and found to be gone; one of another namespace owns nobody.
    return lineage.parents(owner) if pod is None or pod.namespace != namespace else pod.owners


def _is_pod(owner: OwnerRef) -> bool:
    return owner.kind == "Pod" and not owner.group


class KnownOwners:
    """Pods, and the owners above them as far as somebody looked them up (an OwnerGraph)."""

    def __init__(self) -> None:
        self.pods: dict[str, PodRecord] = {}
        self._children: dict[OwnerKey, int] = {}  # namespace and uid of an owner → pods there that name it
        self._once: set[str] = set()  # pods that are there and owned others that are gone: they are drivers for life
        self._gone: dict[str, PodRecord] = {}
        self._parents: dict[OwnerKey, tuple[OwnerRef, ...]] = {}
        self._many = FEW_OWNERS  # owners at which those without pods are forgotten

    def add(self, pod: PodRecord) -> PodRecord | None:
        """Take in a pod; return its owner pod if this is the first child that makes it a driver."""
        known = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        if known is not None and known.owners == pod.owners:
            return None
        if known is not None:
            self._count(known, -1)
        return self._count(pod, +1)

    def remove(self, uid: str) -> None:
        """A pod is gone. One that owns pods is remembered as long as one of them is there."""
        known = self.pods.pop(uid, None)
        if known is None:
            return
        self._count(known, -1)
        self._once.discard(uid)
        if (known.namespace, uid) in self._children:
            self._gone[uid] = known
            while len(self._gone) > MOST_GONE:
                del self._gone[next(iter(self._gone))]

    def set_parents(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> None:
        """What a look-up found above an owner; nothing, where it no longer exists."""
        self._parents[owner.key] = tuple(parents)
        if len(self._parents) > self._many:
            self._forget_owners()
        while len(self._parents) > MOST_OWNERS:
            del self._parents[next(iter(self._parents))]

    def _forget_owners(self) -> None:
        """Keep the owners above pods that are there; the next look is at twice as many."""
        waiting = [owner for pod in (*self.pods.values(), *self._gone.values()) for owner in pod.owners]
        kept: set[OwnerKey] = set()
        while waiting:
            key = waiting.pop().key
            if key not in kept:
                kept.add(key)
                waiting += self._parents.get(key, ())
        self._parents = {key: parents for key, parents in self._parents.items() if key in kept}
        self._many = max(FEW_OWNERS, 2 * len(self._parents))

    def pod(self, uid: str) -> PodRecord | None:
        """The pod with this uid, if it is or was known."""
        return self.pods.get(uid) or self._gone.get(uid)

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
        """The owners of an object that is no pod; None while nobody looked."""
        return self._parents.get(owner.key)

    def knows(self, owner: OwnerRef) -> bool:
        """Whether it is known what stands above an owner."""
        if owner.key in self._parents:
            return True
        pod = self.pod(owner.uid) if _is_pod(owner) else None
        return pod is not None and pod.namespace == owner.namespace

    def owns_pods(self, pod: PodRecord) -> bool:
        """Whether some pod of its namespace names this pod as its owner, or did so while it was there."""
        return (pod.namespace, pod.uid) in self._children or pod.uid in self._once

    def _count(self, pod: PodRecord, step: int) -> PodRecord | None:
        first = None
        for owner in pod.owners:
            if owner.kind != "Pod":
                continue
            key, known = (pod.namespace, owner.uid), self.pod(owner.uid)
            there = known if known is not None and known.namespace == pod.namespace else None
            children = self._children.get(key, 0) + step
            if children > 0:
                self._children[key] = children
            else:
                self._children.pop(key, None)
                if there is not None and self._gone.pop(owner.uid, None) is None:
                    self._once.add(owner.uid)
            if step > 0 and children == 1 and owner.uid in self.pods:
                first = there
        return first
