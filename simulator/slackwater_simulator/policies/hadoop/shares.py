"""Fair shares: everybody gets weight × r, never less than its minimum nor more than its maximum, Σ = what there is.

Hadoop finds r by bisection; so do we, to the same precision.
"""

from __future__ import annotations

from collections.abc import Sequence

STEPS = 25


def fair_shares(weights: Sequence[float], least: Sequence[float], most: Sequence[float], total: float) -> list[float]:
    """The share of each, by weight, within [least, most]."""
    total = min(total, sum(most))

    def at(ratio: float) -> list[float]:
        return [min(max(w * ratio, low), high) for w, low, high in zip(weights, least, most, strict=True)]

    if not weights:
        return []
    high = 1.0
    while sum(at(high)) < total and high < 1e300:
        high *= 2.0
    low = 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        if sum(at(middle)) < total:
            low = middle
        else:
            high = middle
    return at(high)
