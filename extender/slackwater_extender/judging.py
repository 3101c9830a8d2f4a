"""One pod against the nodes asked about: the same examination for filter, prioritize and explain.

Held under the lock of the books: what is read and what is placed belong to one moment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from slackwater.claims import Role
from slackwater.filtering import Fit, judge, residual
from slackwater.nodes import Ask, NodeTable
from slackwater.reasons import BY_CODE, Reason
from slackwater.scoring import TOP, score, shortlist
from slackwater_cluster.customresources import Mode, SlackPolicySpec
from slackwater_cluster.records import PodRecord
from slackwater_extender import claiming
from slackwater_extender.books import Books
from slackwater_extender.network import incoming
from slackwater_extender.policies import weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Only a native shortage can be cured by evicting pods; measured room, staleness and the rest cannot.
RESOLVABLE = frozenset({Reason.NATIVE.code})

# Up to so many nodes are computed alone; beyond, rows of the whole table (kept current anyway) are cheaper.
FEW = 32

NOT_STARTED = "slackwater: extender is starting, its view of the cluster is not complete"


@dataclass(frozen=True, slots=True)
class Case:
    """A pod and what the books say about it as a whole."""

    pod: PodRecord
    policy: SlackPolicySpec
    ours: bool
    role: Role = Role.UNKNOWN
    app: str = ""
    refusal: Reason | None = None  # parked, over budget, pool closed: refused on every node

    @property
    def driver(self) -> bool:
        """Whether it drives its app."""
        return self.role is Role.DRIVER

    @property
    def mode(self) -> Mode:
        """How much may be done."""
        return self.policy.mode


@dataclass(frozen=True, slots=True)
class Findings:
    """How the nodes asked about look for the pod. Positions are those of the names asked."""

    names: Sequence[str]
    table: NodeTable  # the known nodes among them
    known: NDArray[np.intp]  # their positions
    fit: Fit
    points: NDArray[np.int16]

    @property
    def fitting(self) -> int:
        """How many serve the pod."""
        return int(self.fit.fits.sum())

    def best(self, size: int = 1) -> NDArray[np.intp]:
        """Rows of the best nodes, at most so many (0: all)."""
        return shortlist(self.points, self.fit, size)

    def name(self, row: int) -> str:
        """The name of a row."""
        return self.names[int(self.known[row])]

    def refused(self) -> tuple[dict[str, str], dict[str, str]]:
        """Failed nodes, and those where evicting pods would not help, each with its constant reason."""
        failed: dict[str, str] = {}
        unresolvable: dict[str, str] = {}
        codes = self.fit.codes
        for code in set(codes[~self.fit.fits].tolist()):
            bad = self.known[np.flatnonzero(codes == code)].tolist()
            target = failed if code in RESOLVABLE else unresolvable
            target.update(zip(map(self.names.__getitem__, bad), repeat(BY_CODE[code].value), strict=False))
        if len(self.known) < len(self.names):
            seen = set(self.known.tolist())
            unresolvable.update(
                {name: Reason.UNKNOWN_NODE.value for at, name in enumerate(self.names) if at not in seen}
            )
        return failed, unresolvable

    def counts(self) -> dict[str, int]:
        """Refused nodes by reason, the commonest first."""
        refused = {} if self.fit.fits.all() else self.fit.counts()
        counts = {reason.value: number for reason, number in refused.items()}
        missing = len(self.names) - len(self.known)
        return {**counts, Reason.UNKNOWN_NODE.value: missing} if missing else counts


def case(books: Books, pod: PodRecord) -> Case:
    """What the books say about a pod before any node is looked at."""
    policy = books.policies.of(pod.namespace)
    if not books.managed(pod):
        return Case(pod, policy, ours=False)
    role, app = books.family.recognise(pod)
    refusal = _refusal(books, pod, app, driver=role is Role.DRIVER)
    return Case(pod, policy, ours=True, role=role, app=app, refusal=refusal)


def _refusal(books: Books, pod: PodRecord, app: str, *, driver: bool) -> Reason | None:
    if pod.parked:
        return Reason.PARKED
    return None if books.live(pod.uid) else books.guard.verdict(pod, app, driver=driver)


def examine(books: Books, case: Case, names: Sequence[str]) -> Findings:
    """Hold the pod against the named nodes; it does not count itself."""
    now = books.clock()
    if len(names) <= FEW:
        table = books.ledger.part(names, now, case.pod.uid)
        known = np.array([at for at, name in enumerate(names) if name in table.index], np.intp)
    else:
        table = books.ledger.room_without(case.pod.uid, now)
        if len(names) == len(table) and table.index.keys() == set(names):
            names, known = table.names, np.arange(len(table))  # all nodes: no need to look for each
        else:
            known, rows = located(table.index, names)
            table = subset(table, rows, names if len(known) == len(names) else None)
    ask = claiming.ask(case.pod, table.kinds, driver=case.driver)
    fit = judge(table, ask, residual(table))  # the ledger's numbers are finite by construction
    return Findings(names, table, known, fit, _points(books, case, table, ask, fit))


def _points(books: Books, case: Case, table: NodeTable, ask: Ask, fit: Fit) -> NDArray[np.int16]:
    if len(table) <= 1:  # one node is best by itself: the nominated one, the common case
        return np.where(fit.fits, TOP, 0).astype(np.int16)
    inputs = {} if case.driver else books.outputs.inputs(case.pod, case.app)
    seconds = incoming(books, inputs, table.names, books.load)
    return score(table, ask, fit, incoming=seconds, balance=weights(case.policy))


def located(index: Mapping[str, int], names: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Positions of the known names, and their rows."""
    try:
        # Twice as fast as asking one by one, and almost always all names are known.
        rows = np.fromiter(itemgetter(*names)(index), np.intp, len(names))
        return np.arange(len(names)), rows
    except KeyError:
        found = np.fromiter(map(index.get, names, repeat(-1)), np.intp, len(names))
        known = np.flatnonzero(found >= 0)
        return known, found[known]


def subset(table: NodeTable, rows: NDArray[np.intp], names: Sequence[str] | None = None) -> NodeTable:
    """Some rows of the table, in the order given; `names` saves looking them up again."""
    chosen = tuple(names) if names is not None else tuple(map(table.names.__getitem__, rows.tolist()))
    return NodeTable(
        kinds=table.kinds,
        names=chosen,
        index=_Positions(chosen),
        total=table.total[rows],
        room=table.room[rows],
        native=table.native[rows],
        open=table.open[rows],
        stale=table.stale[rows],
    )


class _Positions(Mapping[str, int]):
    """Name → row, made only when somebody asks: most decisions never do."""

    __slots__ = ("_made", "_names")

    def __init__(self, names: tuple[str, ...]) -> None:
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
