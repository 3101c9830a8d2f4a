"""Pods behind our gate, or parked, in a namespace that is not managed: nobody else would let them go."""

from __future__ import annotations

from collections.abc import Container

from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.podstate import ours

# Seconds a namespace must have been unmanaged before its held pods go: its label may only not have reached us yet.
OPTED_OUT = 5.0


class Strays:
    """Which pods of namespaces that opted out still wait, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def note(self, pod: PodRecord, now: float) -> bool:
        """Take in a pod of a namespace that is not managed; returns whether it waits."""
        waits = (pod.gated or pod.parked) and ours(pod) and not (pod.node or pod.done or pod.deleted)
        if waits:
            self._since.setdefault(pod.uid, now)
        else:
            self.forget(pod.uid)
        return waits

    def forget(self, uid: str) -> None:
        """A pod is gone, or its namespace is managed."""
        self._since.pop(uid, None)

    def due(self, now: float, in_flight: Container[str]) -> list[str]:
        """Those that may go now and are not on their way yet."""
        return [uid for uid, since in self._since.items() if now - since >= OPTED_OUT and uid not in in_flight]
