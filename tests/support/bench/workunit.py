"""A fixed piece of plain Python, by which a bound follows the machine: at other hours it is twice as slow.

It does what a round does: small objects are made and read, kept under tuples and texts, compared, sorted and added up.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import process_time


@dataclass(frozen=True, slots=True)
class _Item:
    """Some fields of different kinds, and something computed from them."""

    name: str
    size: tuple[float, float]
    count: int
    held: tuple[int, ...]

    @property
    def total(self) -> int:
        """As an app's pods are counted."""
        return max(self.count, len(self.held))


def work(items: int = 4_000) -> float:
    """The piece of work; what it returns depends on all of it."""
    made = [_Item(f"item{n}", (1.0 + n % 3, 2.0 + n % 5), n % 7, tuple(range(n % 11))) for n in range(items)]
    sums: dict[tuple[float, float], float] = {}
    for each in made:
        sums[each.size] = sums.get(each.size, 0.0) + each.size[0] * each.total
    named = {each.name: each for each in made if any(held % 4 == 3 for held in each.held)}
    line = sorted(named.values(), key=lambda each: (-each.total, each.size, each.name))
    return sum(sums.values()) + sum(rank * named[each.name].count for rank, each in enumerate(line))


def milliseconds(repeats: int = 9) -> float:
    """Median CPU time of the piece."""
    times = []
    for _ in range(repeats):
        began = process_time()
        work()
        times.append(process_time() - began)
    return 1_000 * median(times)
