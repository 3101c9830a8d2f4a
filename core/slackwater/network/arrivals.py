"""When a task's inputs would have arrived on each node, while tasks are placed one after the other (paper 003).

    T_in(t, d) = max over s ≠ d of (Trans[s][d] + size_s) / BPre[s][d]

Trans is what flows now, kept up over a horizon, and what was assigned and is not on the wire yet: each placement adds
its own transfers, so that the next task sees a busy link.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from slackwater.network.transfer import Transfers, incoming, pairwise, worst_inbound

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Inputs = tuple[tuple[str, float], ...]  # bytes by the name of the node that holds them


class Arrivals:
    """T_in over all nodes, a row each, for any task; `begin` moves it with every placement."""

    def __init__(
        self, index: Mapping[str, int], bandwidth: Floats, flowing: Floats, assigned: Transfers | None = None
    ) -> None:
        """`bandwidth` and `flowing` are one figure per node: bytes per second, and bytes on their way into it."""
        self._index, self._bandwidth, self._flowing = index, bandwidth, flowing
        self._assigned = assigned.copy() if assigned else Transfers()

    def reads(self, inputs: Inputs) -> bool:
        """Whether any of these inputs lies on a node that is known."""
        return any(name in self._index for name, _ in inputs)

    def seconds(self, inputs: Inputs, rows: NDArray[np.intp] | slice = slice(None)) -> Floats:
        """T_in of a task with these inputs on some nodes (all by default)."""
        senders, sizes = self._known(inputs)
        traffic = self._assigned.rows(senders, len(self._bandwidth)) + self._flowing
        times: Floats = incoming(senders, sizes, traffic, pairwise(self._bandwidth, senders))[rows]
        return times

    def at(self, inputs: Inputs, row: int) -> float:
        """T_in on one node, as plain numbers."""
        senders, sizes = self._known(inputs)
        worst, flowing, speed = 0.0, float(self._flowing[row]), float(self._bandwidth[row])
        for sender, size in zip(senders, sizes, strict=True):
            volume = size + flowing + self._assigned.between(sender, row)
            if sender != row and volume > 0:
                link = min(speed, float(self._bandwidth[sender]))
                worst = max(worst, volume / link if link > 0 else float("inf"))
        return worst

    def quiet(self) -> Floats:
        """priority(d) of the paper: seconds until the busiest link into each node is quiet; lower is better."""
        return worst_inbound(self._assigned, self._flowing, self._bandwidth)

    def held(self, inputs: Inputs) -> Floats:
        """Cnt0: how many of these inputs each node holds."""
        senders, _ = self._known(inputs)
        return np.bincount(senders, minlength=len(self._bandwidth)).astype(np.float64)

    def begin(self, inputs: Inputs, row: int) -> None:
        """A task with these inputs goes to this node: what it reads from elsewhere is on its way."""
        for sender, size in zip(*self._known(inputs), strict=True):
            self._assigned.begin(sender, row, size)

    def _known(self, inputs: Inputs) -> tuple[list[int], list[float]]:
        known = [(self._index[name], size) for name, size in inputs if name in self._index]
        return [row for row, _ in known], [size for _, size in known]
