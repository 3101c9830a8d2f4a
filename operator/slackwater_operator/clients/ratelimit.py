"""How often something may be written: a bucket of tokens that fills with time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class TokenBucket:
    """At most `burst` at once and `rate` per second in the long run."""

    rate: float
    burst: float
    clock: Callable[[], float]
    _tokens: float = -1.0
    _at: float = 0.0

    def half(self) -> TokenBucket:
        """A bucket for one of two that share this one, and may not use it up alone."""
        return TokenBucket(self.rate / 2, max(1.0, self.burst / 2), self.clock)

    def take(self) -> bool:
        """Whether one more may go now."""
        now = self.clock()
        if self._tokens < 0:
            self._tokens = self.burst
        else:
            self._tokens = min(self.burst, self._tokens + self.rate * max(0.0, now - self._at))
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True
