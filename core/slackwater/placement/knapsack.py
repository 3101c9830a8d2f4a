"""Initial task assignment: fill each node as full as it can be, exactly (paper 001, ITA).

A two-dimensional 0/1 knapsack by dynamic programming. Items stand in the outer loop and each reads the table as it
was before it, which is what makes the result optimal; the printed form loops over capacities instead and is not.
Too large a table is made coarser; past its bound of tasks it hands over to the greedy real-time assignment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.placement.heartbeatfill import NodeSpace, TaskRequest, WaitingTask, assign
from slackwater.resources import needed
from slackwater.validation import TOLERANCE, finite_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_TASKS = 500  # pending tasks; the table grows with each
MAX_NODES = 64  # nodes; a table is made for each
MAX_CELLS = 3_000_000  # tasks × C1 × C2 of one table: about 10 ms, half of the extender's slice
FINE_STEPS = 256  # steps of an axis, at most, when they are the demands' own common step
COARSE_STEPS = 64  # steps of an axis when amounts must be rounded; 500 tasks then stay below MAX_CELLS


@dataclass(frozen=True, slots=True)
class Choice:
    """The tasks one node takes, and the value they are worth."""

    chosen: tuple[int, ...]
    value: float
    exact: bool  # False where amounts were rounded to steps, or greed took over


def ita(
    residuals: NDArray[np.float64],
    tasks: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    axes: tuple[int, int] = (0, 1),
    usable: NDArray[np.bool_] | None = None,
) -> Iterator[Choice]:
    """Fill the nodes in order, a row of `residuals` and `weight` each, with rows of `tasks` the earlier ones left.

    Maximise Σ_i x_ij Σ_k w_k·R[i,k] with Σ_i x_ij·R[i,k] ≤ C[j,k], each task at most once. `usable[i, j]` says
    whether task i may use node j at all.
    """
    pending = np.arange(len(tasks))
    for node, (residual, worth) in enumerate(zip(residuals, weight, strict=True)):
        offered = pending if usable is None else pending[usable[pending, node]]
        found = knapsack(residual, tasks[offered], worth, axes=axes)
        chosen = offered[list(found.chosen)]
        yield Choice(tuple(chosen.tolist()), found.value, found.exact)
        pending = np.setdiff1d(pending, chosen)


def knapsack(
    capacity: NDArray[np.float64],
    tasks: NDArray[np.float64],
    weight: NDArray[np.float64],
    *,
    axes: tuple[int, int] = (0, 1),
) -> Choice:
    """The most valuable set of tasks that one node holds.

    Optimal over the two kinds of `axes`; a further kind is a hard limit that is kept, not optimised.
    """
    finite_array("capacity", capacity)
    finite_array("weights", weight)
    rows = _candidates(capacity, finite_array("tasks", tasks))
    if (tasks < 0).any():
        raise InvalidInput("tasks", "a negative amount", "give amounts of at least 0")
    if len(rows) == 0:
        return Choice((), 0.0, exact=True)
    if (needed(tasks[rows].sum(axis=0)) <= capacity).all():
        return _choice(rows.tolist(), tasks, weight, exact=True)
    if len(rows) > MAX_TASKS:
        return _greedy(capacity, tasks, rows, weight)
    grids = _grids(capacity, tasks[rows], axes)
    picked = rows[_solve(*grids, tasks[rows] @ weight)].tolist()
    kept = _refill(_kept(picked, capacity, tasks, weight), rows.tolist(), capacity, tasks)
    return _choice(kept, tasks, weight, exact=set(picked) <= set(kept) and all(grid.exact for grid in grids))


@dataclass(frozen=True, slots=True)
class _Grid:
    """One axis in whole steps: capacity rounded down and demands rounded up, so that rounding never overfills."""

    steps: int
    demands: NDArray[np.int64]
    exact: bool


def _candidates(capacity: NDArray[np.float64], tasks: NDArray[np.float64]) -> NDArray[np.intp]:
    """The tasks that fit alone, and of equal ones no more than fit together: the rest can never be chosen."""
    fitting = np.flatnonzero((needed(tasks) <= capacity).all(axis=1)).astype(np.intp)
    if len(fitting) == 0:
        return fitting
    shapes, first, which, count = np.unique(
        tasks[fitting], axis=0, return_index=True, return_inverse=True, return_counts=True
    )
    kept = [fitting[first[count == 1]]]
    for shape in np.flatnonzero(count > 1).tolist():
        members = fitting[which.reshape(-1) == shape]
        asked = shapes[shape] > TOLERANCE
        most = np.min(capacity[asked] / shapes[shape][asked], initial=len(members))
        kept.append(members[: math.floor(most + TOLERANCE)])
    return np.sort(np.concatenate(kept))


def _grids(capacity: NDArray[np.float64], tasks: NDArray[np.float64], axes: tuple[int, int]) -> tuple[_Grid, _Grid]:
    """Both axes in the demands' own steps when that table is small enough, else rounded.

    A demand within the tolerance counts as none; any other that fits means a positive capacity.
    """
    a, b = ((float(capacity[k]), np.where(tasks[:, k] > TOLERANCE, tasks[:, k], 0.0)) for k in axes)
    fine = _fine(*a), _fine(*b)
    return fine if len(tasks) * _cells(fine) <= MAX_CELLS else (_coarse(*a), _coarse(*b))


def _cells(grids: tuple[_Grid, _Grid]) -> int:
    return (grids[0].steps + 1) * (grids[1].steps + 1)


def _fine(capacity: float, demands: NDArray[np.float64]) -> _Grid:
    """Steps of the demands' greatest common divisor: nothing is rounded."""
    step = _divisor(demands)
    if step <= 0 or capacity / step > FINE_STEPS:
        return _coarse(capacity, demands)
    return _stepped(capacity, demands, step, exact=True)


