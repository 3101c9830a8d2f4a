"""How much more a node takes, by reservation or by estimate (paper 000): the one thing in which the two worlds differ.

Both answer for a node with the room of each kind; eq. 2 is entered at once, so that several tasks of one second do not
see the same room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.mode import ALPHA, Mode
from slackwater_simulator.physics.room import sim_room

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Rooms(Protocol):
    """What a strict FIFO asks before it places, and what it tells."""

    def room(self, node: int) -> list[float]:
        """What the node still takes, kind by kind."""
        ...

    def start(self, task: Hashable, node: int, request: Floats) -> None:
        """A task was placed."""

    def finish(self, task: Hashable) -> None:
        """A task is gone."""

    def sample(self, used: Floats) -> None:
        """One heartbeat: use per node and kind."""


class Reserved:
    """AR − Σ requests: what YARN does."""

    def __init__(self, allowance: Floats) -> None:
        self.left = allowance.copy()  # a row per node
        self.held: dict[Hashable, tuple[int, Floats]] = {}

    def room(self, node: int) -> list[float]:
        """What is not reserved."""
        left: list[float] = self.left[node].tolist()
        return left

    def start(self, task: Hashable, node: int, request: Floats) -> None:
        """Reserve."""
        self.left[node] -= request
        self.held[task] = (node, request)

    def finish(self, task: Hashable) -> None:
        """Give back."""
        node, request = self.held.pop(task)
        self.left[node] += request

    def sample(self, used: Floats) -> None:
        """Reservations do not look."""


class Estimated:
    """AR − E, with E from the core's estimator."""

    def __init__(
        self,
        allowance: Floats,
        system: Sequence[float] | Floats,
        *,
        alpha: float = ALPHA,
        mode: str = Mode.PRINTED,
        period: float = 1.0,
    ) -> None:
        self.allowance: list[list[float]] = allowance.tolist()  # a row per node
        self.estimates = NodeEstimates(allowance.shape[1], alpha=alpha, mode=Mode(mode))
        for _ in self.allowance:
            self.estimates.add_node(np.array(system, dtype=np.float64))
        self.period = np.full(len(self.allowance), period)
        self.slots: dict[Hashable, int] = {}
        self.estimate = self.estimates.estimate()

    def room(self, node: int) -> list[float]:
        """What the estimate leaves of the allowance."""
        used = self.estimate[node].tolist()
        return [sim_room(allowed, estimate) for allowed, estimate in zip(self.allowance[node], used, strict=True)]

    def start(self, task: Hashable, node: int, request: Floats) -> None:
        """Eq. 2."""
        self.slots[task] = self.estimates.add(node, request)
        self._refresh(node)

    def finish(self, task: Hashable) -> None:
        """Eq. 4."""
        slot = self.slots.pop(task)
        node = self.estimates.pods.row_of(slot)
        self.estimates.finish(slot)
        self._refresh(node)

    def _refresh(self, node: int) -> None:
        self.estimate[node] = self.estimates.estimate(slice(node, node + 1))[0]

    def sample(self, used: Floats) -> None:
        """Eqs 1 and 3."""
        self.estimates.sample(used, self.period)
        self.estimate = self.estimates.estimate()
