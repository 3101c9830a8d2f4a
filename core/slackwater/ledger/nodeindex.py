"""All nodes of the ledger as arrays: what they have, what of it may be given out, and whether they take pods.

    AR = allocatable × allowance      NC = capacity − hard eviction      limit = min(AR, NC)

The allowance is a matter of each kind (`estimation.margins`). Kinds that are not measured are never overcommitted, and
of CPU, which is compressible, nothing is kept back: there AR = allocatable.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import UnknownName
from slackwater.estimation.calibration import MachineTypes
from slackwater.ledger.types import LedgerConfig, NodeSpec, Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class NodeIndex:
    """Rows in order of arrival; a removed node's row is taken by those after it."""

    def __init__(self, terms: LedgerConfig) -> None:
        self._kinds = terms.kinds
        self._allowance = np.array([margin.allowance for margin in terms.kept()])
        self.names: tuple[str, ...] = ()
        self.index: dict[str, int] = {}
        self._specs: list[NodeSpec] = []
        empty: Floats = np.zeros((0, len(terms.kinds)))
        self.total = self.allowed = self.real = self.pod_share = empty
        self.open: NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.machines = MachineTypes.of(())
        self._current = True
        self._given = False  # whether a table may have the index

    def __getitem__(self, row: int) -> NodeSpec:
        return self._specs[row]

    def __iter__(self) -> Iterator[NodeSpec]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def row(self, name: str) -> int:
        """The row of a node, or UnknownName."""
        if name not in self.index:
            raise UnknownName("node", name, [*list(self.index)[:5], "…"] if len(self.index) > 5 else self.index)
        return self.index[name]

    def own_readings(self, readings: Mapping[str, Sample]) -> list[tuple[int, Sample]]:
        """The readings of nodes that are held, with their rows; not those of an earlier machine of the same name."""
        found = [(self.index[name], reading) for name, reading in readings.items() if name in self.index]
        return [(row, reading) for row, reading in found if not reading.stamp < self._specs[row].created]

    def upsert(self, node: NodeSpec) -> bool:
        """Take in a node or its change; return whether it is new."""
        node.check(self._kinds)
        row = self.index.get(node.name)
        self._current = self._current and row is not None and self._specs[row] == node
        if row is not None:
            self._specs[row] = node
            return False
        if self._given:  # tables given out earlier keep the one they were made with
            self.index, self._given = dict(self.index), False
        self.index[node.name] = len(self._specs)
        self._specs.append(node)
        return True

    def remove(self, row: int) -> None:
        """Forget a node; later rows move up by one."""
        del self._specs[row]
        # A new dict: tables given out earlier keep the one they were made with.
        self.index = {node.name: at for at, node in enumerate(self._specs)}
        self._current = self._given = False

    def refresh(self) -> bool:
        """Bring the arrays up to date; return whether they changed. Old arrays stay as they were for old tables."""
        self._given = True
        if self._current:
            return False
        self._current = True
        shape = (len(self._specs), len(self._kinds))
        self.names = tuple(node.name for node in self._specs)
        self.total = np.array([node.allocatable for node in self._specs], np.float64).reshape(shape)
        self.allowed = self.total * self._allowance
        none = (0.0,) * len(self._kinds)
        capacity = np.array([node.capacity or none for node in self._specs], np.float64).reshape(shape)
        eviction = np.array([node.eviction or none for node in self._specs], np.float64).reshape(shape)
        # NC, and allocatable ÷ capacity, at most 1. Zero or unknown capacity: AR stands in for NC, and the share is 1.
        self.real = np.where(capacity > 0, np.maximum(capacity - eviction, 0.0), self.allowed)
        self.pod_share = np.divide(self.total, capacity, out=np.ones_like(self.total), where=capacity > self.total)
        self.open = np.array([node.ready and not node.cordoned for node in self._specs], np.bool_)
        self.machines = MachineTypes.of([node.machine for node in self._specs])
        return True

    @property
    def limit(self) -> Floats:
        """min(AR, NC)."""
        return np.minimum(self.allowed, self.real)