def _coarse(capacity: float, demands: NDArray[np.float64]) -> _Grid:
    """Equal parts of the capacity."""
    return _stepped(capacity, demands, capacity / COARSE_STEPS, exact=False)


def _stepped(capacity: float, demands: NDArray[np.float64], step: float, *, exact: bool) -> _Grid:
    if not demands.any():
        return _Grid(0, np.zeros(len(demands), dtype=np.int64), exact=True)
    steps = math.floor(capacity / step + TOLERANCE)
    # All of them fit alone, within the tolerance; so none may need more steps than there are.
    whole = np.minimum(np.ceil(demands / step - TOLERANCE), steps).astype(np.int64)
    return _Grid(steps, whole, exact)


def _divisor(demands: NDArray[np.float64]) -> float:
    """The greatest common divisor in thousandths (millicores; bytes are whole anyway), 0 where there is none."""
    scaled = demands * 1000
    whole = np.rint(scaled)
    if not (np.abs(scaled - whole) <= 1e-6).all() or whole.max(initial=0) > 2**62:
        return 0.0
    return float(np.gcd.reduce(whole.astype(np.int64))) / 1000


def _solve(first: _Grid, second: _Grid, values: NDArray[np.float64]) -> list[int]:
    """0/1 knapsack: opt[a,b] = max(opt[a,b], opt[a−R1, b−R2] + v), item by item; then walk the picks back."""
    best = np.zeros((first.steps + 1, second.steps + 1))
    picks = np.zeros((len(values), first.steps + 1, second.steps + 1), dtype=np.bool_)
    for item, value in enumerate(values):
        a, b = int(first.demands[item]), int(second.demands[item])
        # The sum is a new array, so this item is never counted on top of itself.
        taken = best[: first.steps + 1 - a, : second.steps + 1 - b] + value
        target = best[a:, b:]
        picks[item, a:, b:] = taken > target
        np.maximum(target, taken, out=target)
    return _walk(picks, first, second)


def _walk(picks: NDArray[np.bool_], first: _Grid, second: _Grid) -> list[int]:
    a, b = first.steps, second.steps
    chosen = []
    for item in range(len(picks) - 1, -1, -1):
        if picks[item, a, b]:
            chosen.append(item)
            a, b = a - int(first.demands[item]), b - int(second.demands[item])
    return chosen[::-1]


def _kept(
    picked: list[int], capacity: NDArray[np.float64], tasks: NDArray[np.float64], weight: NDArray[np.float64]
) -> list[int]:
    """What of the picked set also respects the further kinds; the most valuable go first."""
    order = sorted(picked, key=lambda i: (-float(tasks[i] @ weight), i))
    return _refill([], order, capacity, tasks)


def _refill(
    kept: list[int], others: Sequence[int], capacity: NDArray[np.float64], tasks: NDArray[np.float64]
) -> list[int]:
    """Add from the others whatever still fits in every kind, in their order."""
    left = capacity - tasks[kept].sum(axis=0)
    present = set(kept)
    waiting = np.array([i for i in others if i not in present], dtype=np.intp)
    result, least = list(kept), needed(tasks)
    while (waiting := waiting[(least[waiting] <= left).all(axis=1)]).size:
        result.append(int(waiting[0]))
        left = left - tasks[waiting[0]]
        waiting = waiting[1:]
    return result


def _greedy(
    capacity: NDArray[np.float64], tasks: NDArray[np.float64], rows: NDArray[np.intp], weight: NDArray[np.float64]
) -> Choice:
    """Hand over to RTA: equal tasks are one request. Value weighs by 1/Tot, fitness by its square."""
    shapes: dict[tuple[float, ...], list[int]] = {}
    for i in rows.tolist():
        shapes.setdefault(tuple(tasks[i].tolist()), []).append(i)
    requests = [
        TaskRequest(str(members[0]), shape, tuple(WaitingTask(str(i)) for i in members), submitted=members[0])
        for shape, members in shapes.items()
    ]
    taken = [int(one.task.uid) for one in assign(NodeSpace(capacity, np.square(weight)), requests)]
    return _choice(taken, tasks, weight, exact=False)


def _choice(chosen: Sequence[int], tasks: NDArray[np.float64], weight: NDArray[np.float64], *, exact: bool) -> Choice:
    ordered = tuple(sorted(chosen))
    return Choice(ordered, float((tasks[list(ordered)] @ weight).sum()), exact)
