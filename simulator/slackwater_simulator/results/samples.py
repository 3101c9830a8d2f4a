"""Time series of bounded length: when one is full, every second point is dropped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from slackwater_simulator.results.outcome import Series

MOST_POINTS = 4096


class Samples:
    """Values at moments, a column each. Of many samples every n-th is kept, n doubling as they become too many."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._rows: list[tuple[float, ...]] = []
        self._stride, self._skipped = 1, 0

    @property
    def due(self) -> bool:
        """Whether the next sample would be kept: what it costs to make can be spared otherwise."""
        return self._skipped + 1 >= self._stride

    def add(self, time: float, values: Sequence[float] = ()) -> None:
        """One more; the values may be left out of one that is not due."""
        self._skipped += 1
        if self._skipped < self._stride:
            return
        self._skipped = 0
        self._rows.append((time, *values))
        if len(self._rows) == MOST_POINTS:
            self._rows = self._rows[1::2]
            self._stride *= 2

    def series(self) -> Mapping[str, Series]:
        """By name; nothing where nothing was sampled."""
        if not self._rows:
            return {}
        time, *columns = (np.array(column) for column in zip(*self._rows, strict=True))
        return {name: Series(time, column) for name, column in zip(self._names, columns, strict=True)}
