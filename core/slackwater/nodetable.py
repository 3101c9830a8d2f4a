"""All nodes at one moment, as arrays: a row per node, a column per kind. Decisions read this and nothing else.

The ledger makes it; filter, score and batch placement read it. Units are declared ones (D), except `native`,
which is what kube-scheduler itself counts (N).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.resources import Resources, holding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.resources import Kinds


@dataclass(frozen=True, slots=True)
class NodeTable:
    """One consistent view of every node."""

    kinds: Kinds
    names: tuple[str, ...]
    index: Mapping[str, int]  # name → row
    total: NDArray[np.float64]  # allocatable
    room: NDArray[np.float64]  # min(AR, NC) − E, drivers charged in full; may be negative
    native: NDArray[np.float64]  # allocatable − Σ native requests of the pods on it
    open: NDArray[np.bool_]  # Ready and not cordoned
    # allocatable − Σ declared of every pod on it: what is left as the stock scheduler counts. None: nobody said.
    requested: NDArray[np.float64] | None = None
    # No fresh sample of that kind, node × kind: its room is already computed from reservations. None: nobody said.
    stale: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def old(self) -> NDArray[np.bool_]:
        """The nodes without a fresh sample of some kind."""
        if self.stale is None:
            return np.zeros(len(self), np.bool_)
        some: NDArray[np.bool_] = np.logical_or.reduce(self.stale, axis=1)
        return some

    def reachable(self, ceiling: Sequence[float]) -> NDArray[np.float64]:
        """What pods shrunk by c could still take, node × kind: min(room, c·N left), at least 0."""
        reach: NDArray[np.float64] = np.maximum(np.minimum(self.room, self.native * np.asarray(ceiling)), 0.0)
        return reach

    def allocatable(self, rows: NDArray[np.bool_] | None = None) -> Resources:
        """Σ allocatable of all nodes, or of these rows, open or not."""
        total = self.total if rows is None else self.total[rows]
        return Resources.from_vector(self.kinds, total.sum(axis=0).tolist())

    def holds(self, amounts: Resources, rows: NDArray[np.bool_] | None = None) -> bool:
        """Whether an open node, of these rows where given, has room for so much of every kind."""
        fits = self.open & holding(self.room, amounts.demand(self.kinds))
        return bool((fits if rows is None else fits & rows).any())


@dataclass(frozen=True, slots=True)
class NodeColumns:
    """The numbers of some nodes without their names, in an order that its maker knows. Means as in the table."""

    kinds: Kinds
    total: NDArray[np.float64]
    room: NDArray[np.float64]
    native: NDArray[np.float64]
    open: NDArray[np.bool_]
    stale: NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.open)


class NodeRow(NamedTuple):
    """One row of such a table, as plain numbers: the common case is one pod and the node it was nominated to."""

    room: list[float]
    native: list[float]
    total: list[float]
    open: bool
    stale: list[bool]  # by kind


@dataclass(frozen=True, slots=True)
class PodAsk:
    """One pod that wants a node. `declared` is what its owner asked for, `native` what kube-scheduler counts."""

    uid: str
    declared: tuple[float, ...]  # in the table's order of kinds
    native: tuple[float, ...]
    driver: bool = False
    # Equal asks of one (app, stage, role) share these; they order the batch (paper 001), not the choice of node.
    group: str = ""
    urgency: float = 0.0
    alignment: float = 0.0
    submitted: float = 0.0
    # Pods of a lower rank are placed before all of a higher one: PriorityClass and fair shares, decided at release.
    rank: int = 0
    # Bytes of input by the name of the node that holds them (paper 003).
    inputs: tuple[tuple[str, float], ...] = ()
    # Whether nobody knows that it keeps to the memory it asks for: then it goes where most of it stays free.
    unproven: bool = False
    # Rows of the table this pod may use (its node selector and tolerations); None means any.
    allowed: NDArray[np.bool_] | None = None
