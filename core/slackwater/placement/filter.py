"""May this pod use these nodes? One pod against all nodes at once, with a reason for each no (papers 000, 001).

A node serves when it is open and allowed, its measured room holds the declared request and its native residual holds
the native request. The native test repeats what kube-scheduler will do anyway, so that no placement is wasted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.ordering.fitness import demand
from slackwater.placement.reasons import BY_CODE, FilterReason
from slackwater.resources import CPU, MEMORY, least
from slackwater.validation import amount, finite_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeColumns, NodeRow, NodeTable, PodAsk
    from slackwater.resources import Kinds


class Residual(NamedTuple):
    """What is left on each node: measured room and native residual, a row per node."""

    room: NDArray[np.float64]
    native: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Fit:
    """Which nodes serve a pod, and why the others do not."""

    fits: NDArray[np.bool_]
    codes: NDArray[np.int8]  # FilterReason.code, 0 where the pod fits

    def reason(self, row: int) -> FilterReason | None:
        """Why that node is refused; None when it is not."""
        return BY_CODE.get(int(self.codes[row]))

    def counts(self) -> dict[FilterReason, int]:
        """How many nodes were refused for each reason, the commonest first."""
        tally = np.bincount(self.codes, minlength=1)
        found = [(BY_CODE[code], int(tally[code])) for code in np.flatnonzero(tally).tolist() if code]
        return dict(sorted(found, key=lambda pair: -pair[1]))


def fit_one(table: NodeTable, ask: PodAsk) -> Fit:
    """Hold one pod against every node."""
    return judge(checked(table), ask)


def judge(table: NodeTable | NodeColumns, ask: PodAsk, left: Residual | None = None) -> Fit:
    """The test itself, against another residual than the table's where given.

    Later writes win, so the reasons stand from weak to strong.
    """
    left = Residual(table.room, table.native) if left is None else left
    codes = np.zeros(len(table), dtype=np.int8)
    for _, short in _short("native", ask.native, left.native, table):
        codes[short] = FilterReason.NATIVE.code
    for k, short in _short("declared", ask.declared, left.room, table):
        codes[short] = room_reason(table.kinds[k]).code
        if table.stale is not None:
            codes[short & table.stale[:, k]] = FilterReason.STALE.code
    if ask.allowed is not None:
        np.copyto(codes, FilterReason.NOT_ALLOWED.code, where=~allowed(ask, table))
    if not table.open.all():
        codes[~table.open] = FilterReason.NOT_READY.code
    return Fit(codes == 0, codes)


def judge_one(spot: NodeRow, ask: PodAsk, kinds: Kinds) -> FilterReason | None:
    """`judge` for one node in plain numbers: why it is refused; None where the pod fits.

    `ask.allowed` says nothing of a row alone. That the node accepts the pod was found before: the one caller answers
    kube-scheduler, which asks about nodes that have passed its own filters.
    """
    if not spot.open:
        return FilterReason.NOT_READY
    found = FilterReason.NATIVE if any(map(_lacks, ask.native, spot.native, spot.total)) else None
    for kind, want, have, total, old in zip(kinds, ask.declared, spot.room, spot.total, spot.stale, strict=True):
        if _lacks(want, have, total):
            found = FilterReason.STALE if old else room_reason(kind)
    return found


def _lacks(want: float, have: float, total: float) -> bool:
    """Whether one kind on one node is too little: `_short` for one number."""
    return want > 0 and (total <= 0 or (have < want and have < least(want)))  # most nodes have all of it


def room_reason(kind: str) -> FilterReason:
    """The reason that names this kind, or the general one."""
    return {CPU: FilterReason.CPU, MEMORY: FilterReason.MEMORY}.get(kind, FilterReason.ROOM)


def checked(table: NodeTable) -> NodeTable:
    """The table, if all its numbers are finite."""
    finite_array("table.total", table.total)
    finite_array("table.room", table.room)
    finite_array("table.native", table.native)
    return table


def allowed(ask: PodAsk, table: NodeTable | NodeColumns) -> NDArray[np.bool_]:
    """The rows this pod may use, as a mask of the table's length."""
    if ask.allowed is None:
        return np.ones(len(table), dtype=np.bool_)
    if ask.allowed.shape != (len(table),):
        raise InvalidInput("allowed", f"{ask.allowed.shape[0]} entries for {len(table)} nodes", "give one per node")
    return ask.allowed


def _short(
    name: str, amounts: Sequence[float], left: NDArray[np.float64], table: NodeTable | NodeColumns
) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """For each kind asked for, by its column, that some node lacks: which ones.

    A kind that a node has none of serves no positive demand.
    """
    if len(amounts) != len(table.kinds) or not len(table):
        demand(name, amounts, table.kinds)  # says what is wrong
        return
    partial = not table.total.all()  # some node has none of some kind
    for k, (kind, value) in enumerate(zip(table.kinds, amounts, strict=True)):
        want = amount(f"{name}.{kind}", value)
        enough = least(want)
        # One column at a time: a reduction along the long axis of a narrow table is ten times as slow.
        if want > 0 and (partial or left[:, k].min() < enough):
            short = (left[:, k] < enough) | (table.total[:, k] <= 0)
            if short.any():
                yield k, short
