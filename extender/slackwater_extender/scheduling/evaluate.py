"""One pod against the nodes asked about: the same examination for filter, prioritize and explain.

Held under the lock of the cache: what is read and what is placed belong to one moment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from operator import lt
from typing import TYPE_CHECKING

import numpy as np

from slackwater.nodetable import NodeColumns, NodeRow, NodeTable, PodAsk
from slackwater.placement.filter import Fit, judge, judge_one
from slackwater.placement.outgrown import unproven
from slackwater.placement.reasons import BY_CODE, FilterReason
from slackwater.placement.score import TOP, score, shortlist, with_one_leader
from slackwater.roles import Role
from slackwater_cluster.customresources import Mode, SlackPolicySpec
from slackwater_cluster.objects.records import PodRecord
from slackwater_extender.cache import conversion
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.scheduling.nodenames import NodeNameList, RowFinder

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Only a native shortage can be cured by evicting pods; measured room, staleness and the rest cannot.
RESOLVABLE = frozenset({FilterReason.NATIVE.code})

NOT_STARTED = "slackwater: extender is starting, its view of the cluster is not complete"


@dataclass(frozen=True, slots=True)
class PodContext:
    """A pod and what the cache says about it as a whole."""

    pod: PodRecord
    policy: SlackPolicySpec
    ours: bool
    role: Role = Role.UNKNOWN
    app: str = ""
    refusal: FilterReason | None = None  # parked, over budget, pool closed: refused on every node

    @property
    def driver(self) -> bool:
        """Whether it drives its app."""
        return self.role is Role.DRIVER

    @property
    def mode(self) -> Mode:
        """How much may be done."""
        return self.policy.mode


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that serves the pod."""

    name: str
    score: int
    room: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Scores:
    """A score for each of some nodes; where all of them are known, also their rows among all nodes."""

    names: Sequence[str]
    points: NDArray[np.int16]
    rows: NDArray[np.intp] | None = None
    everyone: tuple[str, ...] = ()  # the names of all rows, the same object while no node comes or goes


@dataclass(frozen=True, slots=True)
class OneNode:
    """Findings on one node: the nominated one, the common case. Plain numbers, since arrays of one are slow."""

    name: str
    room: tuple[float, ...]
    reason: FilterReason | None
    asked: int = 1

    @property
    def fitting(self) -> int:
        """Whether it serves the pod."""
        return int(self.reason is None)

    def best(self, size: int = 1) -> list[Candidate]:
        """The node, if it serves."""
        found = [] if self.reason else [Candidate(self.name, TOP, self.room)]
        return found[: size or None]

    def refused(self) -> tuple[dict[str, str], dict[str, str]]:
        """The node with its reason, if it does not."""
        if self.reason is None:
            return {}, {}
        told = {self.name: self.reason.value}
        return (told, {}) if self.reason.code in RESOLVABLE else ({}, told)

    def counts(self) -> dict[str, int]:
        """Its reason."""
        return {self.reason.value: 1} if self.reason else {}

    def scores(self) -> Scores:
        """Its score: one node is best by itself."""
        return Scores([self.name], np.array([0 if self.reason else TOP], np.int16))


@dataclass(frozen=True, slots=True)
class ManyNodes:
    """Findings on many nodes, as arrays. Positions are those of the names asked."""

    names: Sequence[str]
    table: NodeColumns  # the known nodes among them
    known: NDArray[np.intp]  # their positions
    rows: NDArray[np.intp]  # and their rows in the table of all nodes
    everyone: tuple[str, ...]  # the names of which
    fit: Fit
    points: NDArray[np.int16]

    @property
    def asked(self) -> int:
        """How many were asked about."""
        return len(self.names)

    @property
    def fitting(self) -> int:
        """How many serve the pod."""
        return int(np.count_nonzero(self.fit.fits))

    def best(self, size: int = 1) -> list[Candidate]:
        """The best nodes, at most so many (0: all)."""
        rows = shortlist(self.points, self.fit, size)
        chosen = zip(self.rows[rows].tolist(), self.points[rows].tolist(), self.table.room[rows].tolist(), strict=True)
        return [Candidate(self.everyone[row], score, tuple(room)) for row, score, room in chosen]

    def refused(self) -> tuple[dict[str, str], dict[str, str]]:
        """Failed nodes, and those where evicting pods would not help, each with its constant reason."""
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        codes = self.fit.codes
        for code in [] if self.fit.fits.all() else np.flatnonzero(np.bincount(codes)).tolist():
            if code:
                bad = self.rows[np.flatnonzero(codes == code)].tolist()
                target = failed if code in RESOLVABLE else unresolvable
                target.update(zip(map(self.everyone.__getitem__, bad), repeat(BY_CODE[code].value), strict=False))
        if len(self.known) < len(self.names):
            seen = set(self.known.tolist())
            unresolvable.update(
                {name: FilterReason.UNKNOWN_NODE.value for at, name in enumerate(self.names) if at not in seen}
            )
        return failed, unresolvable

    def counts(self) -> dict[str, int]:
        """Refused nodes by reason, the commonest first."""
        refused = {} if self.fit.fits.all() else self.fit.counts()
        counts = {reason.value: number for reason, number in refused.items()}
        missing = len(self.names) - len(self.known)
        return {**counts, FilterReason.UNKNOWN_NODE.value: missing} if missing else counts

    def scores(self) -> Scores:
        """The score of each node asked about; nodes that are not known get 0."""
        if len(self.known) == len(self.names):
            return Scores(self.names, with_one_leader(self.points), self.rows, self.everyone)
        points = np.zeros(len(self.names), np.int16)
        points[self.known] = with_one_leader(self.points)
        return Scores(self.names, points)


