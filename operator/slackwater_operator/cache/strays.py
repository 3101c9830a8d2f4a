"""Pods behind our gate, or parked, that are not ours to hold: nobody else would let them go.

Their namespace is not managed, or they name another scheduler and brought the gate themselves, in a copied manifest.
"""

from __future__ import annotations

from collections.abc import Container

from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.podstate import ours

# Seconds that held pods wait in a namespace that is not managed: its label may only not have reached us yet.
OPTED_OUT = 5.0


class Strays:
    """Which pods that are not ours to hold still wait, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def note(self, pod: PodRecord, now: float) -> bool:
        """Take in a pod that is not ours to hold; returns whether it waits. Another scheduler reads no mark."""
        waits = (pod.gated or (pod.parked and ours(pod))) and not (pod.node or pod.done or pod.deleted)
        if waits:
            self._since.setdefault(pod.uid, now)
        else:
            self.forget(pod.uid)
        return waits

    def forget(self, uid: str) -> None:
        """A pod is gone, or ours to hold."""
        self._since.pop(uid, None)

    def due(self, now: float, in_flight: Container[str]) -> list[str]:
        """Those that may go now and are not on their way yet."""
        return [uid for uid, since in self._since.items() if now - since >= OPTED_OUT and uid not in in_flight]
