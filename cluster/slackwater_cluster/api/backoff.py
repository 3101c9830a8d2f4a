"""How long to wait before trying again: doubling, with full jitter so that many clients do not return at once."""

from __future__ import annotations

from random import Random

# Measured on a restarted API server: it answers 429 for a few seconds while its caches fill.
FIRST = 0.1
LONGEST = 5.0


class Backoff:
    """A growing random pause, reset by success."""

    def __init__(self, rng: Random, first: float = FIRST, longest: float = LONGEST) -> None:
        self._rng, self._first, self._longest = rng, first, longest
        self._failures = 0

    def success(self) -> None:
        """Start again from the shortest pause."""
        self._failures = 0

    def pause(self, asked: float | None = None) -> float:
        """Seconds to wait after one more failure; a server's own Retry-After is honoured up to the longest pause."""
        top = min(self._longest, self._first * 2**self._failures)
        self._failures = min(self._failures + 1, 32)
        chosen = self._rng.uniform(self._first, max(top, self._first))
        return chosen if asked is None else max(chosen, min(asked, self._longest))
