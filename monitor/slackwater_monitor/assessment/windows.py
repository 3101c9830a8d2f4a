"""What each container used in each window, from sums over raw samples.

    memory   mean = Σ samples / count, peak = largest sample, observed = count × interval
    CPU      the counter's growth since the last sample of the window before (since its first sample where there is
             none) over the time between those samples

A counter that fell was restarted: what it shows now is its growth. A CPU window with a single first sample says
nothing and is left out. Nothing is interpolated across gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from slackwater_monitor.history.cache import Answer
from slackwater_monitor.history.fetch import History
from slackwater_monitor.history.grid import Chunk

CPU, MEMORY = "cpu", "memory"
Container = tuple[str, str, str]  # namespace, pod, container
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(slots=True)
class Index:
    """Numbers for names, in order of appearance."""

    numbers: dict[Container, int] = field(default_factory=dict)
    names: list[Container] = field(default_factory=list)

    def number(self, name: Container) -> int:
        """The number of a name, new ones counting up."""
        found = self.numbers.get(name)
        if found is None:
            found = self.numbers[name] = len(self.names)
            self.names.append(name)
        return found

    def column(self, answer: Answer) -> Ints:
        """The number of each series of an answer."""
        blank = [""] * len(answer)
        parts = (answer.labels.get(key, blank) for key in ("namespace", "pod", "container"))
        return np.fromiter((self.number(name) for name in zip(*parts, strict=True)), np.int64, len(answer))


@dataclass(frozen=True, slots=True)
class Rows:
    """Windows of containers; `asked` is 0 where no request is known."""

    container: Ints
    window: Ints
    use: Floats
    peak: Floats
    seconds: Floats
    asked: Floats

    def __len__(self) -> int:
        return len(self.container)

    def within(self, first: Ints, last: Ints) -> Rows:
        """Only the windows from each container's first to its last."""
        kept = (self.window >= first[self.container]) & (self.window <= last[self.container])
        return self if kept.all() else Rows(*(getattr(self, name)[kept] for name in Rows.__slots__))


def interval(history: History) -> float:
    """Seconds between two samples: the usual number of samples in windows whose neighbours have samples too.

    Windows that are no multiple of it hold now one more, now one less; those with many samples missing do not count.
    """
    tally = np.zeros(
        1, np.int64
    )  # how many inner windows hold 0, 1, 2 … samples: a week of a large cluster has millions
    most = 1.0
    for name in ("memory-count", "cpu-count"):
        for answer in history.answers(name):
            found = np.bincount(_inner(answer, history.grid.step).astype(np.int64), minlength=len(tally))
            found[: len(tally)] += tally
            tally = found
            most = max(most, float(answer.value.max(initial=0)))
        if tally.sum():
            break
    if not tally.sum():
        return history.grid.step / most
    middle = int(np.searchsorted(np.cumsum(tally), tally.sum() / 2))
    near = slice(max(middle - 1, 0), middle + 2)
    return history.grid.step / float(np.average(np.arange(len(tally))[near], weights=tally[near]))


def _inner(answer: Answer, step: int) -> Floats:
    """The values of windows between two others of the same series."""
    series = np.repeat(np.arange(len(answer)), np.diff(answer.offsets))
    together = (np.diff(series) == 0) & (np.diff(answer.at) == step)
    return np.asarray(answer.value[1:-1][together[1:] & together[:-1]])


def rows(history: History, kind: str, index: Index, gap: float) -> Iterator[Rows]:
    """All windows of one kind, chunk by chunk."""
    if not history.has(f"{kind}-count"):
        return
    growth = _Growth()
    for piece in history.pieces:
        keys, columns = _joined(history, kind, index, piece)
        if kind == MEMORY:
            peak, total, count = columns
            use, seconds = total / count, count * gap
        else:
            last, low, count = columns
            use, seconds = growth.rates(keys, last, low, count, gap)
            peak = use
        known = seconds > 0
        container, window = keys[0][known], keys[1][known]
        asked = _asked(history, kind, index, piece)
        yield Rows(container, window, use[known], peak[known], seconds[known], asked[container])


def _joined(history: History, kind: str, index: Index, piece: Chunk) -> tuple[tuple[Ints, Ints], list[Floats]]:
    """The three answers side by side, sorted by container and window."""
    parts = ("peak", "sum", "count") if kind == MEMORY else ("last", "low", "count")
    flat = [_flat(history, history.answer(f"{kind}-{part}", piece), index) for part in parts]
    common = flat[0][0]
    for codes, _ in flat[1:]:
        if len(codes) != len(common) or (codes != common).any():
            common = np.intersect1d(common, codes, assume_unique=True)
    values = [value[np.searchsorted(codes, common)] for codes, value in flat]
    return (common // history.grid.count, common % history.grid.count), values


def _flat(history: History, answer: Answer, index: Index) -> tuple[Ints, Floats]:
    series = np.repeat(index.column(answer), np.diff(answer.offsets))
    window = (answer.at - history.grid.start) // history.grid.step - 1
    inside = (window >= 0) & (window < history.grid.count)
    codes = (series * history.grid.count + window)[inside]
    unique, first = np.unique(codes, return_index=True)
    return unique, answer.value[inside][first]


def _asked(history: History, kind: str, index: Index, piece: Chunk) -> Floats:
    """The request of each container in this piece, 0 where unknown."""
    found: dict[int, float] = {}
    if history.has("requests"):
        answer = history.answer("requests", piece)
        blank = [""] * len(answer)
        columns = (answer.labels.get(key, blank) for key in ("namespace", "pod", "container", "resource"))
        for at, (namespace, pod, container, resource) in enumerate(zip(*columns, strict=True)):
            number = index.numbers.get((namespace, pod, container))
            if resource == kind and number is not None:
                found[number] = max(found.get(number, 0.0), float(answer.value[answer.offsets[at]]))
    asked = np.zeros(len(index.names))
    asked[list(found)] = list(found.values())
    return asked


@dataclass(slots=True)
class _Growth:
    """Where each container's counter stood last, carried from piece to piece."""

    value: Floats = field(default_factory=lambda: np.zeros(0))
    window: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def rates(
        self, keys: tuple[Ints, Ints], last: Floats, low: Floats, count: Floats, gap: float
    ) -> tuple[Floats, Floats]:
        """Cores used in each window, and the seconds they were observed."""
        container, window = keys
        if not len(container):
            return np.zeros(0), np.zeros(0)
        self._grow(int(container.max()) + 1)
        before, chained = self._before(container, window, last)
        base = np.where(chained, before, low)
        grown = np.where(last < base, last, last - base)
        seconds = gap * np.where(chained, count, count - 1)
        final = np.append(np.diff(container) != 0, True)
        self.value[container[final]], self.window[container[final]] = last[final], window[final]
        return np.divide(grown, seconds, out=np.zeros(len(last)), where=seconds > 0), seconds

    def _before(self, container: Ints, window: Ints, last: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """The counter at the end of the window before, and whether there was one."""
        inner = np.append(False, (np.diff(container) == 0) & (np.diff(window) == 1))
        carried = np.append(True, np.diff(container) != 0) & (self.window[container] == window - 1)
        before = np.where(inner, np.append(0.0, last[:-1]), self.value[container])
        return before, inner | carried

    def _grow(self, size: int) -> None:
        more = size - len(self.value)
        if more > 0:
            self.value = np.append(self.value, np.zeros(more))
            self.window = np.append(self.window, np.full(more, -2))
