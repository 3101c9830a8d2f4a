"""The ledger's answers: the table of all nodes, kept current row by row, and the arithmetic of one node.

    room = max(min(AR, NC) − E − drivers, allocatable − Σ D)

Reservations are a floor: what fits by declared requests alone, as the stock scheduler counts, has room; measurement may
only add. For memory, which kills, the floor holds unless measured use is already above what the node allows or a
kubelet evicted a pod since the last sample, and where the apps of its pods are known to use more than they declare,
what they use takes the place of Σ D. Where pods ask for more CPU than there is, so that by requests alone nothing more
would be placed, that counts what settled pods use, too. Above that, room for memory ends where the kernel could kill a
pod of somebody else before a task (`oomorder`).

A table once given out never changes. A pod event touches one row; the next table copies the arrays (a few
microseconds at 5,000 nodes) and computes that row anew. A sample touches all rows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.margins import COMPRESSIBLE
from slackwater.estimation.measures import Measure
from slackwater.estimation.staleness import Staleness
from slackwater.ledger.nodeindex import NodeIndex
from slackwater.ledger.oomorder import OomOrder
from slackwater.ledger.riskreserve import RiskMargins
from slackwater.ledger.types import NodePromise, PodClaim, RoomLine
from slackwater.nodetable import NodeRow, NodeTable
from slackwater.resources import Kinds
from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]


FEW = 4  # touched rows up to which plain numbers are faster than arrays


class Survey(NamedTuple):
    """All nodes, and what counts as taken of each and is too old, node × kind."""

    table: NodeTable
    estimate: Floats  # E, of everything but drivers
    drivers: Floats  # what drivers are charged
    stale: NDArray[np.bool_]


class RoomTable:
    """Makes tables of what nodes, estimates and freshness hold."""

    def __init__(
        self,
        kinds: Kinds,
        nodes: NodeIndex,
        estimates: NodeEstimates,
        freshness: Staleness,
        margins: RiskMargins | None = None,
        *,
        floor: bool = True,
        order: OomOrder | None = None,
    ) -> None:
        self._margins, self._floor = margins, floor
        self._order = order if order is not None and order.kind >= 0 and floor else None
        self.strict: NDArray[np.bool_] = np.array([kind not in COMPRESSIBLE for kind in kinds], np.bool_)
        self._hard: list[bool] = self.strict.tolist()  # the same as plain values
        self._kinds, self._nodes, self._estimates, self._freshness = kinds, nodes, estimates, freshness
        self._table: NodeTable | None = None
        self._of: Floats = nodes.total  # the arrays of nodes that everything here is made of
        self._limit: Floats = nodes.limit
        self._limits: list[list[float]] = []  # the same, and allocatable, as plain numbers
        self._totals: list[list[float]] = []
        self._shares: list[float] = []  # allocatable ÷ capacity of memory, as plain numbers
        self._touched: set[int] = set()
        self._stale: NDArray[np.bool_] = np.zeros((0, len(kinds)), np.bool_)  # in the table: row × kind

    def touch(self, row: int) -> None:
        """A row's pods changed."""
        self._touched.add(row)

    def touch_all(self) -> None:
        """Everything may have changed."""
        self._table = None

    def table(self, now: float) -> NodeTable:
        """All nodes at this moment."""
        self._refresh()
        before, stale = self._stale, self._freshness.stale(now)
        self._stale = stale
        if self._table is None:
            self._table = self._whole(stale)
        else:
            if stale is not before:
                self._touched.update(np.flatnonzero((stale != before).any(axis=1)).tolist())
            self._touched.discard(-1)
            if self._touched:
                self._table = self._updated(self._table, now, stale)
        self._touched.clear()
        return self._table

    def spot(self, row: int, now: float, without: int | None = None, claim: PodClaim | None = None) -> NodeRow:
        """One row as plain numbers, as if the pod in slot `without`, of that claim, were not there.

        The formula of `_rows`, without its arrays: on two or three kinds they cost ten times what they compute. That
        both say the same is held by `test_one_node_equals_its_row_whatever_the_ledger_counts`.
        """
        self._refresh()
        stale = self._freshness.stale(now)[row]
        sums, claim = self._sums(row, without, claim)
        limit, total = self._limits[row], self._totals[row]
        taken = zip(limit, self._estimate_one(row, sums, stale), sums[Measure.CHARGE], strict=True)
        room = [most - estimate - drivers for most, estimate, drivers in taken]
        used, emptied = self._estimates.measured(row, stale).tolist(), self._estimates.exhausted[row].tolist()
        terms = zip(self._hard, used, limit, emptied, stale.tolist(), strict=True)
        crowded = [hard and (use > most or (out and not late)) for hard, use, most, out, late in terms]
        if self._margins is not None:
            margins = self._margins.margin(row, stale, np.array(crowded)).tolist()
            room = [free - kept for free, kept in zip(room, margins, strict=True)]
        if self._floor:
            self._raise_to_floor(row, room, total, sums, crowded)
        if self._order is not None:
            kind = self._order.kind
            room[kind] = min(room[kind], self._order.bound(row, sums, total[kind], self._shares[row], claim))
        left = [most - asked for most, asked in zip(total, sums[Measure.NATIVE], strict=True)]
        return NodeRow(room, left, total, bool(self._nodes.open[row]), stale.tolist())

    def _sums(self, row: int, without: int | None, claim: PodClaim | None) -> tuple[list[list[float]], PodClaim | None]:
        """What the pods of a row add up to, measure × kind, less one of them; and its claim, if it is there at all."""
        pods = self._estimates.pods
        sums: list[list[float]] = pods.sums[row].tolist()
        if without is None or pods.row_of(without) != row:
            return sums, None
        own = pods.cells[:, :, without].tolist()
        return [[all_ - mine for all_, mine in zip(*both, strict=True)] for both in zip(sums, own, strict=True)], claim

    def _estimate_one(self, row: int, sums: list[list[float]], stale: NDArray[np.bool_]) -> list[float]:
        """`_estimate` of one row, with these sums of its pods."""
        estimate: list[float] = self._estimates.estimate_one(row, sums)
        if True in stale.tolist():  # `any` of an array takes ten times as long
            here = np.array([row], np.intp)
            fallback = self._estimates.unsampled(here, np.array([estimate]), np.array([sums]))[0]
            estimate = np.where(stale, fallback, estimate).tolist()
        return estimate

    def _raise_to_floor(
        self, row: int, room: list[float], total: list[float], sums: list[list[float]], crowded: list[bool]
    ) -> None:
        """What fits by declared requests has room; of strict kinds by what pods are known to use, if it is more."""
        declared, top, charge = sums[Measure.ALL_DECLARED], sums[Measure.TOP], sums[Measure.CHARGE]
        soft = (k for k, hard in enumerate(self._hard) if not hard)
        over = any(declared[k] > total[k] * (1 + TOLERANCE) for k in soft)
        excess = self._estimates.excess(row).tolist() if over else [0.0] * len(total)
        for kind, hard in enumerate(self._hard):
            if not hard:
                room[kind] = max(room[kind], total[kind] - declared[kind])
            elif not crowded[kind]:
                known = top[kind] + excess[kind] + charge[kind]
                room[kind] = max(room[kind], total[kind] - max(declared[kind], known))

    def pool_total(self, now: float) -> Floats:
        """Σ D + room over open nodes, room counted from 0."""
        table = self.table(now)
        total: Floats = self.declared() + np.maximum(table.room[table.open], 0.0).sum(axis=0)
        return total

    def declared(self) -> Floats:
        """Σ D of managed pods over open nodes, by kind."""
        self._refresh()
        sums, takes = self._estimates.pods.sums[:, Measure.DECLARED], self._nodes.open
        total: Floats = (sums if takes.all() else sums[takes]).sum(axis=0)
        return total

    def without_tasks(self) -> Floats:
        """Allocatable less drivers and pods of others."""
        self._refresh()
        sums = self._estimates.pods.sums
        others = sums[:, Measure.ALL_DECLARED] - sums[:, Measure.DECLARED]
        left: Floats = self._nodes.total - sums[:, Measure.CHARGE] - others
        return left

    def taken(self, now: float) -> Floats:
        """Σ over all nodes of what counts as taken, by kind: E, and what drivers are charged."""
        stale = self._freshness.stale(now)
        believed = self._estimate(slice(None), stale) + self._estimates.pods.sums[:, Measure.CHARGE]
        total: Floats = believed.sum(axis=0)
        return total

    def survey(self, now: float) -> Survey:
        """All nodes and what is charged there, made anew: what `table` keeps stays as it is."""
        self._refresh()
        stale = self._freshness.stale(now)
        charged = self._estimates.pods.sums[:, Measure.CHARGE].copy()
        return Survey(self._whole(stale), self._estimate(slice(None), stale), charged, stale)

    def explain(self, row: int, now: float) -> dict[str, RoomLine]:
        """The arithmetic of one node, by kind."""
        table, rows = self.table(now), np.array([row], np.intp)
        estimate = self._estimate(rows, self._stale)[0]
        return {kind: self._line(table, row, k, float(estimate[k])) for k, kind in enumerate(self._kinds)}

    def _line(self, table: NodeTable, row: int, kind: int, estimate: float) -> RoomLine:
        sums, nodes, estimates = self._estimates.pods.sums[row, :, kind], self._nodes, self._estimates
        capacity = nodes[row].capacity
        return RoomLine(
            capacity=capacity[kind] if capacity else 0.0,
            allocatable=float(nodes.total[row, kind]),
            allowed=float(nodes.allowed[row, kind]),
            real=float(nodes.real[row, kind]),
            used=float(estimates.used[row, kind]),
            learned=float(estimates.learned[row, kind]),
            residual=float(sums[Measure.RESIDUAL]),
            reserved=float(sums[Measure.REQUEST]),
            known=float(self._known(np.array([row]), nodes.total[[row]], estimates.pods.sums[[row]])[0, kind]),
            estimate=estimate,
            declared=float(sums[Measure.DECLARED]),
            drivers=float(sums[Measure.CHARGE]),
            native=float(sums[Measure.NATIVE]),
            room=float(table.room[row, kind]),
            stale=bool(self._stale[row, kind]),
            margin=self._margin(row, kind),
            promise=self._promise(row, kind),
            requested=float(_requested(table)[row, kind]),
            bound=self._bound(row, kind),
            largest=self._order.largest(row) if self._order is not None and kind == self._order.kind else 0.0,
            crowded=bool(self._crowded(row, self._stale[row])[kind]),
            uncovered=float(estimates.uncovered[row, kind]),
            extra=float(sums[Measure.EXTRA]),
        )

    def _bound(self, row: int, kind: int) -> float:
        if self._order is None or kind != self._order.kind:
            return math.inf
        sums: list[list[float]] = self._estimates.pods.sums[row].tolist()
        return self._order.bound(row, sums, self._totals[row][kind], self._shares[row])

    def _margin(self, row: int, kind: int) -> float:
        if self._margins is None:
            return 0.0
        return float(self._margins.margin(row, self._stale[row], self._crowded(row, self._stale[row]))[kind])

    def _promise(self, row: int, kind: int) -> NodePromise | None:
        promises = self._margins.kinds.get(kind) if self._margins is not None else None
        return None if promises is None else promises.explain(row, self._nodes[row].machine)

    def _estimate(self, rows: Rows | slice, stale: NDArray[np.bool_]) -> Floats:
        """E, and at least Σ RR where samples are stale."""
        estimate = self._estimates.estimate(rows)
        if not stale[rows].any():
            return estimate
        fallback = self._estimates.unsampled(rows, estimate, self._estimates.pods.sums[rows])
        return np.where(stale[rows], fallback, estimate)

    def _crowded(self, rows: Rows | slice | int, stale: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where more memory is in use than is allowed, or it ran out and samples still come: no floor, no promise."""
        full = self._estimates.measured(rows, stale) > self._limit[rows]
        return self.strict & (full | (self._estimates.exhausted[rows] & ~stale))

    def _rows(self, rows: Rows | slice, stale: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
        """Room, and what is left of native and of declared requests, for some rows. `spot` is the same for one."""
        sums, total = self._estimates.pods.sums[rows], self._nodes.total[rows]
        room = self._limit[rows] - self._estimate(rows, stale) - sums[:, Measure.CHARGE]
        crowded = self._crowded(rows, stale[rows])
        if self._margins is not None:
            room -= self._margins.margin(rows, stale[rows], crowded)
        left = total - sums[:, Measure.ALL_DECLARED]
        if self._floor:
            # The most that the pods are known to use, where that is more than they declare.
            known = np.where(self.strict, total - self._known(rows, total, sums) - sums[:, Measure.CHARGE], np.inf)
            room = np.where(crowded, room, np.maximum(room, np.minimum(left, known)))
        if self._order is not None:
            kind = self._order.kind
            bounds = self._order.bounds(rows, sums, total[:, kind], self._nodes.pod_share[rows, kind])
            room[:, kind] = np.minimum(room[:, kind], bounds)
        return room, total - sums[:, Measure.NATIVE], left

    def _known(self, rows: Rows | slice, total: Floats, sums: Floats) -> Floats:
        """The most that pods other than drivers are known to use.

        On nodes of which more CPU is asked for than there is, so that the stock scheduler would place nothing there,
        also what they use beyond that.
        """
        over = (~self.strict & (sums[:, Measure.ALL_DECLARED] > total * (1 + TOLERANCE))).any(axis=1, keepdims=True)
        known: Floats = sums[:, Measure.TOP] + np.where(over, self._estimates.excess(rows), 0.0)
        return known

    def _refresh(self) -> None:
        """Nodes came, went or changed: nothing that was made of them holds."""
        self._nodes.refresh()
        if self._nodes.total is not self._of:
            self._of, self._table = self._nodes.total, None
            self._limit = self._nodes.limit
            self._limits, self._totals = self._limit.tolist(), self._nodes.total.tolist()
            if self._order is not None:
                self._shares = self._nodes.pod_share[:, self._order.kind].tolist()

    def _whole(self, stale: NDArray[np.bool_]) -> NodeTable:
        nodes = self._nodes
        room, native, left = self._rows(slice(None), stale)
        return _frozen(
            NodeTable(self._kinds, nodes.names, nodes.index, nodes.total, room, native, nodes.open, left, stale)
        )

    def _updated(self, table: NodeTable, now: float, stale: NDArray[np.bool_]) -> NodeTable:
        """The table with the touched rows made anew: a few of them one by one, else all at once."""
        if len(self._touched) > FEW:
            return self._renewed(table, np.array(sorted(self._touched), np.intp), stale)
        room, native, left = table.room.copy(), table.native.copy(), _requested(table).copy()
        for row in self._touched:
            spot = self.spot(row, now)
            room[row], native[row] = spot.room, spot.native
            left[row] = self._nodes.total[row] - self._estimates.pods.sums[row, Measure.ALL_DECLARED]
        return _with(table, room, native, stale, left)

    def _renewed(self, table: NodeTable, rows: Rows, stale: NDArray[np.bool_]) -> NodeTable:
        room, native, left = table.room.copy(), table.native.copy(), _requested(table).copy()
        room[rows], native[rows], left[rows] = self._rows(rows, stale)
        return _with(table, room, native, stale, left)


def _requested(table: NodeTable) -> Floats:
    assert table.requested is not None  # noqa: S101 - tables made here have it
    return table.requested


def _with(table: NodeTable, room: Floats, native: Floats, stale: NDArray[np.bool_], left: Floats) -> NodeTable:
    """The table with other numbers; `dataclasses.replace` takes three times as long."""
    return _frozen(NodeTable(table.kinds, table.names, table.index, table.total, room, native, table.open, left, stale))


def _frozen(table: NodeTable) -> NodeTable:
    """Make the arrays read-only: a decision reads one consistent view, whatever happens meanwhile."""
    for array in (table.total, table.room, table.native, table.open, _requested(table)):
        array.setflags(write=False)
    return table
