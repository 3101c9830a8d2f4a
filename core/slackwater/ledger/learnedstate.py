"""Between what a ledger has learned and the form in which it outlives the process (`learned`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.calibration import Kept
from slackwater.estimation.growth import Growth
from slackwater.estimation.peaks import Peaks
from slackwater.ledger.learnedcodec import Learned, LearnedRisk
from slackwater.ledger.riskreserve import RiskMargins
from slackwater.ledger.types import LedgerConfig

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def collect(
    terms: LedgerConfig, peaks: Peaks, growth: Growth, margins: RiskMargins | None, most: int | None = None
) -> Learned:
    """All that was learned, as it is now; of at most so many apps, where that is said."""
    risks = {}
    for at, each in (margins.kinds if margins is not None else {}).items():
        it = each.calibration
        if it.count:
            risks[terms.kinds[at]] = LearnedRisk(it.risk, terms.horizon, it.scores, it.kept, it.machines)
    return Learned(terms.kinds, peaks.lessons(most), growth.ratios.copy(), risks)


def restore(learned: Learned, terms: LedgerConfig, peaks: Peaks, growth: Growth, margins: RiskMargins | None) -> None:
    """Begin with what was learned before; what is known here already stays. Kinds that were not there are unknown."""
    places = [learned.kinds.index(kind) if kind in learned.kinds else None for kind in terms.kinds]
    peaks.restore({name: _chosen(lessons, places, 0.0) for name, lessons in learned.apps.items()})
    growth.restore(_chosen(learned.ratios.T, places, 1.0).T)
    for at, each in (margins.kinds if margins is not None else {}).items():
        risk = learned.risks.get(terms.kinds[at])
        if risk is not None and risk.horizon == terms.horizon:
            same = risk.risk == terms.risk  # what was exceeded of promises for another risk says nothing
            each.calibration.restore(risk.scores, *(risk.kept, risk.machines) if same else (Kept(), {}))


def _chosen(values: Floats, places: list[int | None], missing: float) -> Floats:
    """The last axis in the order of our kinds."""
    columns = [np.full(values.shape[:-1], missing) if at is None else values[..., at] for at in places]
    found: Floats = np.stack(columns, axis=-1)
    return found
