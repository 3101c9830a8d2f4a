"""How much of what was reserved was used: equation 7 of paper 000, for a container, a job and a user.

    E = Σ u_i / Σ r_i

A job sums numerators and denominators over its containers, a user over its jobs; it is not a mean of ratios, so a long
container weighs more than a short one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums of use and of reservation over samples. Usages add, which is all that jobs and users need."""

    used: float = 0.0
    reserved: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(self.used + other.used, self.reserved + other.reserved)

    @property
    def efficiency(self) -> float | None:
        """Σ u / Σ r; None where nothing was reserved, because 0/0 is neither waste nor thrift."""
        return self.used / self.reserved if self.reserved > 0 else None


def together(parts: Iterable[Usage]) -> Usage:
    """The usage of a job from its containers, or of a user from its jobs."""
    whole = Usage()
    for part in parts:
        whole += part
    return whole
