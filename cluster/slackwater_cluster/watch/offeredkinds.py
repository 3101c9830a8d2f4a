"""The kinds of resources that nodes offer: a pod's requests of these always count, however many others it makes up.

A kind may come after pods that ask for it: with the first node of a machine type, or when a device plugin has started.
Where one of them asked for more kinds than it counts with, pods are read anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from slackwater_cluster.objects import wire as shapes
from slackwater_cluster.objects.records import NodeRecord, PodRecord
from slackwater_cluster.pods.requests import MOST_KINDS
from slackwater_cluster.pods.resourcekinds import counted
from slackwater_cluster.watch import trim

MOST = 10_000  # that are remembered: a kubelet may name any kinds as those of its node


class OfferedKinds:
    """Kinds of all nodes that were seen; `anew` is called when pods must be read again."""

    def __init__(self, anew: Callable[[], None]) -> None:
        self._anew = anew
        self._kinds: set[str] = set()
        self._crowded = False  # whether some pod asked for so many kinds that it may count without one

    def set_nodes(self, records: Iterable[NodeRecord]) -> None:
        """Take over what nodes offer."""
        before = len(self._kinds)
        for record in records:
            if not self._kinds.issuperset(record.allocatable):
                self._add(record)
        if self._crowded and len(self._kinds) > before:
            self._crowded = False
            self._anew()

    def _add(self, record: NodeRecord) -> None:
        for kind in record.allocatable:
            if counted(kind) and len(self._kinds) < MOST:
                self._kinds.add(kind)

    def trim(self, wire: shapes.Pod, labels: trim.Keep | None = None) -> PodRecord:
        """Keep of a pod what decisions need."""
        found = trim.pod(wire, labels, self._kinds)
        self._crowded = self._crowded or len(found.native) >= MOST_KINDS
        return found
