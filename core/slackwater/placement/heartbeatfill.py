"""Real-time assignment: a node reports room with its heartbeat, and this says which tasks fill it (paper 001, RTA).

YARN's form of placement, node by node. The cluster is served pod by pod (`batch`), which makes the same choice with
the same preference; this form serves the simulator and the hand-over from the knapsack.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import le
from typing import TYPE_CHECKING

import numpy as np

from slackwater.ordering.preference import FEW, points_of_few, winner
from slackwater.resources import needed, needed_by
from slackwater.validation import amount, finite, finite_array

if TYPE_CHECKING:
    from numpy.typing import NDArray


TaskSize = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """One pending task, and where its input lies."""

    uid: str
    nodes: frozenset[str] = frozenset()
    racks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """Equal pending tasks of one job and type."""

    name: str
    size: TaskSize
    tasks: tuple[WaitingTask, ...]
    submitted: float = 0.0
    urgency: float = 0.0
    alignment: float = 0.0
    master: bool = False

    def __post_init__(self) -> None:
        if not all(0 <= value < math.inf for value in self.size):
            for value in self.size:
                amount(f"{self.name}.size", value)
        if not math.isfinite(self.submitted + self.urgency + self.alignment):
            for label in ("submitted", "urgency", "alignment"):
                finite(f"{self.name}.{label}", getattr(self, label))


@dataclass(frozen=True, slots=True)
class NodeSpace:
    """The node to fill."""

    residual: NDArray[np.float64]
    weight: NDArray[np.float64]
    name: str = ""
    rack: str = ""


@dataclass(frozen=True, slots=True)
class Assigned:
    """One task given to the node."""

    request: str
    task: WaitingTask


# Urgency by request name after so many tasks of each request were taken: A and O move with every assignment.
Urgencies = Callable[[Mapping[str, int]], Mapping[str, float]]


@dataclass(slots=True)
class _Filling:
    """The state of one loop: what is left of the node and of each request."""

    residual: list[float]
    pending: dict[str, list[WaitingTask]] = field(default_factory=dict)  # of requests that were served
    taken: dict[str, int] = field(default_factory=dict)

    def left(self, request: TaskRequest) -> int:
        """How many of its tasks still wait."""
        return len(request.tasks) - self.taken.get(request.name, 0)


def assign(
    spot: NodeSpace, requests: Sequence[TaskRequest], *, alpha: float = 0.0, urgencies: Urgencies | None = None
) -> Iterator[Assigned]:
    """RTA: while something fits, give the node one task of the request with the greatest preference.

    P = nm(F) + nm(U) + alpha_A·nm(A) over the requests that fit what is left; masters outrank all; ties go to the
    earlier submission. Yields each assignment, so a caller may stop at its own limit.
    """
    finite_array("residual", spot.residual)
    state = _Filling(spot.residual.tolist())
    sizes = {request.size for request in requests}
    fitting = _fitting_few(requests, sizes) if len(sizes) <= FEW else _fitting_many(requests)
    while True:
        candidates = [request for request in fitting(state.residual) if state.left(request)]
        if not candidates:
            return
        yield _take(candidates[_best(spot, candidates, state, alpha, urgencies)], spot, state)


def _fitting_few(
    requests: Sequence[TaskRequest], sizes: set[TaskSize]
) -> Callable[[Sequence[float]], Iterable[TaskRequest]]:
    """Which requests fit into a residual: each size is tested once, as many requests share one.

    Arrays of a handful cost more than what is computed with them.
    """
    least = {size: needed_by(size) for size in sizes}

    def fitting(residual: Sequence[float]) -> Iterable[TaskRequest]:
        fits = {size for size, needs in least.items() if all(map(le, needs, residual))}
        if len(fits) == len(least):
            return requests
        return [request for request in requests if request.size in fits] if fits else []

    return fitting


def _fitting_many(requests: Sequence[TaskRequest]) -> Callable[[Sequence[float]], Iterable[TaskRequest]]:
    """The same for many sizes."""
    least = needed(np.array([request.size for request in requests], dtype=np.float64))

    def fitting(residual: Sequence[float]) -> Iterable[TaskRequest]:
        return [requests[row] for row in np.flatnonzero((least <= np.array(residual)).all(axis=1)).tolist()]

    return fitting


def nearest(tasks: Sequence[WaitingTask], node: str, rack: str) -> WaitingTask:
    """The first task whose input is on the node, else in the rack, else the first of all."""
    if not node and not rack:
        return tasks[0]
    local = next((t for t in tasks if node in t.nodes), None)
    return local or next((t for t in tasks if rack in t.racks), tasks[0])


def _best(
    spot: NodeSpace, requests: Sequence[TaskRequest], state: _Filling, alpha: float, urgencies: Urgencies | None
) -> int:
    if len(requests) == 1:
        return 0
    now = urgencies(state.taken) if urgencies else {}
    urgency = [now.get(r.name, r.urgency) for r in requests]
    alignment = [r.alignment for r in requests]
    points = points_of_few(_fitnesses(spot, requests, state), urgency, alignment, amount("alpha", alpha))
    return winner(points, [r.submitted for r in requests], [r.master for r in requests]) or 0


def _fitnesses(spot: NodeSpace, requests: Sequence[TaskRequest], state: _Filling) -> list[float]:
    """`fitness.fitness` of a few requests as plain numbers, each size once; none where they all ask for the same."""
    weight, residual = spot.weight.tolist(), state.residual
    sizes = {request.size for request in requests}
    if len(sizes) == 1:
        return []
    fits = {size: sum([r * c * w for r, c, w in zip(size, residual, weight, strict=True)]) for size in sizes}
    return [fits[request.size] for request in requests]


def _take(request: TaskRequest, spot: NodeSpace, state: _Filling) -> Assigned:
    pending = state.pending.setdefault(request.name, [*request.tasks])
    task = nearest(pending, spot.name, spot.rack)
    pending.remove(task)
    state.taken[request.name] = state.taken.get(request.name, 0) + 1
    state.residual = [left - asked for left, asked in zip(state.residual, request.size, strict=True)]
    return Assigned(request.name, task)
