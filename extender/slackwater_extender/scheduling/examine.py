"""One pod against the nodes asked about: the same examination for filter, prioritize and explain.

Held under the lock of the books: what is read and what is placed belong to one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Protocol, cast, overload

import numpy as np

from slackwater.nodes import NodeTable, PodAsk
from slackwater.placement.filter import Fit, judge, judge_one, residual
from slackwater.placement.reasons import BY_CODE, FilterReason
from slackwater.placement.score import TOP, led, score, shortlist
from slackwater.roles import Role
from slackwater_cluster.customresources import Mode, SlackPolicySpec
from slackwater_cluster.watch.records import PodRecord
from slackwater_extender.cache import claims
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.locality import incoming
from slackwater_extender.scheduling.nodenames import NodeNameList
from slackwater_extender.scheduling.wire import Priorities, prioritised

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Only a native shortage can be cured by evicting pods; measured room, staleness and the rest cannot.
RESOLVABLE = frozenset({FilterReason.NATIVE.code})

NOT_STARTED = "slackwater: extender is starting, its view of the cluster is not complete"


@dataclass(frozen=True, slots=True)
class PodContext:
    """A pod and what the books say about it as a whole."""

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


class NodeFits(Protocol):
    """How the nodes asked about look for the pod."""

    @property
    def asked(self) -> int:
        """How many were asked about."""
        ...

    @property
    def fitting(self) -> int:
        """How many serve the pod."""
        ...

    def best(self, size: int = 1) -> list[Candidate]:
        """The best nodes, at most so many (0: all)."""
        ...

    def refused(self) -> tuple[dict[str, str], dict[str, str]]:
        """Failed nodes, and those where evicting pods would not help, each with its constant reason."""
        ...

    def counts(self) -> dict[str, int]:
        """Refused nodes by reason, the commonest first."""
        ...

    def priorities(self, pieces: Priorities) -> bytes:
        """The scores as the scheduler wants them."""
        ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node that serves the pod."""

    name: str
    score: int
    room: tuple[float, ...]


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
        del size
        return [] if self.reason else [Candidate(self.name, TOP, self.room)]

    def refused(self) -> tuple[dict[str, str], dict[str, str]]:
        """The node with its reason, if it does not."""
        if self.reason is None:
            return {}, {}
        told = {self.name: self.reason.value}
        return (told, {}) if self.reason.code in RESOLVABLE else ({}, told)

    def counts(self) -> dict[str, int]:
        """Its reason."""
        return {self.reason.value: 1} if self.reason else {}

    def priorities(self, pieces: Priorities) -> bytes:
        """Its score: one node is best by itself."""
        del pieces
        return prioritised([self.name], [0 if self.reason else TOP])


@dataclass(frozen=True, slots=True)
class ManyNodes:
    """Findings on many nodes, as arrays. Positions are those of the names asked."""

    names: Sequence[str]
    table: NodeTable  # the known nodes among them
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

    def priorities(self, pieces: Priorities) -> bytes:
        """The scores as the scheduler wants them; nodes that are not known get 0."""
        if len(self.known) == len(self.names):
            return pieces.list(self.everyone, self.rows, led(self.points))
        points = np.zeros(len(self.names), np.int16)
        points[self.known] = led(self.points)
        return prioritised(self.names, points.tolist())


def case(books: ClusterCache, pod: PodRecord) -> PodContext:
    """What the books say about a pod before any node is looked at."""
    policy = books.governance.policy(pod.namespace)
    if not books.managed(pod):
        return PodContext(pod, policy, ours=False)
    role, app = books.recognise(pod)
    refusal = _refusal(books, pod, app, driver=role is Role.DRIVER)
    return PodContext(pod, policy, ours=True, role=role, app=app, refusal=refusal)


def _refusal(books: ClusterCache, pod: PodRecord, app: str, *, driver: bool) -> FilterReason | None:
    if pod.parked:
        return FilterReason.PARKED
    return None if books.live(pod.uid) else books.guard.verdict(pod, app, driver=driver)


