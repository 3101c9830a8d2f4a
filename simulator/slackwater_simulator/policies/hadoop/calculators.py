"""How YARN's Capacity scheduler compares amounts: by memory alone, or by the dominant share of the cluster."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slackwater.errors import UnknownName

MEMORY = 1
Amounts = Sequence[float]
SLACK = 1e-9


class Calculator:
    """One number per amount, so that "more" and "less" mean something; rounding to the smallest allocation."""

    def __init__(self, name: str, total: Sequence[float], least: Sequence[float]) -> None:
        if name not in {"default", "dominant"}:
            raise UnknownName("calculator", name, ("default", "dominant"))
        self.total = total
        self.least = tuple(least)
        self.kinds = (MEMORY,) if name == "default" else tuple(range(len(total)))
        self.single = name == "default"  # the common case has its own short path: these are called for every container

    def size(self, amounts: Amounts) -> float:
        """Memory, or the largest share of any kind of the cluster."""
        if self.single:
            return amounts[MEMORY]
        return max((amounts[k] / self.total[k] for k in self.kinds if self.total[k] > 0), default=0.0)

    def over(self, amounts: Amounts, limit: Amounts) -> bool:
        """Whether the amounts are more than the limit."""
        if self.single:
            return amounts[MEMORY] > limit[MEMORY] * (1.0 + SLACK) + SLACK
        bound = self.size(limit)
        return self.size(amounts) > bound + SLACK * max(1.0, bound)

    def reaches(self, amounts: Amounts, limit: Amounts) -> bool:
        """Whether the amounts are at least the limit."""
        return not self.over(limit, amounts)

    def inside(self, amounts: Amounts, room: Amounts) -> bool:
        """Whether every kind that counts fits."""
        if self.single:
            return amounts[MEMORY] <= room[MEMORY] * (1.0 + SLACK) + SLACK
        return all(amounts[k] <= room[k] + SLACK * max(1.0, room[k]) for k in self.kinds)

    def smaller(self, one: Amounts, other: Amounts) -> Amounts:
        """The lesser of two."""
        return one if self.size(one) <= self.size(other) else other

    def larger(self, one: Amounts, other: Amounts) -> Amounts:
        """The greater of two."""
        return one if self.size(one) >= self.size(other) else other

    def up(self, amounts: Amounts) -> list[float]:
        """Rounded up to the smallest allocation."""
        return [math.ceil(a / step - SLACK) * step if step else a for a, step in zip(amounts, self.least, strict=True)]

    def down(self, amounts: Amounts) -> list[float]:
        """Rounded down to the smallest allocation."""
        return [math.floor(a / step + SLACK) * step if step else a for a, step in zip(amounts, self.least, strict=True)]


def scaled(amounts: Amounts, factor: float) -> list[float]:
    """Every amount times the factor."""
    return [amount * factor for amount in amounts]


def plus(one: Amounts, other: Amounts) -> list[float]:
    """Element-wise sum."""
    return [a + b for a, b in zip(one, other, strict=True)]


def minus(one: Amounts, other: Amounts) -> list[float]:
    """Element-wise difference."""
    return [a - b for a, b in zip(one, other, strict=True)]
