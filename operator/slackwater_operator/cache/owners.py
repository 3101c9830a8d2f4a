"""Pods and the owners above them: what the resolver may ask, and what still has to be looked up."""

from __future__ import annotations

from collections.abc import Sequence

from slackwater_cluster.apps.owners import PodOwners
from slackwater_cluster.watch.records import OwnerRef, PodRecord

# Owners remembered. Each is a few hundred bytes; the oldest go first, and are looked up again if needed.
MOST_OWNERS = 50_000
# Driver pods remembered after their end, so that executors which outlive them for a moment keep their app.
MOST_GONE = 5_000


class OwnerMemory(PodOwners):
    """The memory behind recognition (slackwater_cluster.apps.owners.Lineage)."""

    def __init__(self) -> None:
        super().__init__()
        self._gone: dict[str, PodRecord] = {}
        self._parents: dict[str, tuple[OwnerRef, ...]] = {}

    def drop(self, pod: PodRecord) -> None:
        """Forget a pod, but not that it was."""
        known = self.forget(pod.uid)
        if known is not None and self.owns_pods(pod.uid):
            self._gone[pod.uid] = known
            while len(self._gone) > MOST_GONE:
                del self._gone[next(iter(self._gone))]

    def learn(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> None:
        """What a look-up found above an owner; nothing, where it no longer exists."""
        self._parents[owner.uid] = tuple(parents)
        while len(self._parents) > MOST_OWNERS:
            del self._parents[next(iter(self._parents))]

    def pod(self, uid: str) -> PodRecord | None:
        """The pod with this uid, if it is or was known."""
        return self.pods.get(uid) or self._gone.get(uid)

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
        """The owners of an object that is no pod; None while nobody looked."""
        return self._parents.get(owner.uid)
