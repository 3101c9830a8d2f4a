"""Independent runs over processes, in order, with progress. A run is a module-level function and plain arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from slackwater.validation import processes as some

Result = TypeVar("Result")
Tick = Callable[[float], None]


class SeedSpread:
    """`processes` 1 runs here; −1 uses all cores. `tick` hears the share of expected runs that are over."""

    def __init__(self, processes: int = 1, tick: Tick | None = None, expected: int = 0) -> None:
        self.processes, self.tick, self.expected = some("jobs", processes), tick, expected
        self.over = 0

    def __call__(self, function: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> list[Result]:
        """The result of each call."""
        found = []
        for result in self._results(function, calls):
            found.append(result)
            self.over += 1
            if self.tick is not None and self.expected:
                self.tick(min(1.0, self.over / self.expected))
        return found

    def _results(self, function: Callable[..., Result], calls: Sequence[tuple[Any, ...]]) -> Iterator[Result]:
        if self.processes == 1:
            for call in calls:
                yield function(*call)
            return
        from joblib import Parallel, delayed  # type: ignore[import-untyped]  # noqa: PLC0415 - no types; slow to import

        parallel: Any = Parallel(n_jobs=self.processes, return_as="generator")
        yield from parallel(delayed(function)(*call) for call in calls)