NodeFits = OneNode | ManyNodes


def case(cache: ClusterCache, pod: PodRecord) -> PodContext:
    """What the cache says about a pod before any node is looked at."""
    policy = cache.governance.policy(pod.namespace)
    if not cache.managed(pod):
        return PodContext(pod, policy, ours=False)
    role, app = cache.recognise(pod)
    refusal = _refusal(cache, pod, app, driver=role is Role.DRIVER)
    return PodContext(pod, policy, ours=True, role=role, app=app, refusal=refusal)


def _refusal(cache: ClusterCache, pod: PodRecord, app: str, *, driver: bool) -> FilterReason | None:
    if pod.parked:
        return FilterReason.PARKED
    if cache.live(pod.uid) or not cache.guard.speaks(cache.clock()):
        return None
    return cache.guard.verdict(pod, app, driver=driver)


def examine(cache: ClusterCache, case: PodContext, names: Sequence[str], finder: RowFinder | None = None) -> NodeFits:
    """Hold the pod against the named nodes; it does not count itself. `finder` finds the rows of many names at once."""
    if len(names) == 1:
        return _single(cache, case, names[0])
    now = cache.clock()
    whole = cache.ledger.table(now)
    known, rows = _located(whole, names, finder)
    table = _subset(whole, rows)
    ask = conversion.ask(case.pod, table.kinds, driver=case.driver)
    _leave_out(cache, ask, now, table, rows)
    fit = judge(table, ask)  # the ledger's numbers are finite by construction
    points = _points(cache, case, whole, rows, table, ask, fit)
    return ManyNodes(names, table, known, rows, whole.names, fit, points)


def _leave_out(cache: ClusterCache, ask: PodAsk, now: float, table: NodeColumns, rows: NDArray[np.intp]) -> None:
    """Give back what the pod itself holds of one of these rows, in the copy made for it."""
    held = cache.ledger.claim(ask.uid)
    row = cache.ledger.table(now).index.get(held.node, -1) if held else -1
    own = np.flatnonzero(rows == row) if row >= 0 else rows[:0]
    if held and own.size and (spot := _found_by(cache, ask, held.node, now)):
        table.room[own], table.native[own] = spot.room, spot.native


def _single(cache: ClusterCache, case: PodContext, name: str) -> OneNode:
    ask = conversion.ask(case.pod, cache.kinds, driver=case.driver)
    spot = _found_by(cache, ask, name, cache.clock())
    if spot is None:
        return OneNode(name, (), FilterReason.UNKNOWN_NODE)
    return OneNode(name, tuple(spot.room), judge_one(spot, ask, cache.kinds))


def _found_by(cache: ClusterCache, ask: PodAsk, name: str, now: float) -> NodeRow | None:
    """A node as the pod finds it, which does not count itself.

    Of kinds of which all pods there have enough, this one among them, it finds at least what it declares: pods that
    came after it may have cost more, or less, than they declare, and it keeps the place that it was given.
    """
    spot, held = cache.ledger.spot(name, now, ask.uid), cache.ledger.claim(ask.uid)
    if spot is None or held is None or held.node != name or not any(map(lt, spot.room, ask.declared)):
        return spot
    everyone = cache.ledger.spot(name, now) or spot
    both = zip(spot.room, ask.declared, everyone.room, strict=True)
    return spot._replace(room=[max(room, own) if left >= 0 else room for room, own, left in both])


def _points(
    cache: ClusterCache,
    case: PodContext,
    whole: NodeTable,
    rows: NDArray[np.intp],
    table: NodeColumns,
    ask: PodAsk,
    fit: Fit,
) -> NDArray[np.int16]:
    if len(table) <= 1:  # one node is best by itself
        return np.where(fit.fits, TOP, 0).astype(np.int16)
    inputs = () if case.driver else cache.outputs.inputs(case.pod, case.app)
    seconds = cache.arrivals(whole, [case.pod.uid]).seconds(inputs, rows) if inputs else None
    claim, ledger = cache.claim(case.pod), cache.ledger
    ask = replace(ask, unproven=unproven(claim.charged, ledger.expected(claim), unknown=ledger.unknown(claim)))
    return score(table, ask, fit, incoming=seconds, balance=conversion.weights(case.policy))


def _located(
    table: NodeTable, names: Sequence[str], finder: RowFinder | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the known names, and their rows."""
    if isinstance(names, NodeNameList) and finder is not None:
        found = finder.rows(names, table.names, table.index)
    else:
        found = np.fromiter(map(table.index.get, names, repeat(-1)), np.intp, len(names))
    known = np.flatnonzero(found >= 0)
    return known, found if len(known) == len(found) else found[known]


def _subset(table: NodeTable, rows: NDArray[np.intp]) -> NodeColumns:
    """Some rows of the table, in the order given; who they are is known by their rows."""
    # `take` is several times as fast as an index.
    return NodeColumns(
        kinds=table.kinds,
        total=table.total.take(rows, axis=0),
        room=table.room.take(rows, axis=0),
        native=table.native.take(rows, axis=0),
        open=table.open.take(rows),
        stale=None if table.stale is None else table.stale.take(rows, axis=0),
    )


def named(kinds: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Amounts with their kinds, for people."""
    return {kind: round(float(value), 6) for kind, value in zip(kinds, values, strict=True)}