def examine(books: ClusterCache, case: PodContext, names: Sequence[str]) -> NodeFits:
    """Hold the pod against the named nodes; it does not count itself."""
    if len(names) == 1:
        return _single(books, case, names[0])
    now = books.clock()
    whole = books.ledger.table(now)
    known, rows = located(books, whole, names)
    table = subset(whole, rows)
    _leave_out(books, case.pod.uid, now, table, rows)
    ask = claims.ask(case.pod, table.kinds, driver=case.driver)
    fit = judge(table, ask, residual(table))  # the ledger's numbers are finite by construction
    return ManyNodes(names, table, known, rows, whole.names, fit, _points(books, case, table, ask, fit))


def _leave_out(books: ClusterCache, uid: str, now: float, table: NodeTable, rows: NDArray[np.intp]) -> None:
    """Give back what the pod itself holds of one of these rows, in the copy made for it."""
    held = books.ledger.claim(uid)
    row = books.ledger.table(now).index.get(held.node, -1) if held else -1
    own = np.flatnonzero(rows == row) if row >= 0 else rows[:0]
    if held and own.size and (spot := books.ledger.spot(held.node, now, uid)):
        table.room[own], table.native[own] = spot.room, spot.native


def _single(books: ClusterCache, case: PodContext, name: str) -> OneNode:
    spot = books.ledger.spot(name, books.clock(), case.pod.uid)
    if spot is None:
        return OneNode(name, (), FilterReason.UNKNOWN_NODE)
    ask = claims.ask(case.pod, books.kinds, driver=case.driver)
    return OneNode(name, tuple(spot.room), judge_one(spot, ask, books.kinds))


def _points(books: ClusterCache, case: PodContext, table: NodeTable, ask: PodAsk, fit: Fit) -> NDArray[np.int16]:
    if len(table) <= 1:  # one node is best by itself
        return np.where(fit.fits, TOP, 0).astype(np.int16)
    inputs = {} if case.driver else books.outputs.inputs(case.pod, case.app)
    seconds = incoming(books, inputs, table.names, books.load)
    return score(table, ask, fit, incoming=seconds, balance=claims.weights(case.policy))


def located(books: ClusterCache, table: NodeTable, names: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the known names, and their rows."""
    if isinstance(names, NodeNameList):
        found = books.finder.rows(names, table.names, table.index)
    else:
        found = np.fromiter(map(table.index.get, names, repeat(-1)), np.intp, len(names))
    known = np.flatnonzero(found >= 0)
    return known, found if len(known) == len(found) else found[known]


def subset(table: NodeTable, rows: NDArray[np.intp]) -> NodeTable:
    """Some rows of the table, in the order given. Names are looked up when somebody asks: most decisions do not."""
    chosen = _Names(table.names, rows)
    return NodeTable(
        kinds=table.kinds,
        names=cast("tuple[str, ...]", chosen),  # a tuple to whoever reads it
        index=_Positions(chosen),
        total=table.total.take(rows, axis=0),  # several times as fast as an index
        room=table.room.take(rows, axis=0),
        native=table.native.take(rows, axis=0),
        open=table.open.take(rows),
        stale=table.stale.take(rows),
    )


class _Names(Sequence[str]):
    """Names of some rows, looked up when somebody asks."""

    __slots__ = ("_all", "_rows")

    def __init__(self, everyone: tuple[str, ...], rows: NDArray[np.intp]) -> None:
        self._all, self._rows = everyone, rows

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> list[str]: ...
    def __getitem__(self, at: int | slice) -> str | list[str]:
        return (
            [self._all[row] for row in self._rows[at].tolist()] if isinstance(at, slice) else self._all[self._rows[at]]
        )

    def __iter__(self) -> Iterator[str]:
        return map(self._all.__getitem__, self._rows.tolist())

    def __len__(self) -> int:
        return len(self._rows)


class _Positions(Mapping[str, int]):
    """Name → row, made only when somebody asks: most decisions never do."""

    __slots__ = ("_made", "_names")

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._made: dict[str, int] | None = None

    def _index(self) -> dict[str, int]:
        if self._made is None:
            self._made = {name: row for row, name in enumerate(self._names)}
        return self._made

    def __getitem__(self, name: str) -> int:
        return self._index()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def named(kinds: Sequence[str], values: Sequence[float]) -> dict[str, float]:
    """Amounts with their kinds, for people."""
    return {kind: round(float(value), 6) for kind, value in zip(kinds, values, strict=True)}
