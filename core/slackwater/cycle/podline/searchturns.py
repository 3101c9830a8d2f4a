"""Whose pods are looked at closer, where a round has time for some gangs only.

Half of the searches are for whoever asks first, so that the head of the line has one in every round. The other half is
for those of the others whose turn it is: turns begin at another place in every round,

    begin = ⌊n · frac(φ · now)⌋        φ = (√5 − 1) / 2, by which equal steps of time come near every place soon

so nobody waits for ever behind gangs for which a search finds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import chain, islice
from typing import Generic, TypeVar

GOLDEN = (math.sqrt(5) - 1) / 2

Key = TypeVar("Key")


class SearchTurns(Generic[Key]):
    """The searches of one round. `everybody`: all who may ask for one, in order; seldom asked for."""

    def __init__(self, most: int, now: float, everybody: Callable[[], Iterable[Key]]) -> None:
        self._now, self._everybody = now, everybody
        self._half = most // 2
        self._first, self._later = most - self._half, self._half  # searches that are left
        self._seen: set[Key] = set()

    def take(self, key: Key) -> bool:
        """Whether there is a search for this one; it is taken."""
        if self._first > 0:
            self._first -= 1
            self._seen.add(key)
            return True
        if self._later <= 0 or key not in self._turns:
            return False
        self._later -= 1
        return True

    @cached_property
    def _turns(self) -> set[Key]:
        """Those of the others whose turn it is in this round."""
        others = [key for key in dict.fromkeys(self._everybody()) if key not in self._seen]
        begin = int(len(others) * (self._now * GOLDEN % 1.0))
        return set(islice(chain(others[begin:], others[:begin]), self._half))
