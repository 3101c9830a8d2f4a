"""Which of the fitting nodes is best, as the integers 0 to 10 an extender may answer (papers 001 and 003).

Fitness packs, incoming-data time keeps a pod near its input; two weights settle between them. Drivers move little
data and live long, so for them only fitness counts.

Of pods that nobody knows to keep to the memory they ask for, none is packed so densely that a use of twice as much
would kill: nodes of which half of the memory stays free come first, then those of which most does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import BadNumber, InvalidInput
from slackwater.ordering.fitness import demand, over_nodes
from slackwater.ordering.preference import nm
from slackwater.placement.filter import Fit
from slackwater.resources import MEMORY
from slackwater.validation import TOLERANCE, fraction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeColumns, NodeTable, PodAsk

    Floats = NDArray[np.float64]

TOP = 10  # the highest score an extender may give
SPARE = 0.5  # of a node's memory: while it is free, everybody there may use twice what is counted


@dataclass(frozen=True, slots=True)
class Weights:
    """How much packing and data locality count in a score; together at most 1."""

    fitness: float = 0.5
    network: float = 0.5

    def __post_init__(self) -> None:
        fraction("weights.fitness", self.fitness)
        fraction("weights.network", self.network)
        fraction("weights.fitness + weights.network", self.fitness + self.network)


HALVES = Weights()
FITNESS_ONLY = Weights(1.0, 0.0)


def score(
    table: NodeTable | NodeColumns,
    ask: PodAsk,
    fit: Fit,
    *,
    incoming: NDArray[np.float64] | None = None,
    balance: Weights = HALVES,
) -> NDArray[np.int16]:
    """The score of each fitting node, 0 for the others. `incoming` is T_in of paper 003 in seconds, one per node."""
    rows = slice(None) if fit.fits.all() else np.flatnonzero(fit.fits)
    points = np.zeros(len(table), dtype=np.int16)
    request = demand("declared", ask.declared, table.kinds)
    fitted = over_nodes(request, table.room, table.total)[rows]
    if ask.unproven and MEMORY in table.kinds:
        memory = table.kinds.index(MEMORY)
        fitted = _spread(fitted, crowding(table.room[rows, memory], request[memory], table.total[rows, memory]))
    points[rows] = blend(fitted, _seconds(incoming, rows, len(table)), FITNESS_ONLY if ask.driver else balance)
    return points


def crowding(left: Floats | float, asked: Floats | float, total: Floats | float) -> Floats:
    """How much of a node's memory, as a share, lacks to half of it being free beside a pod; 0 where nothing does."""
    offered = np.maximum(total, TOLERANCE)  # a node without memory takes nobody who asks for some
    lack: Floats = np.maximum(0.0, SPARE - (left - asked) / offered)
    return lack


def _spread(fitted: Floats, crowded: Floats) -> Floats:
    """In place of fitness: nodes that nothing lacks by fitness, from 0 to 1; below them the others by what lacks."""
    spacious = crowded <= TOLERANCE
    if spacious.all():
        return fitted
    ordered = -crowded / SPARE
    if spacious.any():
        ordered[spacious] = nm(fitted[spacious], equal=1.0)
    return ordered


def blend(
    fitted: NDArray[np.float64], seconds: NDArray[np.float64] | None, balance: Weights = HALVES
) -> NDArray[np.int16]:
    """Score = ⌊10·(w_F·nm(F) + w_N·(1 − nm(T_in))) + ½⌋; nm is 1 for F and 0 for T_in when all nodes are equal.

    The tolerance keeps a half that lost its last bit (7.499999999999999) a half.
    """
    near = 1.0 if seconds is None else 1.0 - lateness(seconds)
    exact = TOP * (balance.fitness * nm(fitted, equal=1.0) + balance.network * near)
    return np.floor(exact + 0.5 + TOLERANCE).astype(np.int16)


def lateness(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Min-max of T_in, where a node that no bandwidth reaches (infinite) is worst and does not flatten the others."""
    reachable = np.isfinite(seconds)
    if reachable.all():
        return nm(seconds)
    late = np.ones_like(seconds) if reachable.any() else np.zeros_like(seconds)
    late[reachable] = nm(seconds[reachable])
    return late


def shortlist(points: NDArray[np.int16], fit: Fit, size: int) -> NDArray[np.intp]:
    """The rows of the best nodes: by score, then by row, at most `size` of them (0 means all that fit)."""
    if size == 1:
        best = np.where(fit.fits, points, -1).argmax() if len(points) else 0
        return np.array([best] if fit.fits[best : best + 1].any() else [], np.intp)
    # Stable sort of 16-bit integers is a radix sort: linear in the number of nodes.
    if fit.fits.all():
        order = np.argsort(-points, kind="stable")
    else:
        rows = np.flatnonzero(fit.fits)
        order = rows[np.argsort(-points[rows], kind="stable")]
    return order[:size] if size > 0 else order


def with_one_leader(points: NDArray[np.int16]) -> NDArray[np.int16]:
    """The same scores with one leader: nodes level with the first of the best get a point less.

    The pod is reserved on that first one before the scheduler decides. Among equals the scheduler chooses at random,
    and until the watch tells, the next pod would find room on its node that is taken.
    """
    if not points.size or points[lead := int(points.argmax())] == 0:
        return points
    level = points == points[lead]
    level[lead] = False
    apart: NDArray[np.int16] = points - level
    return apart


def _seconds(
    incoming: NDArray[np.float64] | None, rows: NDArray[np.intp] | slice, nodes: int
) -> NDArray[np.float64] | None:
    if incoming is None:
        return None
    if incoming.shape != (nodes,):
        raise InvalidInput("incoming", f"shape {incoming.shape} for {nodes} nodes", "give one time per node")
    if np.isnan(incoming).any():
        raise BadNumber("incoming", "an array with NaN", "give seconds; infinity means unreachable")
    chosen: NDArray[np.float64] = incoming[rows]
    return chosen
