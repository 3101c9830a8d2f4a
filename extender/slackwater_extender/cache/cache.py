"""All that is known of the cluster, behind one lock: records, ledger, policies, guard.

Watches write here in short slices, verbs read and place here. The lock is held for one decision or one slice at a time
(milliseconds), so that /filter never waits long. Decisions themselves are pure functions of core.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import LedgerConfig, PodClaim
from slackwater.network.arrivals import Arrivals
from slackwater.nodetable import NodeTable
from slackwater.resources import CPU, MEMORY, Kinds, Resources
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.apps.membership import PodIndex, app_id
from slackwater_cluster.apps.resolver import role_of
from slackwater_cluster.frameworks import ExtendedTable
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import Constraints, NodeRecord, OwnerRef, PodRecord
from slackwater_cluster.pods.resourcekinds import counted
from slackwater_cluster.watch.timeslices import slices
from slackwater_extender.cache import conversion
from slackwater_extender.cache.freedroom import FreedRoom
from slackwater_extender.cache.gatebypass import Guard
from slackwater_extender.cache.locality import AssignedTransfers, Outputs, arrivals
from slackwater_extender.cache.lock import PriorityLock
from slackwater_extender.cache.nodemasks import NodeMasks, masked
from slackwater_extender.settings import Decisions

if TYPE_CHECKING:
    from numpy.typing import NDArray


NOBODY: Mapping[str, str] = {}

CLEARED = 86_400.0  # seconds that a nomination of somebody else's pod counts; its end is seen, so this is a last resort
SLICE = 50  # records per hold of the lock: some 4 ms
GONE = 8192  # pods that are gone remembered: the scheduler may ask about one of which we have heard before it did


@dataclass
class ClusterCache:
    """The extender's one state. `clock` is monotonic, `wall` is Unix time (the clock of sample timestamps)."""

    settings: Decisions
    clock: Callable[[], float]
    wall: Callable[[], float]
    lock: PriorityLock = field(default_factory=PriorityLock)

    def __post_init__(self) -> None:
        self.governance = Governance(self.settings.own_namespace, self.settings.watchdog_namespace)
        self.guard = Guard(self.governance)
        self.frameworks = ExtendedTable()
        self.index = PodIndex(self.governance)
        self.nodes: dict[str, NodeRecord] = {}
        self.ledger = Ledger(conversion.ledger_config(self.governance, (CPU, MEMORY)))
        self.synced: set[str] = set()
        self.freed = FreedRoom()
        self.outputs = Outputs()
        self.transfers = AssignedTransfers()
        self.load: dict[str, float] = {}  # bytes per second into each node, as last measured
        self.assigned: set[str] = set()  # pods whose reservation is a batch's placement: they shall go to that node
        self._names: dict[str, dict[str, str]] = {}  # namespace → pod name → uid
        self._gone: dict[str, None] = {}  # uids of the last pods that vanished
        self._strangers: dict[str, set[str]] = {}  # node → running pods on it that are not ours
        self._masks = NodeMasks(self.nodes)
        self._changed: set[str] | None = None  # uids that changed while a new ledger is made

    @property
    def kinds(self) -> Kinds:
        """The ledger's kinds, in order."""
        return self.ledger.terms.kinds

    # -- pods -----------------------------------------------------------------------------------------------------

    def set_pods(self, records: Sequence[PodRecord]) -> None:
        """Take over what a watch shows of pods."""
        for some in slices(records, SLICE):
            with self.lock.background():
                for record in some:
                    self._set_pod(record)

    def drop_pods(self, records: Sequence[PodRecord]) -> None:
        """Forget pods that are gone: eq. 4 gives back their residue at once."""
        for some in slices(records, SLICE):
            with self.lock.background():
                for record in some:
                    self._drop_pod(record)

    def pod_named(self, namespace: str, name: str) -> PodRecord | None:
        """The pod of this name."""
        uid = self._names.get(namespace, {}).get(name)
        return self.index.pods.get(uid) if uid else None

    def names_of(self, namespace: str) -> Mapping[str, str]:
        """Uid of each pod of a namespace by name; the very strings that are held, so that many cost nothing."""
        return self._names.get(namespace, NOBODY)

    def managed(self, pod: PodRecord) -> bool:
        """Whether a pod is ours to judge: it names our scheduler and its namespace is managed."""
        return pod.scheduler in self.settings.schedulers and self.governance.manages(pod)

    def waits(self, uid: str) -> bool:
        """Whether a pod may still want a node: it is not known to be gone, to have ended or to have one."""
        pod = self.index.pods.get(uid)
        return uid not in self._gone if pod is None else not (pod.node or pod.done)

    def claim(self, pod: PodRecord, node: str = "", kinds: Kinds | None = None) -> PodClaim:
        """The pod's claim on its node, or on the one given."""
        managed = self.managed(pod)
        member = self.index.member(pod) if managed else None
        role = role_of(pod, member) if member else Role.UNKNOWN
        learned_as = conversion.learned_as(pod, member) if member else ""
        return conversion.claim(pod, kinds or self.kinds, role=role, app=learned_as, managed=managed, node=node)

    def recognise(self, pod: PodRecord) -> tuple[Role, str]:
        """The pod's role, and the app it belongs to as namespace/id."""
        member = self.index.member(pod)
        return role_of(pod, member), sys.intern(app_id(pod.namespace, member.app))

    def _set_pod(self, pod: PodRecord) -> None:
        before = self.index.pods.get(pod.uid)
        others = self.index.set_pod(pod)
        self._names.setdefault(pod.namespace, {})[pod.name] = pod.uid
        released = before is None or bool(before.gates) or before.parked
        self._enter(pod, released=released, seen_to_end=before is not None and not before.done)
        for other in others:
            self._enter(other)

    def _enter(self, pod: PodRecord, *, released: bool = False, seen_to_end: bool = False) -> None:
        """Charge a pod where it is. `released`: it is seen without a gate for the first time.

        `seen_to_end`: it was seen alive, and if it has ended now, that is news. What ended before we looked was taken
        into account then (`learned`), or is long past: such pods lie there for months.
        """
        if self._changed is not None:
            self._changed.add(pod.uid)
        if names.OUTPUT in pod.annotations:
            self.outputs.set(pod, self.recognise(pod)[1], self.index.member(pod).stage)
        if pod.done:
            if pod.lacking == MEMORY and pod.node and seen_to_end:
                self.ledger.evicted(self.claim(pod))
            self._release(pod.uid, cut_short=pod.deleted > 0)
        elif pod.node:
            claim = self.claim(pod)
            self.ledger.put(claim)
            if pod.started:
                self.transfers.end(pod.uid)
            self._note_stranger(pod, managed=claim.managed)
        elif pod.parked:
            self._release(pod.uid)
        elif self.managed(pod):
            if released and not pod.gates and pod.uid not in self.ledger:
                # It is on its way, whoever released it: what a restart forgot is known again by the pods.
                self.ledger.reserve(self.claim(pod, pod.nominated), self.clock() + self.settings.expiry)
        elif pod.cleared_node:
            # What pods leave that were preempted for it is not ours to give away until its nomination goes.
            self.ledger.reserve(self.claim(pod, pod.cleared_node), self.clock() + CLEARED)
        elif pod.uid in self.ledger:
            self._release(pod.uid)  # its namespace opted out: it is on its way as anybody's pod, and counts when bound

    def _note_stranger(self, pod: PodRecord, *, managed: bool) -> None:
        if not managed and pod.started:
            self._strangers.setdefault(pod.node, set()).add(pod.uid)
        else:
            self._forget_stranger(pod.node, pod.uid)

    def _forget_stranger(self, node: str, uid: str) -> None:
        if (there := self._strangers.get(node)) is not None:
            there.discard(uid)
            if not there:
                del self._strangers[node]

    def strangers(self, node: str) -> Iterable[str]:
        """Pods on a node that are not ours and run: the node's own sample saw them."""
        return self._strangers.get(node, ())

    def _release(self, uid: str, *, cut_short: bool = False) -> None:
        self.transfers.end(uid)
        self.assigned.discard(uid)
        claim = self.ledger.remove(uid, cut_short=cut_short)
        if claim is not None:
            self.freed.note()
            self._forget_stranger(claim.node, uid)

    def _drop_pod(self, pod: PodRecord) -> None:
        if self._changed is not None:
            self._changed.add(pod.uid)
        self.outputs.drop(pod.uid)
        others = self.index.drop_pod(pod)
        self._gone[pod.uid] = None
        if len(self._gone) > GONE:
            del self._gone[next(iter(self._gone))]
        known = self._names.get(pod.namespace, {})
        if known.get(pod.name) == pod.uid:
            del known[pod.name]
            if not known:
                del self._names[pod.namespace]
        self._release(pod.uid, cut_short=True)  # one that had ended by itself has left the ledger before
        for other in others:
            self._enter(other)

    # -- nodes ----------------------------------------------------------------------------------------------------

    def set_nodes(self, records: Sequence[NodeRecord]) -> None:
        """Take over what a watch shows of nodes; a kind of resource not seen before makes a new ledger."""
        kinds = self._widened(records)
        if kinds != self.kinds:
            self.remake(conversion.ledger_config(self.governance, kinds))
        for some in slices(records, SLICE):
            with self.lock.background():
                for record in some:
                    self._set_node(record)

    def drop_nodes(self, records: Iterable[NodeRecord]) -> None:
        """Forget nodes."""
        with self.lock.background():
            for record in records:
                self.nodes.pop(record.name, None)
                self.ledger.remove_node(record.name)
            self._masks.clear()

    def _set_node(self, node: NodeRecord) -> None:
        before = self.nodes.get(node.name)
        self.nodes[node.name] = node
        self.ledger.upsert_node(conversion.node_spec(node, self.kinds, self.settings.eviction))
        if before is None or (before.open, before.allocatable) != (node.open, node.allocatable):
            self.freed.note()
        if before is None or masked(before) != masked(node):
            self._masks.clear()

    def _widened(self, records: Iterable[NodeRecord]) -> Kinds:
        offered = {kind for record in records for kind in record.allocatable if counted(kind)}
        return (*self.kinds, *sorted(offered.difference(self.kinds)))

    def allowed(self, constraints: Constraints, table: NodeTable) -> NDArray[np.bool_] | None:
        """The nodes a pod may use, a flag per row of the table; None where all of them."""
        found = self._masks.current if self.rows_hold(table) else self._masks.named
        return found(constraints, table.names)

    def rows_hold(self, table: NodeTable) -> bool:
        """Whether the rows and kinds of a table given out earlier are those of the ledger now."""
        names = self.ledger.table(self.clock()).names
        return (names is table.names or names == table.names) and self.kinds == table.kinds

    def arrivals(self, table: NodeTable, without: Collection[str] = ()) -> Arrivals:
        """When inputs would arrive on each node, with what pods on their way will read but for some of them."""
        return arrivals(self.nodes, table, self.load, self.transfers.between(table.index, without))

    def vacancies(self, table: NodeTable) -> NDArray[np.float64]:
        """How many more pods each node may hold; a node that says nothing holds any number."""
        return np.asarray(self._masks.most_pods(table.names) - self.ledger.crowds())

    # -- the ledger as a whole ------------------------------------------------------------------------------------

    def remake(self, terms: LedgerConfig) -> None:
        """Charge by other terms from now on. The new ledger is filled beside the old one, which serves meanwhile.

        Estimates start again from reservations until the next sample, which is at most a heartbeat away; what was
        learned about apps and risks stays.
        """
        with self.lock.background():
            self._changed = set()
            pods, nodes = list(self.index.pods.values()), list(self.nodes.values())
        fresh = Ledger(terms)
        for node in nodes:
            fresh.upsert_node(conversion.node_spec(node, terms.kinds, self.settings.eviction))
        for pod in pods:
            if pod.node and not pod.done:
                fresh.put(self.claim(pod, kinds=terms.kinds))
        with self.lock.background():
            self._take_over(fresh)

    def _take_over(self, fresh: Ledger) -> None:
        old, changed = self.ledger, self._changed or set()
        self._changed = None
        fresh.remember(old.learned())
        self.ledger = fresh
        known = fresh.table(self.clock()).index
        for name, node in self.nodes.items():
            if name not in known:
                fresh.upsert_node(conversion.node_spec(node, self.kinds, self.settings.eviction))
        for uid in changed:
            fresh.remove(uid)
            if (pod := self.index.pods.get(uid)) is not None:
                self._enter(pod)
        for uid, expires in old.reservations().items():
            held, pod = old.claim(uid), self.index.pods.get(uid)
            if held is not None and uid not in fresh:
                seen = pod if any(held.native) else None  # growth pods go on to take nothing
                claim = self.claim(seen, held.node) if seen else conversion.in_kinds(held, old.terms.kinds, self.kinds)
                fresh.reserve(claim, expires)

    def set_terms(self) -> None:
        """Follow the policy `default` where it changed."""
        terms = conversion.ledger_config(self.governance, self.kinds)
        if terms != self.ledger.terms:
            self.remake(terms)

    def set_frameworks(self) -> bool:
        """Follow the framework table and the policies' role labels; whether pods lack labels that are read now."""
        with self.lock.background():
            before = self.index.keys
            changed = self.index.follow(self.frameworks.table)
            namespaces = self.governance.managed_namespaces() if changed else []
        self.reconsider(namespaces)
        return not self.index.keys <= before

    def reconsider(self, namespaces: Iterable[str]) -> None:
        """Judge the pods of some namespaces anew: they became managed, are so no longer, or follow other rules."""
        for namespace in namespaces:
            uids = list(self._names.get(namespace, {}).values())
            for some in slices(uids, SLICE):
                with self.lock.background():
                    for uid in some:
                        if (pod := self.index.pods.get(uid)) is not None:
                            self._reconsider(pod)

    def _reconsider(self, pod: PodRecord) -> None:
        for each in (pod, *self.index.review(pod)):
            self._enter(each, released=True)

    def learn_owner(self, owner: OwnerRef, parents: Sequence[OwnerRef]) -> None:
        """An owner was looked up: pods that waited for it may belong to another app."""
        with self.lock.background():
            for pod in self.index.learn(owner, parents):
                self._enter(pod)

    # -- reservations ---------------------------------------------------------------------------------------------

    def reserve(self, pod: PodRecord, node: str, role: Role, app: str) -> bool:
        """Reserve a node for one of our pods at answer time (eq. 2); it lapses unless the watch confirms it."""
        learned_as = conversion.learned_as(pod, self.index.member(pod))
        claim = conversion.claim(pod, self.kinds, role=role, app=learned_as, managed=True, node=node)
        self.transfers.begin(pod.uid, node, () if role is Role.DRIVER else self.outputs.inputs(pod, app))
        return self.ledger.reserve(claim, self.clock() + self.settings.expiry)

    def reserve_anywhere(self, uid: str, declared: Resources, *, growth: bool = False) -> bool:
        """Reserve for a pod that is released without a node of ours: what it declares counts, nobody knows where.

        `declared` is what its releaser knows, for a pod the watch has not shown yet. `growth`: it is released towards
        nodes that do not exist yet, so it takes nothing of those that do.
        """
        pod = self.index.pods.get(uid)
        amounts = conversion.amounts(declared, self.kinds)
        claim = self.claim(pod) if pod is not None else PodClaim(uid, "", amounts, amounts)
        if growth:
            nothing = (0.0,) * len(self.kinds)
            claim = claim._replace(declared=nothing, native=nothing)
        return not claim.node and self.ledger.reserve(claim, self.clock() + self.settings.expiry)

    def assigned_node(self, uid: str) -> str:
        """The node that a batch chose for a pod which is not bound yet; "" where it chose none, or not any more."""
        held = self.ledger.claim(uid) if uid in self.assigned else None
        return held.node if held is not None else ""

    def give_up_node(self, uid: str) -> None:
        """A node serves its pod no longer: the pod stays reserved without one, so that it may try others."""
        self.assigned.discard(uid)
        held, expires = self.ledger.claim(uid), self.ledger.reservations().get(uid)
        if held is not None and expires is not None:
            self.transfers.end(uid)
            self.ledger.reserve(held._replace(node=""), expires)

    def unreserve(self, uid: str) -> PodClaim | None:
        """Take back what did not come true; a bound pod stays."""
        self.assigned.discard(uid)
        if (held := self.ledger.unreserve(uid)) is not None:
            self.transfers.end(uid)
        return held

    def live(self, uid: str) -> bool:
        """Whether the pod is bound, or reserved for a time that has not lapsed."""
        return uid in self.ledger

    def unplaced(self) -> list[tuple[PodClaim, str]]:
        """Reservations without a node that count, and the namespaces of their pods."""
        found = [(claim, self.index.pods.get(claim.uid)) for claim in self.ledger.unplaced() if any(claim.declared)]
        return [(claim, pod.namespace if pod else "") for claim, pod in found]

    def expire(self) -> list[PodClaim]:
        """Drop what lapsed."""
        with self.lock.background():
            lapsed = self.ledger.expire(self.clock())
            for claim in lapsed:
                self.transfers.end(claim.uid)
                self.assigned.discard(claim.uid)
            if lapsed:
                self.freed.note()
            return lapsed
