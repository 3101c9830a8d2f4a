"""Amounts of many pods as arrays, with their sums per node kept current.

Every pod has a slot, every node a row. A pod's cells are its amounts by measure and kind; adding, moving or dropping a
pod touches one slot and one or two rows, whatever the size of the cluster. Freed slots are used again.

What else is known of a pod and summed by nobody lies beside its cells, so that entering or dropping it is one write.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

# The row of pods whose node is not known (yet): a watch may show the pod before its node.
NOWHERE = -1
BLOCK = 8192  # pods that are worked on at a time


def grown(array: NDArray[Scalar], axis: int, size: int, fill: float = 0) -> NDArray[Scalar]:
    """The array with room for `size` entries along an axis, and a quarter more so that growing is cheap on average."""
    have = array.shape[axis]
    if size <= have:
        return array
    shape = list(array.shape)
    shape[axis] = max(size, have + have // 4 + 64)
    larger: NDArray[Scalar] = np.full(shape, fill, array.dtype)
    larger[tuple(slice(0, n) for n in array.shape)] = array
    return larger


def blocks(pods: int) -> Iterator[slice]:
    """Places of all pods, some thousands at a time: what is computed of so many stays in the processor's cache."""
    return (slice(begin, min(begin + BLOCK, pods)) for begin in range(0, pods, BLOCK))


def put(table: NDArray[Scalar], pods: NDArray[np.intp], values: NDArray[Scalar]) -> None:
    """Set some columns of a table, row by row: one assignment for all rows takes four times as long."""
    for row, value in zip(table, values, strict=True):
        row[pods] = value


class PodMatrix:
    """Cells per pod and their sums per node. Row 0 of the inner arrays is nowhere, so that every pod has a row."""

    def __init__(self, measures: int, kinds: int, aside: int = 0) -> None:
        self._measures = measures
        self._cells: NDArray[np.float64] = np.zeros((measures + aside, kinds, 64))
        self._homes: NDArray[np.int64] = np.zeros(64, np.int64)
        self._taken: NDArray[np.bool_] = np.zeros(64, np.bool_)  # which slots hold a pod
        self._sums: NDArray[np.float64] = np.zeros((64, measures, kinds))
        self._free: list[int] = []
        self._held: NDArray[np.intp] | slice | None = None  # until a pod is added or dropped
        self.slots = 0  # slots ever used, freed ones included
        self.rows = 0

    @property
    def cells(self) -> NDArray[np.float64]:
        """Measure × kind × slot. A freed slot holds zeros."""
        return self._cells[: self._measures, :, : self.slots]

    @property
    def table(self) -> NDArray[np.float64]:
        """The same with what is not summed behind it, and room for slots to come."""
        return self._cells

    @property
    def homes(self) -> NDArray[np.int64]:
        """The row of each slot's pod plus one; 0 is nowhere."""
        return self._homes[: self.slots]

    @property
    def sums(self) -> NDArray[np.float64]:
        """Row × measure × kind."""
        return self._sums[1 : self.rows + 1]

    @property
    def held(self) -> NDArray[np.intp] | slice:
        """The slots to work on: those that hold a pod; simply all of them while few are free.

        After a crowd has gone most slots are empty, and whatever goes over all pods would go over them too.
        """
        if self._held is None:
            sparse = 4 * len(self._free) > self.slots
            self._held = np.flatnonzero(self._taken[: self.slots]) if sparse else slice(None)
        return self._held

    def row_of(self, slot: int) -> int:
        """The row of a pod, or NOWHERE."""
        return int(self._homes[slot]) - 1

    def on_row(self, row: int) -> NDArray[np.intp]:
        """The slots of the pods on a row."""
        return np.flatnonzero(self.homes == row + 1)

    def add(self, row: int, cells: NDArray[np.float64]) -> int:
        """Enter a pod, what is not summed included, and return its slot."""
        slot = self._free.pop() if self._free else self._new_slot()
        self._held = None
        self._homes[slot] = row + 1
        self._taken[slot] = True
        self._cells[:, :, slot] = cells
        sums = self._sums[row + 1]
        sums += cells[: self._measures]
        return slot

    def rewrite(self, slot: int, cells: NDArray[np.float64]) -> None:
        """Replace a pod's amounts."""
        kept = self.cells[:, :, slot]
        self._sums[self._homes[slot]] += cells - kept
        kept[:] = cells

    def move(self, slot: int, row: int) -> None:
        """Take a pod to another row, amounts unchanged."""
        cells = self.cells[:, :, slot]
        self._sums[self._homes[slot]] -= cells
        self._homes[slot] = row + 1
        self._sums[row + 1] += cells

    def drop(self, slot: int) -> None:
        """Forget a pod; its slot is used again."""
        cells, sums = self._cells[:, :, slot], self._sums[self._homes[slot]]
        sums -= cells[: self._measures]
        cells[:] = 0.0
        self._held = None
        self._homes[slot] = 0
        self._taken[slot] = False
        self._free.append(slot)

    def add_row(self) -> int:
        """Enter a node and return its row."""
        self.rows += 1
        self._sums = grown(self._sums, 0, self.rows + 1)
        self._sums[self.rows] = 0.0
        return self.rows - 1

    def drop_row(self, row: int) -> None:
        """Forget a node: its pods are nowhere, and later rows move up by one."""
        self._sums[0] += self._sums[row + 1]
        self._sums[row + 1 : self.rows] = self._sums[row + 2 : self.rows + 1].copy()
        self.rows -= 1
        homes = self.homes
        homes[homes == row + 1] = 0
        homes[homes > row + 1] -= 1

    def refresh(self, measure: int, held: NDArray[np.intp] | slice = slice(None)) -> None:
        """Sum a measure anew over all pods (the slots held), after its cells were changed in bulk."""
        homes = self.homes[held]
        for kind, weights in enumerate(self.cells[measure]):
            summed = np.bincount(homes, weights[held], minlength=self.rows + 1)
            self._sums[: self.rows + 1, measure, kind] = summed

    def refresh_rows(self, rows: NDArray[np.intp], measure: int, slots: NDArray[np.intp], at: NDArray[np.intp]) -> None:
        """Sum a measure anew for some rows, given the slots of their pods and the place of each one's row in `rows`."""
        for kind in range(self._cells.shape[1]):
            summed = np.bincount(at, self._cells[measure, kind, slots], minlength=len(rows))
            self._sums[rows + 1, measure, kind] = summed

    def shift(self, measures: slice, slots: NDArray[np.intp], by: NDArray[np.float64]) -> None:
        """Add to the sums of their rows what was already changed in the cells of some pods: measure × kind × pod."""
        if slots.size:
            homes = self._homes[slots]
            summed = [[np.bincount(homes, each, minlength=self.rows + 1) for each in kinds] for kinds in by]
            self._sums[: self.rows + 1, measures] += np.moveaxis(np.array(summed), 2, 0)

    def _new_slot(self) -> int:
        self.slots += 1
        self._cells = grown(self._cells, 2, self.slots)
        self._homes = grown(self._homes, 0, self.slots)
        self._taken = grown(self._taken, 0, self.slots)
        return self.slots - 1
