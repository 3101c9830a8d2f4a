"""What a pod that ends leaves in the measured use of its node until the next sample tells by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.podmatrix import NOWHERE
from slackwater.estimation.vectorized import Measure, NodeEstimates
from slackwater.ledger.types import PodClaim

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.ledger.sampling import SampleIntake

    Slots = NDArray[np.intp]
    Held = Slots | slice


def note_parts(
    estimates: NodeEstimates, pods: Held, at: Slots, read: Slots, drivers: NDArray[np.bool_], came: NDArray[np.bool_]
) -> None:
    """Keep what of U is the use of each of some pods, where U just `came` (row × kind; `at` is the row of each pod).

    That is its use if it was `read` in the same round and is no driver, and else 0: what was read before, or is read
    while its node is not, is no part of U.
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


def _sampled(pods: Held, at: Slots, rows: NDArray[np.bool_]) -> Held:
    """Those pods whose row is among these. Pods that are nowhere may be with them: `move` clears what they have."""
    if rows.all():
        return pods
    here = np.concatenate([[False], rows])[at + 1]
    return np.flatnonzero(here) if isinstance(pods, slice) else pods[here]


def forgo(estimates: NodeEstimates, intake: SampleIntake, slot: int, claim: PodClaim) -> None:
    """A pod ends: what the last sample saw of it is no longer there.

    A driver that ran then and was never read was only taken to use what it is charged. Others may have used that: it
    counts as theirs, in E and in what is promised.
    """
    row, use = estimates.pods.row_of(slot), estimates.uses[:, slot]
    if row == NOWHERE:
        return
    if not claim.driver:
        estimates.forgo(row, slot)
    elif use.any() or claim.started is None or claim.started > intake.freshness.stamps[row]:
        estimates.forgo_driver(row, use)
    else:
        here = np.array([row], np.intp)
        before = estimates.estimate(here)[0]
        taken = estimates.return_driver(row, estimates.pods.table[Measure.CHARGE, :, slot])
        if intake.margins is not None:
            intake.margins.expect(row, taken - (estimates.estimate(here)[0] - before))
