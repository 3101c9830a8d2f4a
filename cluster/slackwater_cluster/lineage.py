"""Who owns whom. A pod's own owners are known; those above it are asked for once and remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slackwater_cluster.records import OwnerRef, PodRecord

# A chain longer than this is not an app but a loop or a mistake.
DEPTH = 10


class Lineage(Protocol):
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
class Chain:
    """The owners above a pod, nearest first."""

    owners: tuple[OwnerRef, ...] = ()
    unknown: OwnerRef | None = None  # the owner whose own owners must be looked up before more can be said


def leader(owners: Sequence[OwnerRef]) -> OwnerRef | None:
    """The owner that counts: the controller, else the first one named."""
    return next((owner for owner in owners if owner.controller), owners[0] if owners else None)


def chain(pod: PodRecord, lineage: Lineage) -> Chain:
    """Climb from the pod to its topmost owner, at most DEPTH steps."""
    found: list[OwnerRef] = []
    current = leader(pod.owners)
    while current is not None and len(found) < DEPTH:
        found.append(current)
        above = _above(current, lineage)
        if above is None:
            return Chain(tuple(found), unknown=current)
        current = leader(above)
    return Chain(tuple(found))


def _above(owner: OwnerRef, lineage: Lineage) -> Sequence[OwnerRef] | None:
    pod = lineage.pod(owner.uid) if owner.kind == "Pod" and not owner.group else None
    # A pod that is not known may have been looked up too, and found to be gone.
    return lineage.parents(owner) if pod is None else pod.owners
