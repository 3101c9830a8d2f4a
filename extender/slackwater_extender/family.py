"""Which app a pod belongs to and whether it drives it, from what the watch of pods alone can tell.

The extender does not look owners up (the operator does): what is above a pod's first owner stays unknown here, which
only makes the app under which peaks are learned a little finer than the operator's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from slackwater.claims import Role
from slackwater_cluster import names
from slackwater_cluster.frameworks import builtin
from slackwater_cluster.recognition import Resolver
from slackwater_cluster.records import OwnerRef, PodRecord


class Family:
    """Pods by uid, and who owns pods."""

    def __init__(self) -> None:
        self.pods: dict[str, PodRecord] = {}
        self._children: Counter[str] = Counter()
        self._resolver = Resolver.of(builtin())

    def set(self, pod: PodRecord) -> PodRecord | None:
        """Take in a pod; return its owner pod if this is the first child that makes it a driver."""
        known = self.pods.get(pod.uid)
        self.pods[pod.uid] = pod
        if known is not None and known.owners == pod.owners:
            return None
        if known is not None:
            self._count(known, -1)
        return self._count(pod, +1)

    def drop(self, uid: str) -> None:
        """Forget a pod."""
        known = self.pods.pop(uid, None)
        if known is not None:
            self._count(known, -1)

    def recognise(self, pod: PodRecord) -> tuple[Role, str]:
        """The pod's role and the app under whose name its use is learned."""
        member = self._resolver.resolve(pod, self)
        admitted = pod.annotations.get(names.ADMITTED_ROLE, "")
        driver = names.DRIVER in (admitted, member.role)
        role = Role.DRIVER if driver else Role.TASK if names.TASK in (admitted, member.role) else Role.UNKNOWN
        return role, f"{pod.namespace}/{member.app}"

    def _count(self, pod: PodRecord, step: int) -> PodRecord | None:
        first = None
        for owner in pod.owners:
            if owner.kind == "Pod":
                self._children[owner.uid] += step
                if step > 0 and self._children[owner.uid] == 1:
                    first = self.pods.get(owner.uid)
                if self._children[owner.uid] <= 0:
                    del self._children[owner.uid]
        return first

    # -- what the resolver asks -----------------------------------------------------------------------------------

    def pod(self, uid: str) -> PodRecord | None:
        """The pod with this uid."""
        return self.pods.get(uid)

    def parents(self, owner: OwnerRef) -> Sequence[OwnerRef] | None:
        """Nothing is looked up here."""
        del owner
        return None

    def owns_pods(self, uid: str) -> bool:
        """Whether some pod names this uid as its owner."""
        return uid in self._children
