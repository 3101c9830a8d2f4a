"""What pods request on each node, apart for each queue: the C of the admission test, and room without the extender."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.admission.capacity import NodeShare, NodeShares
from slackwater.resources import NOTHING, Kinds, Resources, total
from slackwater_cluster.names import SCHEDULER
from slackwater_cluster.objects.records import NodeRecord, PodRecord
from slackwater_cluster.pods.nodefit import carries
from slackwater_cluster.pods.resourcekinds import counted_amounts

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BoundPod:
    """A pod on a node, or one of others that a node is cleared for. `queue` is "" for a pod that none serves."""

    node: str
    queue: str
    native: Resources
    declared: Resources


@dataclass
class _ShareTable:
    """What each node adds to the C of one queue: a change on one node costs that node only."""

    selector: Mapping[str, str]
    names: tuple[str, ...]
    shares: NodeShares
    stale: set[str] = field(default_factory=set)


@dataclass
class _ForeignTable:
    """What pods that are not ours request, node × kind; rows of nodes that changed are counted anew when asked for."""

    names: tuple[str, ...]
    kinds: Kinds
    amounts: NDArray[np.float64]
    stale: set[str]


@dataclass
class NodeRequests:
    """Nodes and the pods on them."""

    queue_of: Callable[[PodRecord], str]
    manages: Callable[[PodRecord], bool]
    nodes: dict[str, NodeRecord] = field(default_factory=dict)
    seats: dict[str, BoundPod] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._on: dict[str, dict[str, None]] = {}
        self._tallies: dict[str, _ShareTable] = {}
        self._free: dict[str, Resources] = {}
        self._foreign: _ForeignTable | None = None
        self.version = 0  # of the nodes: what they accept may have changed whenever it has

    def set_nodes(self, records: Iterable[NodeRecord]) -> bool:
        """Take over nodes; returns whether what one of them offers, or to whom, is new."""
        changed = False
        for record in records:
            before = self.nodes.get(record.name)
            self.nodes[record.name] = record
            accepts = before is None or (before.labels, before.taints) != (record.labels, record.taints)
            offers = before is None or _differs(before, record)
            self.version += accepts
            if offers:
                self._touch(record.name)
            changed = changed or accepts or offers
        return changed

    def drop_nodes(self, records: Iterable[NodeRecord]) -> None:
        """Forget nodes."""
        for record in records:
            self.nodes.pop(record.name, None)
            self.version += 1
            self._touch(record.name)

    def set(self, pod: PodRecord) -> None:
        """Take over where a pod sits."""
        queue = self.queue_of(pod)
        ours = bool(queue) and pod.scheduler == SCHEDULER
        node = pod.node or ("" if ours else pod.cleared_node)  # what is cleared for others is theirs
        if not node or pod.done:
            self.drop(pod)
            return
        known = self.seats.get(pod.uid)
        # Only pods of managed namespaces passed our admission policy: elsewhere anybody may write its annotations.
        seat = BoundPod(node, queue, pod.native, pod.declared if self.manages(pod) else pod.native)
        if known == seat:
            return
        if known is not None:
            self.drop(pod)
        self.seats[pod.uid] = seat
        self._on.setdefault(node, {})[pod.uid] = None
        self._touch(node, seat.queue)

    def drop(self, pod: PodRecord) -> None:
        """A pod holds nothing any more."""
        seat = self.seats.pop(pod.uid, None)
        if seat is not None:
            on = self._on.get(seat.node, {})
            on.pop(pod.uid, None)
            if not on:
                self._on.pop(seat.node, None)
            self._touch(seat.node, seat.queue)

    def keep_queues(self, names: Container[str]) -> None:
        """Forget what was added up for queues that are gone."""
        self._tallies = {name: table for name, table in self._tallies.items() if name in names}

    def on(self, node: str) -> Collection[str]:
        """The uids of pods that sit on a node, ours and others."""
        return self._on.get(node, {}).keys()

    def selected(self, selector: Mapping[str, str]) -> list[NodeRecord]:
        """The nodes that carry these labels."""
        return [node for node in self.nodes.values() if carries(node, selector.items())]

    def shares(self, queue: str, selector: Mapping[str, str], names: tuple[str, ...], kinds: Kinds) -> NodeShares:
        """What each of the named nodes adds to the C of a queue; nodes that it does not select add nothing."""
        table = self._tallies.get(queue)
        if table is None or (table.selector, table.names, table.shares.kinds) != (selector, names, kinds):
            fresh = NodeShares(kinds, np.zeros((len(names), len(kinds))))
            table = self._tallies[queue] = _ShareTable(dict(selector), names, fresh, stale=set(names))
        if table.stale:
            amounts = table.shares.amounts.copy()  # a round may still read the one before
            rows = range(len(names)) if len(table.stale) >= len(names) else _rows(names, table.stale)
            for row in rows:
                amounts[row] = self._share(names[row], queue, selector).vector(kinds)
            table.shares, table.stale = NodeShares(kinds, amounts), set()
        return table.shares

    def foreign(self, names: tuple[str, ...], kinds: Kinds) -> NDArray[np.float64]:
        """What pods that are not ours request on each of the named nodes."""
        table = self._foreign
        if table is None or (table.names, table.kinds) != (names, kinds):
            table = self._foreign = _ForeignTable(names, kinds, np.zeros((len(names), len(kinds))), set(names))
        if table.stale:
            amounts = table.amounts.copy()  # a round may still read the one before
            for row in range(len(names)) if len(table.stale) >= len(names) else _rows(names, table.stale):
                amounts[row] = total(s.native for s in self._seats(names[row]) if not s.queue).vector(kinds)
            table.amounts, table.stale = amounts, set()
        return table.amounts

    def free(self, name: str) -> Resources:
        """What a node has left when every pod on it counts in full: max(D, N), of all that is allocatable."""
        if name not in self._free:
            node = self.nodes.get(name)
            if node is None or not node.open:
                return NOTHING
            taken = total(seat.declared.at_least(seat.native) for seat in self._seats(name))
            self._free[name] = (counted_amounts(node.allocatable) - counted_amounts(taken)).at_least(NOTHING)
        return self._free[name]

    def _share(self, name: str, queue: str, selector: Mapping[str, str]) -> Resources:
        node = self.nodes.get(name)
        if node is None or not carries(node, selector.items()):
            return NOTHING
        others = total(seat.native for seat in self._seats(name) if seat.queue != queue)
        return NodeShare(counted_amounts(node.allocatable), counted_amounts(others), node.open).amount()

    def _seats(self, node: str) -> Iterable[BoundPod]:
        return (self.seats[uid] for uid in self._on.get(node, ()))

    def _touch(self, node: str, queue: str | None = None) -> None:
        """A node changed; where only a pod of one queue did, C of that queue stays as it is."""
        self._free.pop(node, None)
        if self._foreign is not None and not queue:
            self._foreign.stale.add(node)
        for name, tally in self._tallies.items():
            if name != queue:
                tally.stale.add(node)


def _rows(names: Sequence[str], wanted: Collection[str]) -> list[int]:
    return [row for row, name in enumerate(names) if name in wanted]


def _differs(before: NodeRecord, now: NodeRecord) -> bool:
    return (before.allocatable, before.open, before.labels) != (now.allocatable, now.open, now.labels)
