"""Pods by uid, and which of them own other pods: the structural rule "a pod that owns pods is a driver" rests on it."""

from __future__ import annotations

from collections import Counter

from slackwater_cluster.records import PodRecord


class Offspring:
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
