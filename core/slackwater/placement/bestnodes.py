"""The best node for each shape of pod, kept current while pods are placed (paper 001).

Fitness of every shape on every node is a matrix. A placement changes one node, so one column is recomputed; the best
of a row is found over blocks of about √N columns, of which one block changes. A step thus costs O(shapes · √nodes)
instead of O(shapes · nodes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.network.arrivals import Arrivals, Inputs
from slackwater.ordering.fitness import weights
from slackwater.ordering.preference import nm
from slackwater.placement.filter import Residual
from slackwater.placement.score import HALVES, Weights, crowding, lateness
from slackwater.resources import MEMORY, needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeTable


LATEST = 1e3  # times the spread: what no bandwidth reaches
STEEP = 1e4  # times what lacks of a node's memory: more than fitness can make good for
TIE = 1e-6  # what only breaks ties counts so much


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: arrays have no single truth value
class PodShape:
    """What decides where a pod may go: pods that agree in all of this are one row of the standings."""

    declared: NDArray[np.float64]
    charge: NDArray[np.float64]  # declared and native, side by side
    usable: NDArray[np.bool_]  # open and allowed nodes
    inputs: Inputs = ()  # what it reads from where (paper 003); nothing: fitness alone decides
    balance: Weights = HALVES
    unproven: bool = False  # nobody knows that it keeps to the memory it asks for


@dataclass(frozen=True, slots=True)
class _ArrivalScale:
    """How T_in of one shape becomes a number between 0 (soonest) and 1 (latest), as it was when the shape came in."""

    soonest: float
    spread: float

    def near(self, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
        """1 − nm(T_in); a node made busier than any was falls below 0, one that no bandwidth reaches is last."""
        late: NDArray[np.float64] = np.minimum((seconds - self.soonest) / self.spread, LATEST)
        return 1.0 - late


class BestNodes:
    """A working copy of what is left on the nodes, and for up to `width` shapes their best node on it."""

    def __init__(self, table: NodeTable, width: int, arrivals: Arrivals | None = None) -> None:
        self._arrivals = arrivals
        self._scales: dict[int, tuple[PodShape, _ArrivalScale]] = {}  # by slot, of shapes that read something
        nodes, kinds = len(table), len(table.kinds)
        self._free = list(range(width))
        self._held: dict[PodShape, int] = {}  # the oldest first
        self._kinds = kinds
        # Room and then native residual, a row per kind: a pod fits where all of its 2K needs are met.
        self._left = np.concatenate([table.room.T, table.native.T])
        # A kind the node has none of serves no positive demand, whatever its residual claims.
        absent = np.concatenate([table.total.T, table.total.T]) <= 0
        self._left[absent] = np.minimum(self._left[absent], 0.0)
        self._weight = weights(np.ascontiguousarray(table.total.T))
        self._block = max(1, math.isqrt(nodes))
        blocks = max(1, -(-nodes // self._block))
        self._needs = np.full((width, 2 * kinds), np.inf)
        self._declared = np.zeros((width, kinds))
        # Block-major, so that the one block a placement touches lies together in memory.
        self._fitness = np.full((blocks, width, self._block), -np.inf)
        self._keys: NDArray[np.float64] = self._fitness  # a copy of its own once a shape has T_in
        self._slope = np.ones(width)
        self._bias: NDArray[np.float64] | None = None
        self._memory = table.kinds.index(MEMORY) if MEMORY in table.kinds else None
        self._offered = np.zeros(nodes) if self._memory is None else table.total[:, self._memory]  # of memory
        self._unproven = np.zeros(width, np.bool_)
        self._inner = np.zeros((width, blocks), dtype=np.intp)  # best column inside each block
        self._peaks = np.full((width, blocks), -np.inf)  # and its key
        self._slots = np.arange(width)

    @property
    def left(self) -> Residual:
        """Room and native residual as they now stand."""
        return Residual(self._left[: self._kinds].T, self._left[self._kinds :].T)

    def hold(self, shape: PodShape) -> int | None:
        """The slot in which the shape is kept current from now on; None when all slots are taken."""
        if shape not in self._held and self._free:
            self._held[shape] = self._free.pop()
            self._load(self._held[shape], shape)
        return self._held.get(shape)

    def seat(self, shape: PodShape) -> int:
        """As `hold`, at the cost of the shape held longest when all slots are taken."""
        if shape not in self._held and not self._free:
            self.drop(next(iter(self._held)))
        self.hold(shape)
        return self._held[shape]

    def drop(self, shape: PodShape) -> None:
        """Forget the shape and free its slot."""
        slot = self._held.pop(shape)
        self._scales.pop(slot, None)
        self._free.append(slot)
        self._needs[slot] = np.inf
        self._peaks[slot] = -np.inf
        self._fitness[:, slot] = -np.inf
        self._keys[:, slot] = -np.inf

    def clear(self) -> None:
        """Forget every shape."""
        for shape in list(self._held):
            self.drop(shape)

    def best(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """For each slot the row of its best node and its fitness there, −∞ where no node serves it."""
        block = self._peaks.argmax(axis=1)
        inner = self._inner[self._slots, block]
        return block * self._block + inner, self._fitness[block, self._slots, inner]

    def one(self, slot: int) -> int | None:
        """The row of the best node of one shape; None where no node serves it."""
        block = int(self._peaks[slot].argmax())
        if self._peaks[slot, block] == -np.inf:
            return None
        return block * self._block + int(self._inner[slot, block])

    def charge(self, row: int, shape: PodShape) -> None:
        """Place one pod of that shape on that node, and bring the standing of every held shape there up to date."""
        left = self._left[:, row]
        left -= shape.charge
        block, inner = divmod(row, self._block)
        self._send(shape, row, block, inner)
        fitted = self._declared @ (self._weight[:, row] * left[: self._kinds])
        column = self._fitness[block, :, inner]
        # A node that did not serve a shape before has only less now.
        gone = (self._needs > left).any(axis=1) | (column == -np.inf)
        column[:] = np.where(gone, -np.inf, fitted)
        keys = self._keys[block]
        if self._bias is not None:
            key = self._slope * fitted + self._bias[block, :, inner] - self._crowding(slice(None), row)
            keys[:, inner] = np.where(gone, -np.inf, key)
        self._inner[:, block] = keys.argmax(axis=1)
        self._peaks[:, block] = keys.max(axis=1)

    def _crowding(self, slot: int | slice, row: int | slice) -> NDArray[np.float64] | float:
        """What unproven shapes lose by nodes, or a node, of which less than half of the memory would stay free."""
        unproven, kind = self._unproven[slot], self._memory
        if kind is None or not unproven.any():
            return 0.0
        crowded = crowding(self._left[kind, row], self._declared[slot, kind], self._offered[row])
        return STEEP * unproven * crowded

    def _send(self, shape: PodShape, row: int, block: int, inner: int) -> None:
        """What the pod reads is on its way to its node: whoever reads over the same links gets there later."""
        if not shape.inputs or self._arrivals is None or self._bias is None:
            return
        self._arrivals.begin(shape.inputs, row)
        for slot, (other, scale) in self._scales.items():
            near = scale.near(np.array([self._arrivals.at(other.inputs, row)]))[0]
            self._bias[block, slot, inner] = other.balance.network * near

    def _load(self, slot: int, shape: PodShape) -> None:
        """Compute the row of a shape over all nodes."""
        self._declared[slot] = shape.declared
        self._needs[slot] = needed(shape.charge)
        usable = shape.usable.copy()
        for k in np.flatnonzero(shape.charge).tolist():
            usable &= self._left[k] >= self._needs[slot, k]
        fitted = np.zeros(len(usable))
        for k in np.flatnonzero(shape.declared).tolist():
            fitted += self._weight[k] * self._left[k] * shape.declared[k]
        fitted[~usable] = -np.inf
        self._write(self._fitness, slot, fitted)
        self._load_keys(slot, shape, fitted, usable)
        keys = self._keys[:, slot]
        self._inner[slot] = keys.argmax(axis=1)
        self._peaks[slot] = keys.max(axis=1)

    def _load_keys(self, slot: int, shape: PodShape, fitted: NDArray[np.float64], usable: NDArray[np.bool_]) -> None:
        """Key = w_F·nm(F) + w_N·(1 − nm(T_in)) (paper 003), with the spread of F as it was when the shape came in.

        Freezing the spread keeps the key of an unchanged node unchanged; without T_in the key is F itself. Of shapes
        that are unproven it is less where a node would be crowded.
        """
        reads = bool(shape.inputs) and self._arrivals is not None
        self._unproven[slot] = shape.unproven
        if not (reads or shape.unproven) and self._bias is None:
            return
        if self._bias is None:
            self._bias, self._keys = np.zeros_like(self._fitness), self._fitness.copy()
        slope, bias = 1.0, np.zeros(len(fitted))
        if reads and self._arrivals is not None and usable.any():
            slope = shape.balance.fitness / _spread(fitted[usable])
            seconds = self._arrivals.seconds(shape.inputs)[usable]
            scale = _scale(seconds)
            self._scales[slot] = shape, scale
            # Equal in all of that: quiet links, then more inputs held (the paper's priority and Cnt0).
            quiet, held = self._arrivals.quiet()[usable], self._arrivals.held(shape.inputs)[usable]
            ties = TIE * (1.0 - lateness(quiet)) + TIE**2 * nm(held)
            bias[usable] = shape.balance.network * scale.near(seconds) + ties
        self._slope[slot] = slope
        self._write(self._bias, slot, bias)
        keys = np.full(len(fitted), -np.inf)
        keys[usable] = slope * fitted[usable] + bias[usable]
        keys -= self._crowding(slot, slice(None))
        self._write(self._keys, slot, keys)

    def _write(self, matrix: NDArray[np.float64], slot: int, values: NDArray[np.float64]) -> None:
        padded = np.full(matrix.shape[0] * self._block, -np.inf)
        padded[: len(values)] = values
        matrix[:, slot] = padded.reshape(-1, self._block)


def _scale(seconds: NDArray[np.float64]) -> _ArrivalScale:
    """Min and spread of T_in over nodes that any bandwidth reaches; where they are equal, that time itself."""
    reached = seconds[np.isfinite(seconds)]
    if not reached.size:
        return _ArrivalScale(0.0, 1.0)
    soonest, spread = float(reached.min()), float(reached.max() - reached.min())
    return _ArrivalScale(soonest, spread if nm(reached).any() else soonest or 1.0)


def _spread(fitted: NDArray[np.float64]) -> float:
    """Max − min, and where the nodes are equal the fitness itself, so that a filled node still falls behind."""
    return float(fitted.max() - fitted.min() if nm(fitted).any() else fitted.max()) or 1.0
