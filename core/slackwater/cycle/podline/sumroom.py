"""What is free of a queue's nodes as one sum, and what each shape of pod asks of it: fitness is taken against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from operator import le, mul, sub

import numpy as np

from slackwater.cycle.snapshot import Queue
from slackwater.ordering.fitness import weights
from slackwater.resources import Resources, needed_by
from slackwater.validation import TOLERANCE


class SumRoom:
    """Free amounts by kind. Shapes are given by number, in the order of their requests."""

    def __init__(self, queue: Queue, free: Resources, requests: Sequence[Resources]) -> None:
        self._kinds = queue.free.kinds(queue.total, queue.capacity, *requests)
        self._total = queue.total or queue.capacity
        self._free = [free[kind] for kind in self._kinds]
        self._asked = [tuple([request[kind] for kind in self._kinds]) for request in requests]
        self._needed = [needed_by(asked) for asked in self._asked]

    def left(self) -> Resources:
        """What is free."""
        return Resources({kind: max(0.0, value) for kind, value in zip(self._kinds, self._free, strict=True)})

    def spend(self, amounts: Resources) -> None:
        """Others took so much."""
        self._free = [free - amounts[kind] for kind, free in zip(self._kinds, self._free, strict=True)]

    def take(self, shape: int) -> None:
        """One pod of the shape goes."""
        self._free = list(map(sub, self._free, self._asked[shape]))

    def fits(self, shape: int) -> bool:
        """Whether one more pod of the shape would fit."""
        return all(map(le, self._needed[shape], self._free))

    def most_needed(self, shapes: Iterable[int]) -> tuple[float, ...]:
        """The most of each kind that one of these shapes needs: while that is there, each of them fits."""
        return tuple(map(max, zip(*[self._needed[shape] for shape in shapes], strict=True)))

    def holds(self, needed: Iterable[float]) -> bool:
        """Whether so much of each kind is free."""
        return all(map(le, needed, self._free))

    def lacking(self, shape: int) -> tuple[str, float, float]:
        """The kind of which there is too little for the shape, what is free of it and what is asked."""
        return self._shortest(self._needed[shape], self._asked[shape])

    def lacking_together(self, pods: Iterable[tuple[int, int]]) -> tuple[str, float, float] | None:
        """The kind of which there is too little for so many pods of each shape at once; None where they would fit."""
        asked = [0.0] * len(self._kinds)
        for shape, count in pods:
            asked = [sum_ + count * one for sum_, one in zip(asked, self._asked[shape], strict=True)]
        least = needed_by(tuple(asked))
        return None if all(map(le, least, self._free)) else self._shortest(least, asked)

    def _shortest(self, least: Sequence[float], asked: Sequence[float]) -> tuple[str, float, float]:
        short = max(range(len(least)), key=lambda k: least[k] - self._free[k])
        return self._kinds[short], self._free[short], asked[short]

    def fitness(self) -> list[float]:
        """F of the shapes; none where all ask for the same: it tells nobody apart."""
        if len(self._asked) <= 1:
            return []
        worth = [w * max(free, 0.0) for w, free in zip(self._weight, self._free, strict=True)]
        return [sum(map(mul, asked, worth)) for asked in self._asked]

    @cached_property
    def _weight(self) -> list[float]:
        """What a unit of each kind counts; next to nothing is nothing."""
        total = self._total.vector(self._kinds)
        weight: list[float] = weights(np.where(total > TOLERANCE, total, 0.0)).tolist()
        return weight

    @cached_property
    def unit(self) -> dict[str, float]:
        """One unit's share of the nodes, by kind."""
        return {kind: float(np.sqrt(weight)) for kind, weight in zip(self._kinds, self._weight, strict=True)}
