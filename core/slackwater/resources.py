"""A small vector over named kinds of resource: cpu, memory, and whatever else a node offers (GPUs included).

A kind that is not named is 0. Amounts are plain floats in the kind's base unit (cores, bytes, devices); parsing of
Kubernetes quantities happens outside the core.

Whether a demand fits, and how often, is answered here for names, plain numbers and arrays alike:

    fits      left ≥ least(asked) in every kind that is asked for
    places    min over these kinds of ⌊(left + the same slack) ÷ asked⌋
"""

from __future__ import annotations

import math
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from slackwater.validation import TOLERANCE, finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

CPU = "cpu"
MEMORY = "memory"

# The order in which kinds stand in arrays.
Kinds = tuple[str, ...]

PLENTY = 1e6  # places of a demand for nothing, on each node


def plain(value: float) -> str:
    """A short number for people: four digits that count, thousands apart, and never an exponent."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{round(value, 4) + 0.0:.4g}"


def least(asked: float) -> float:
    """The least of one kind that serves a demand: a hair below it, and of a kind not asked for whatever is there.

    A node overfull in memory thus still takes a pod that asks for none.
    """
    # = asked − TOLERANCE · max(1, asked), and infinite where an infinite amount is asked for
    return min(asked - TOLERANCE, asked * (1.0 - TOLERANCE)) if asked > 0 else -math.inf


@lru_cache(maxsize=8192)
def needed_by(request: tuple[float, ...]) -> tuple[float, ...]:
    """`least` of each kind of one request: a cluster has a few hundred distinct ones."""
    return tuple(map(least, request))


def needed(request: NDArray[np.float64]) -> NDArray[np.float64]:
    """`least` of each number of an array."""
    return np.where(request > 0, np.minimum(request - TOLERANCE, request * (1.0 - TOLERANCE)), -np.inf)


def holding(left: NDArray[np.float64], asked: Iterable[float]) -> NDArray[np.bool_]:
    """The rows of what is left (node × kind) that hold the demand."""
    fits = np.ones(len(left), np.bool_)
    for column, amount in enumerate(asked):
        if amount > 0:  # a column at a time: several times as fast as along the short axis
            fits &= left[:, column] >= least(amount)
    return fits


def places(left: NDArray[np.float64], asked: Iterable[float]) -> NDArray[np.float64]:
    """How often the demand goes into each row of what is left (node × kind)."""
    most = np.full(len(left), PLENTY)
    for column, amount in enumerate(asked):
        if amount > 0:  # the slack of `least`, as a share of one demand
            np.minimum(most, np.floor(left[:, column] / amount + TOLERANCE * max(1.0, 1.0 / amount)), out=most)
    np.maximum(most, 0.0, out=most)
    return most


def places_on(left: Sequence[float], asked: Iterable[float]) -> float:
    """The same of one row, in plain numbers."""
    most = PLENTY
    for has, amount in zip(left, asked, strict=True):
        if amount > 0:
            most = math.floor(min(most, has / amount + TOLERANCE * max(1.0, 1.0 / amount)))
    return max(float(most), 0.0)


class Resources(Mapping[str, float]):
    """An immutable amount of each kind. Supports +, −, ×, element-wise limits and the test "does it fit"."""

    __slots__ = ("_amounts", "_hash")
    _amounts: dict[str, float]
    _hash: int | None  # computed once: amounts are keys of many caches

    def __init__(self, amounts: Mapping[str, float] | None = None, /, **named: float) -> None:
        merged = {**(amounts or {}), **named}
        self._amounts = {kind: float(finite(kind, value)) for kind, value in merged.items() if value != 0}
        self._hash = None

    @classmethod
    def from_vector(cls, kinds: Kinds, values: Iterable[float]) -> Resources:
        """Name the values of an array row."""
        return cls(dict(zip(kinds, (float(value) for value in values), strict=True)))

    def __getitem__(self, kind: str) -> float:
        return self._amounts.get(kind, 0.0)

    def __contains__(self, kind: object) -> bool:
        return kind in self._amounts

    def __iter__(self) -> Iterator[str]:
        return iter(self._amounts)

    def __len__(self) -> int:
        return len(self._amounts)

    def items(self) -> ItemsView[str, float]:
        """The named kinds and their amounts."""
        return self._amounts.items()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._amounts.items()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Resources) and self._amounts == other._amounts

    def __repr__(self) -> str:
        inside = ", ".join(f"{kind}={self._amounts[kind]:g}" for kind in sorted(self._amounts))
        return f"Resources({inside})"

    def __add__(self, other: Resources) -> Resources:
        return Resources({kind: self[kind] + other[kind] for kind in self.kinds(other)})

    def __sub__(self, other: Resources) -> Resources:
        return Resources({kind: self[kind] - other[kind] for kind in self.kinds(other)})

    def __mul__(self, factor: float) -> Resources:
        return Resources({kind: value * factor for kind, value in self._amounts.items()})

    def kinds(self, *others: Resources) -> Kinds:
        """All kinds named here or in the others, sorted."""
        names = set(self._amounts)
        for other in others:
            names.update(other)
        return tuple(sorted(names))

    def fits(self, room: Resources) -> bool:
        """Whether every kind asked for is there, within the tolerance. A kind not asked for never refuses."""
        there = room._amounts
        return all(there.get(kind, 0.0) >= least(value) for kind, value in self._amounts.items())

    def lacking(self, room: Resources) -> Kinds:
        """The kinds of which the room has too little."""
        return tuple(sorted(kind for kind, value in self._amounts.items() if room[kind] < least(value)))

    def at_least(self, floor: Resources) -> Resources:
        """Element-wise maximum."""
        return Resources({kind: max(self[kind], floor[kind]) for kind in self.kinds(floor)})

    def at_most(self, ceiling: Resources) -> Resources:
        """Element-wise minimum; a kind the ceiling does not name becomes 0."""
        return Resources({kind: min(self[kind], ceiling[kind]) for kind in self.kinds(ceiling)})

    def share(self, total: Resources) -> float:
        """Dominant share: the largest fraction of any kind of the total; infinite where the total has none of it."""
        shares = [value / total[kind] if total[kind] > 0 else float("inf") for kind, value in self.items() if value > 0]
        return max(shares, default=0.0)

    def vector(self, kinds: Kinds) -> NDArray[np.float64]:
        """The amounts in the order of the given kinds, as a numpy row."""
        return np.array([self._amounts.get(kind, 0.0) for kind in kinds], dtype=np.float64)

    def within(self, kinds: Kinds) -> bool:
        """Whether nothing is asked of any other kind."""
        return all(kind in kinds for kind, value in self._amounts.items() if value > 0)

    def demand(self, kinds: Kinds) -> list[float]:
        """The same as a demand on nodes that have these kinds: one for any other is more than a node has."""
        if not self.within(kinds):
            return [math.inf] * len(kinds)
        return [self._amounts.get(kind, 0.0) for kind in kinds]


NOTHING = Resources()


def total(parts: Iterable[Resources]) -> Resources:
    """The sum of many amounts, added in one pass."""
    sums: dict[str, float] = {}
    for part in parts:
        for kind, value in part.items():
            sums[kind] = sums.get(kind, 0.0) + value
    return Resources(sums)


def largest(parts: Iterable[Resources]) -> Resources:
    """Of each kind the largest amount, found in one pass."""
    most: dict[str, float] = {}
    for part in parts:
        for kind, value in part.items():
            if value > most.get(kind, 0.0):
                most[kind] = value
    return Resources(most)


def times(parts: Iterable[tuple[Resources, float]]) -> Resources:
    """The sum of many amounts, each so many times."""
    sums: dict[str, float] = {}
    for part, factor in parts:
        for kind, value in part.items():
            sums[kind] = sums.get(kind, 0.0) + value * factor
    return Resources(sums)
