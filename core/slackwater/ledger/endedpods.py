"""What a pod that ends leaves in the measured use of its node until the next sample tells by itself."""

from __future__ import annotations

import numpy as np

from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.measures import Measure
from slackwater.estimation.podmatrix import NOWHERE
from slackwater.ledger.sampling import SampleIntake
from slackwater.ledger.types import PodClaim


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
