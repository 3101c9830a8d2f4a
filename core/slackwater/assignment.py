"""Real-time assignment: a node has room, and this says which requests fill it (paper 001, RTA).

Node-driven, as YARN's heartbeat is. The cluster is served pod-driven by `placement`, which makes the same choice with
the same preference; this form serves the simulator and the hand-over from the knapsack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.fitness import fitness, needed
from slackwater.numbers import amount, finite, finite_array
from slackwater.preference import preference, winner

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Task:
    """One pending task, and where its input lies."""

    uid: str
    nodes: frozenset[str] = frozenset()
    racks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """Equal pending tasks of one job and type."""

    name: str
    size: tuple[float, ...]
    tasks: tuple[Task, ...]
    submitted: float = 0.0
    urgency: float = 0.0
    alignment: float = 0.0
    master: bool = False

    def __post_init__(self) -> None:
        for value in self.size:
            amount(f"{self.name}.size", value)
        for label in ("submitted", "urgency", "alignment"):
            finite(f"{self.name}.{label}", getattr(self, label))


@dataclass(frozen=True, slots=True)
class Spot:
    """The node to fill."""

    residual: NDArray[np.float64]
    weight: NDArray[np.float64]
    name: str = ""
    rack: str = ""


@dataclass(frozen=True, slots=True)
class Assigned:
    """One task given to the node."""

    request: str
    task: Task


# Urgency by request name after so many tasks of each request were taken: A and O move with every assignment.
Urgencies = Callable[[Mapping[str, int]], Mapping[str, float]]


@dataclass(slots=True)
class _Filling:
    """The state of one loop: what is left of the node and of each request."""

    residual: NDArray[np.float64]
    pending: dict[str, list[Task]]
    taken: dict[str, int] = field(default_factory=dict)


def assign(
    spot: Spot, requests: Sequence[Request], *, alpha: float = 0.0, urgencies: Urgencies | None = None
) -> Iterator[Assigned]:
    """RTA: while something fits, give the node one task of the request with the greatest preference.

    P = nm(F) + nm(U) + alpha_A·nm(A) over the requests that fit what is left; masters outrank all; ties go to the
    earlier submission. Yields each assignment, so a caller may stop at its own limit.
    """
    residual = finite_array("residual", spot.residual).astype(np.float64)
    state = _Filling(residual, {r.name: list(r.tasks) for r in requests})
    sizes = np.array([r.size for r in requests], dtype=np.float64).reshape(len(requests), len(residual))
    least = needed(sizes)
    while True:
        fitting = np.flatnonzero((least <= state.residual).all(axis=1)).tolist()
        candidates = [i for i in fitting if state.pending[requests[i].name]]
        if not candidates:
            return
        chosen = _best(spot, [requests[i] for i in candidates], sizes[candidates], state, alpha, urgencies)
        yield _take(requests[candidates[chosen]], sizes[candidates[chosen]], spot, state)


def nearest(tasks: Sequence[Task], node: str, rack: str) -> Task:
    """The first task whose input is on the node, else in the rack, else the first of all."""
    local = next((t for t in tasks if node in t.nodes), None)
    return local or next((t for t in tasks if rack in t.racks), tasks[0])


def _best(
    spot: Spot,
    requests: Sequence[Request],
    sizes: NDArray[np.float64],
    state: _Filling,
    alpha: float,
    urgencies: Urgencies | None,
) -> int:
    now = urgencies(state.taken) if urgencies else {}
    points = preference(
        fitness(sizes, state.residual, spot.weight),
        [now.get(r.name, r.urgency) for r in requests],
        [r.alignment for r in requests],
        alpha=alpha,
    )
    chosen = winner(points, [r.submitted for r in requests], [r.master for r in requests])
    return chosen or 0


def _take(request: Request, size: NDArray[np.float64], spot: Spot, state: _Filling) -> Assigned:
    task = nearest(state.pending[request.name], spot.name, spot.rack)
    state.pending[request.name].remove(task)
    state.taken[request.name] = state.taken.get(request.name, 0) + 1
    state.residual = state.residual - size
    return Assigned(request.name, task)
