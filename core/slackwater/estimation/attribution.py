"""Which part of a node's measured use is whose: what a pod takes with it when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.measures import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]
    Held = Slots | slice


def attribute(
    estimates: NodeEstimates, pods: Held, at: Slots, read: Slots, drivers: NDArray[np.bool_], came: NDArray[np.bool_]
) -> Floats:
    """Keep what of U is the use of each of some pods, where U just `came` (row × kind; `at` is the row of each pod).

    That is its use if it was `read` in the same round and is no driver, and else 0: what was read before, or is read
    while its node is not, is no part of U. Returns what of it lies beyond the most that pods are charged, row × kind.
    """
    known, cells = np.zeros(len(drivers), np.bool_), estimates.pods.table
    known[read] = True
    known &= ~drivers
    for kind, rows in enumerate(came.T):
        slots = _sampled(pods, at, rows)
        part = cells[Measure.USE, kind, slots] * known[slots]
        cells[Measure.PART, kind, slots] = part
        part -= cells[Measure.TOP, kind, slots]
        cells[Measure.BEYOND, kind, slots] = np.maximum(part, 0.0, out=part)
    beyond = cells[Measure.BEYOND][:, pods]
    excess: Floats = np.array([np.bincount(at + 1, each, minlength=len(came) + 1)[1:] for each in beyond], np.float64)
    return excess.T


def _sampled(pods: Held, at: Slots, rows: NDArray[np.bool_]) -> Held:
    """Those pods whose row is among these. Pods that are nowhere may be with them: `move` clears what they have."""
    if rows.all():
        return pods
    here = np.concatenate([[False], rows])[at + 1]
    return np.flatnonzero(here) if isinstance(pods, slice) else pods[here]
