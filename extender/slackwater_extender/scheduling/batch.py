"""A node for each of many pods, entered in the ledger at once; the operator nominates pods with the answer.

The core decides on a snapshot, in slices of some milliseconds with the lock free in between, so that no /filter waits.
Whatever happened meanwhile is met by one more look at the chosen row before a placement is entered; pods that lost
their node that way are decided again on a new snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge
from typing import NamedTuple, Unpack

import numpy as np

from slackwater.ledger.types import PodClaim
from slackwater.network.arrivals import Inputs
from slackwater.nodetable import NodeTable, PodAsk
from slackwater.placement.batch import Batch, Refusal
from slackwater.placement.outgrown import Prospect, excess, widened
from slackwater.placement.reasons import FilterReason
from slackwater.placement.rowmasks import common, narrowed, rows_of
from slackwater.resources import Kinds, Resources, needed_by
from slackwater.roles import Role
from slackwater_cluster import names
from slackwater_cluster.extenderapi import (
    Placed,
    PlaceItem,
    PlaceReply,
    PlaceRequest,
    Refusing,
    ReserveRequest,
)
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.nodefit import in_time
from slackwater_cluster.watch.timeslices import slices
from slackwater_extender.cache import conversion
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.refusedpods import Unschedulable
from slackwater_extender.scheduling.decisionlog import DecisionLog, Numbers, Result

SLICE = 200  # pods looked up per hold of the lock

STEP = 8  # pods decided between two looks at the clock
ROUNDS = 4  # new snapshots for pods that lost their node to others


@dataclass
class Placer:
    """Batch placement over one cache."""

    cache: ClusterCache
    waiting: Unschedulable
    decisions: DecisionLog

    def place(self, request: PlaceRequest) -> PlaceReply:
        """Decide a whole batch. If that fails, pods without an outcome have what was reserved for them before."""
        reply, wanted = PlaceReply([], []), dict[str, _Wanted]()
        try:
            self._place(request, wanted, reply)
        except Exception:
            self._give_back(wanted, reply)
            raise
        return reply

    def _place(self, request: PlaceRequest, wanted: dict[str, _Wanted], reply: PlaceReply) -> None:
        self._look_up(request, wanted, reply)
        asks: Sequence[_Wanted] = list(wanted.values())
        for _ in range(ROUNDS):
            if not asks:
                return
            asks = self._round(request, asks, reply)
        with self.cache.lock:
            for each in asks:
                self._refuse(each, Refusing(each.uid, FilterReason.ROOM.value), reply)

    def _give_back(self, wanted: Mapping[str, _Wanted], reply: PlaceReply) -> None:
        decided = {each.uid for each in reply.placed} | {each.uid for each in reply.refused}
        with self.cache.lock:
            for uid, each in wanted.items():
                if uid not in decided and each.before is not None and self.cache.waits(uid):
                    self.cache.ledger.reserve(each.before, self.cache.clock() + self.cache.settings.expiry)

    def reserve(self, request: ReserveRequest) -> list[str]:
        """Count pods that are released without a node of ours; returns those that are not bound already."""
        with self.cache.lock:
            return [
                each.uid
                for each in request.pods
                if self.cache.reserve_anywhere(each.uid, Resources(each.declared), growth=each.growth)
            ]

    def unreserve(self, uids: Sequence[str]) -> list[str]:
        """Take back what will not come true; returns those that had a reservation."""
        with self.cache.lock:
            taken_back = [uid for uid in uids if self.cache.unreserve(uid) is not None]
        if taken_back:
            self.cache.freed.note()
        return taken_back

    # -- 1. who asks ----------------------------------------------------------------------------------------------

    def _look_up(self, request: PlaceRequest, wanted: dict[str, _Wanted], reply: PlaceReply) -> None:
        """Collect the pods of the batch with their amounts; a pod that is placed already is placed anew."""
        for some in slices(request.pods, SLICE):
            with self.cache.lock:
                for each in some:
                    if each.uid not in wanted and (found := self._ask(each, reply)) is not None:
                        wanted[each.uid] = found

    def _ask(self, each: PlaceItem, reply: PlaceReply) -> _Wanted | None:
        pod = self.cache.index.pods.get(each.uid)
        if pod is None or pod.done or pod.node:
            reply.refused.append(Refusing(each.uid, names.UNKNOWN_POD))
            return None
        role, app = self.cache.recognise(pod)
        return _Wanted(each, pod, app, role, self.cache.unreserve(each.uid))

    # -- 2. one snapshot ------------------------------------------------------------------------------------------

    def _round(self, request: PlaceRequest, wanted: Sequence[_Wanted], reply: PlaceReply) -> list[_Wanted]:
        """Place what can be placed on this snapshot; return the pods whose node was taken meanwhile."""
        with self.cache.lock:
            table = self.cache.ledger.table(self.cache.clock())
            vacancies = self.cache.vacancies(table)
        asks = self._prepared(request, wanted, table, vacancies <= 0)
        with self.cache.lock:
            reading = any(each.inputs for each in asks)
            arrivals = self.cache.arrivals(table, {each.uid for each in asks}) if reading else None
            policy = self.cache.governance.policy
            balance = {each.uid: conversion.weights(policy(each.pod.namespace)) for each in wanted if reading}
        batch = Batch(
            table,
            asks,
            cold=request.cold and not arrivals,  # a knapsack packs; it knows nothing of where data is
            alpha=request.alpha,
            arrivals=arrivals,
            balance=balance,
        )
        by_uid = {each.uid: each for each in wanted}
        lost: list[_Wanted] = []
        while not batch.done:
            with self.cache.lock:
                self._slice(batch, vacancies, by_uid, reply, lost)
        _tell_needs(reply, asks, by_uid, table.kinds)
        return lost

    def _prepared(
        self, request: PlaceRequest, wanted: Sequence[_Wanted], table: NodeTable, crowded: np.ndarray
    ) -> list[PodAsk]:
        """The pods as the core wants them; whatever is computed over all nodes is computed with the lock free."""
        facts = self._facts(wanted, table)
        selections = {name: rows_of(nodes, table) for name, nodes in request.selections.items()}
        vacant = ~crowded if crowded.any() else None
        # Equal constraints are one object, and one mask for each selection.
        masks: dict[tuple[int, str], np.ndarray | None] = {}
        made = []
        for each in wanted:
            key, selected = (id(each.pod.constraints), each.ask.selection), selections.get(each.ask.selection)
            if key not in masks:
                masks[key] = common(facts.allowed[key[0]], selected, vacant)
            prepared = each.prepared(table, masks[key], facts.inputs[each.uid], unproven=each.uid in facts.unknown)
            if (outgrown := facts.outgrown.get(each.uid)) is not None:
                prospect = facts.prospect(each, table, masks[key], selected) if outgrown.killed else None
                prepared = widened(table, prepared, outgrown.expected, outgrown.more, prospect)
            made.append(prepared)
        return made

    def _facts(self, wanted: Sequence[_Wanted], table: NodeTable) -> _Facts:
        """What is known of the pods, read in slices: the watch changes it."""
        facts = _Facts()
        for some in slices(wanted, SLICE):
            with self.cache.lock:
                same = self.cache.rows_hold(table)
                for each in some:
                    key = id(each.pod.constraints)
                    if key not in facts.allowed:
                        facts.allowed[key] = self.cache.allowed(each.pod.constraints, table)
                    facts.inputs[each.uid] = () if each.driver else self.cache.outputs.inputs(each.pod, each.app)
                    claim = self.cache.claim(each.pod)
                    if self.cache.ledger.unknown(claim):
                        facts.unknown.add(each.uid)
                    if same and (outgrown := self._outgrown(claim)) is not None:
                        facts.outgrown[each.uid] = outgrown
                        if outgrown.killed and key not in facts.in_time:
                            facts.in_time[key] = self.cache.allowed(in_time(each.pod.constraints), table)
                if same and facts.left is None and any(each.killed for each in facts.outgrown.values()):
                    facts.left = self.cache.ledger.without_tasks()
        return facts

    def _outgrown(self, claim: PodClaim) -> _Outgrown | None:
        expected = self.cache.ledger.expected(claim)
        more = excess(claim.charged, expected)
        return _Outgrown(expected, more, self.cache.ledger.killed(claim)) if more.any() else None

    # -- 3. one slice ---------------------------------------------------------------------------------------------

    def _slice(
        self,
        batch: Batch,
        vacancies: np.ndarray,
        wanted: Mapping[str, _Wanted],
        reply: PlaceReply,
        lost: list[_Wanted],
    ) -> None:
        """Decide for some milliseconds. `vacancies`: pods each node may still hold, kept over all slices."""
        until = self.cache.clock() + self.cache.settings.slice
        while not batch.done:
            for outcome in batch.step(STEP):
                each = wanted[outcome.uid]
                if not self.cache.waits(outcome.uid):  # it was deleted or bound meanwhile
                    reply.refused.append(Refusing(outcome.uid, names.UNKNOWN_POD))
                elif isinstance(outcome, Refusal):
                    self._refuse(each, _refusing(outcome), reply)
                    self.waiting.add(each.pod, outcome.reason.value)
                elif vacancies[outcome.row] > 0 and self._take(outcome.node, each):
                    vacancies[outcome.row] -= 1
                    self.cache.assigned.add(outcome.uid)
                    reply.placed.append(Placed(outcome.uid, outcome.node))
                    self.waiting.drop(outcome.uid)
                    self._note(each.pod, Result.PLACED, node=outcome.node)
                else:
                    lost.append(each)
            if self.cache.clock() >= until:  # looked at after the work: each slice gets on by one step at least
                return

    def _take(self, node: str, each: _Wanted) -> bool:
        """Whether the chosen node serves the pod as it is now; if so it is entered there.

        The ledger is asked each time, with all that was entered before: a pod may cost its node more than it declares,
        by what other pods of its app use or by whom the kernel would kill. Plain numbers: rows are short.
        """
        spot, kinds = self.cache.ledger.spot(node, self.cache.clock()), self.cache.kinds
        if spot is None or not spot.open:
            return False
        asked = (*conversion.amounts(each.pod.declared, kinds), *conversion.amounts(each.pod.native, kinds))
        if not all(map(ge, (*spot.room, *spot.native), needed_by(asked))):
            return False
        return self.cache.reserve(each.pod, node, each.role, each.app)

    def _refuse(self, each: _Wanted, refusing: Refusing, reply: PlaceReply) -> None:
        if each.before is not None and not each.pod.gates and self.cache.waits(each.uid):
            # It was on its way before, and goes on to look for a node by itself.
            self.cache.reserve_anywhere(each.uid, each.pod.declared, growth=each.growth)
        reply.refused.append(refusing)
        self._note(each.pod, Result.REFUSED, reason=refusing.reason, counts=refusing.counts)

    def _note(self, pod: PodRecord, result: Result, **numbers: Unpack[Numbers]) -> None:
        """Remember a decision among those about single pods."""
        mode = self.cache.governance.mode(pod.namespace).value
        numbers["asked"] = len(self.cache.nodes)
        self.decisions.note("place", pod, mode, result, **numbers)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A pod of the batch and what was found out about it."""

    ask: PlaceItem
    pod: PodRecord
    app: str
    role: Role
    before: PodClaim | None = None  # what was reserved for it when it was asked for

    @property
    def growth(self) -> bool:
        """Whether that took nothing of the nodes, as it waits for one that does not exist yet."""
        return self.before is not None and not any(self.before.declared)

    @property
    def driver(self) -> bool:
        return self.role is Role.DRIVER

    @property
    def uid(self) -> str:
        return self.pod.uid

    def prepared(
        self, table: NodeTable, allowed: np.ndarray | None, inputs: Inputs, *, unproven: bool = False
    ) -> PodAsk:
        """The pod as the core wants it."""
        return PodAsk(
            uid=self.pod.uid,
            declared=conversion.amounts(self.pod.declared, table.kinds),
            native=conversion.amounts(self.pod.native, table.kinds),
            driver=self.driver,
            group=self.ask.group,
            urgency=self.ask.urgency,
            alignment=self.ask.alignment,
            submitted=self.ask.submitted or self.pod.created,
            rank=self.ask.rank,
            inputs=inputs,
            unproven=unproven,
            allowed=self.narrowed(table, allowed),
        )

    def narrowed(self, table: NodeTable, allowed: np.ndarray | None, *, spare: bool = False) -> np.ndarray | None:
        """The rows it may use of those its constraints allow; `spare`: and those it should leave to others."""
        avoid = set(self.ask.avoid or ()).difference(self.ask.spare or () if spare else ())
        return narrowed(table, conversion.serving(self.pod, table, allowed), self.ask.nodes, avoid)


