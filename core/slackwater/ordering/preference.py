"""Which request goes next: fitness and urgency on one scale (paper 001, HaSTE and HaSTE-A)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.validation import TOLERANCE, amount, finite_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FEW = 16  # candidates up to which plain numbers are faster than arrays


def nm(values: NDArray[np.float64], *, equal: float = 0.0) -> NDArray[np.float64]:
    """Min-max: (x − min)/(max − min) over the candidates, and `equal` for all of them when they do not differ.

    A spread within rounding (1e-9 of the largest) counts as none: otherwise the last bit of a float would decide
    like a real difference.
    """
    if values.size == 0:
        return values
    low, high = float(np.minimum.reduce(values)), float(np.maximum.reduce(values))  # as min() and max(), but quicker
    spread = high - low
    if spread <= TOLERANCE * max(abs(low), abs(high)):
        return np.full_like(values, equal)
    scaled: NDArray[np.float64] = (values - low) / spread
    return scaled


def preference(
    fitness: ArrayLike, urgency: ArrayLike, alignment: ArrayLike | None = None, *, alpha: float = 0.0
) -> NDArray[np.float64]:
    """P = nm(F) + nm(U) (HaSTE), + alpha_A·nm(A) (HaSTE-A), over the current candidates."""
    fit, hurry = _column("fitness", fitness), _column("urgency", urgency)
    near = None if alignment is None else _column("alignment", alignment)
    return combined(fit, hurry, near, amount("alpha", alpha))


def combined(
    fitness: NDArray[np.float64], urgency: NDArray[np.float64], alignment: NDArray[np.float64] | None, alpha: float
) -> NDArray[np.float64]:
    """P of numbers that were checked before: a line of thousands is asked again for every pod."""
    points = nm(fitness) + nm(urgency)
    return points if alignment is None or alpha <= 0 else points + alpha * nm(alignment)


def winner(points: Sequence[float], submitted: Sequence[float], masters: Sequence[bool] = ()) -> int | None:
    """The request to serve: application masters outrank all, then the greatest P, then the earlier submission.

    Equal in all of that, the one listed first; None without candidates. Points within rounding count as equal.
    """
    if not points:
        return None
    eligible = [i for i, master in enumerate(masters) if master] or range(len(points))
    best = max([points[i] for i in eligible]) - TOLERANCE
    return min([(submitted[i], i) for i in eligible if points[i] >= best])[1]


def points_of_few(
    fitness: Sequence[float], urgency: Sequence[float], alignment: Sequence[float], alpha: float
) -> list[float]:
    """`combined` as plain numbers: arrays of a handful of candidates cost more than what is computed with them.

    No fitness at all: it is the same for everybody.
    """
    points = _nm_of_few(urgency)
    if fitness:
        points = [fit + hurry for fit, hurry in zip(_nm_of_few(fitness), points, strict=True)]
    if alpha <= 0:
        return points
    return [point + alpha * near for point, near in zip(points, _nm_of_few(alignment), strict=True)]


def _nm_of_few(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    spread = high - low
    if spread <= TOLERANCE * max(abs(low), abs(high)):
        return [0.0] * len(values)
    return [(value - low) / spread for value in values]


def _column(field: str, values: ArrayLike) -> NDArray[np.float64]:
    return finite_array(field, np.asarray(values, dtype=np.float64))
