"""What the estimator keeps of a pod, by kind, and what of it follows from the rest."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Measure(IntEnum):
    """What is kept of a pod, by kind. All before FLOOR is summed per node."""

    RESIDUAL = 0  # ρ
    REQUEST = 1  # RR
    TOP = 2  # max(min(RR, cap), floor): the most capped mode charges for a pod
    EXTRA = 3  # what a young pod's part of E lacks to its floor
    CHARGE = 4  # drivers: max(use, D), outside the estimate
    NATIVE = 5  # what kube-scheduler counts
    DECLARED = 6  # D of managed pods, drivers included
    ALL_DECLARED = 7  # D of every pod, those of others included: what the stock scheduler would count
    FLOOR = 8  # learned peak of its app while it is young, else 0
    CAP = 9  # what its app's pods are known to come to use; infinite while that is not known
    USE = 10  # its own measured use, 0 while unknown
    PART = 11  # what of the U now held is its use; 0 of drivers
    BEYOND = 12  # what of that no request covered


SUMMED = Measure.FLOOR  # so many of them
BOUNDED = slice(Measure.TOP, Measure.CHARGE)  # what floor and cap decide …
BELIEF, LIMITS = slice(Measure.RESIDUAL, Measure.TOP), slice(Measure.FLOOR, Measure.PART)  # … and from what


def bounded(residual: Floats, request: Floats, floor: Floats, cap: Floats, use: Floats) -> Floats:
    """TOP = max(min(RR, cap), floor) and EXTRA of one pod or many."""
    return np.array([np.maximum(np.minimum(request, cap), floor), shortfalls(floor, request, residual, use)])


def shortfalls(floor: Floats, request: Floats, residual: Floats, use: Floats) -> Floats:
    """What a young pod's part of E lacks to its floor: max(0, max(u, floor) − u − (ρ/RR)·max(0, RR − u))."""
    if not (floor > 0).any():
        return np.zeros_like(floor)
    believed = np.divide(residual, request, out=np.zeros_like(residual), where=request > 0)
    lacking = np.maximum(use, floor) - use - believed * np.maximum(0.0, request - use)
    return np.where(floor > 0, np.maximum(0.0, lacking), 0.0)