class _Outgrown(NamedTuple):
    """A pod of an app that uses more than the pod declares."""

    expected: np.ndarray  # by kind
    more: np.ndarray  # the kinds of which it is more
    killed: bool  # whether one of its app was killed for it


@dataclass(slots=True)
class _Facts:
    """What the cache knows of the pods of a batch."""

    allowed: dict[int, np.ndarray | None] = field(default_factory=dict)  # by constraints: the rows they accept
    inputs: dict[str, Inputs] = field(default_factory=dict)  # by uid, as all below
    unknown: set[str] = field(default_factory=set)  # of whose likes nobody has seen what they use
    outgrown: dict[str, _Outgrown] = field(default_factory=dict)
    in_time: dict[int, np.ndarray | None] = field(default_factory=dict)  # by constraints, for those killed before
    left: np.ndarray | None = None  # what tasks find on each node once the tasks there have ended, if somebody asks

    def prospect(
        self, each: _Wanted, table: NodeTable, now: np.ndarray | None, selected: np.ndarray | None
    ) -> Prospect | None:
        """What a pod may wait for, given the rows that accept it now and those that its queue may use."""
        if self.left is None:
            return None
        later = common(self.in_time[id(each.pod.constraints)], selected)
        reach = [each.narrowed(table, rows, spare=True) for rows in (now, later)]
        return Prospect(self.left, *reach)


def _refusing(refusal: Refusal) -> Refusing:
    counts = {reason.value: number for reason, number in refusal.counts}
    return Refusing(refusal.uid, refusal.reason.value, counts)


def _tell_needs(reply: PlaceReply, asks: Sequence[PodAsk], wanted: Mapping[str, _Wanted], kinds: Kinds) -> None:
    """Name the room that refused pods wait for, where it is more than they declare."""
    refused = {each.uid: each for each in reply.refused}
    for ask in asks:
        if ask.uid in refused and ask.declared != conversion.amounts(wanted[ask.uid].pod.declared, kinds):
            refused[ask.uid].needs = dict(zip(kinds, ask.declared, strict=True))
