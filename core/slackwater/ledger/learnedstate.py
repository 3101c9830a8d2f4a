"""What a ledger has learned, as values that whoever keeps them may write down, and back.

Three things take longer to learn than anything else a restart rebuilds: what the pods of an app came to use (`peaks`),
how much more settled pods came to use (`growth`), and how far nodes went beyond what was expected (`calibration`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.calibration import Kept
from slackwater.estimation.growth import Growth
from slackwater.estimation.peaks import Peaks
from slackwater.ledger.riskreserve import RiskMargins
from slackwater.ledger.types import LedgerConfig
from slackwater.resources import Kinds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LearnedRisk:
    """Of one kind: how far nodes went beyond what was expected of them."""

    risk: float
    horizon: float  # seconds; scores of another horizon say nothing
    scores: Floats
    kept: Kept = field(default_factory=Kept)
    machines: Mapping[str, Kept] = field(default_factory=dict)  # by type


@dataclass(frozen=True, slots=True)
class Learned:
    """All of it: lessons of pods by app, as pod × (peak, ramp) × kind; ratios as kind × pod."""

    kinds: Kinds
    apps: Mapping[str, Floats]  # asked for last first
    ratios: Floats
    risks: Mapping[str, LearnedRisk] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.apps or self.risks or (self.ratios != 1.0).any())


def collect(
    terms: LedgerConfig, peaks: Peaks, growth: Growth, margins: RiskMargins | None, most: int | None = None
) -> Learned:
    """All that was learned, as it is now; of at most so many apps, where that is said.

    Scores do not say of how many promises they are: those of too few are not handed on, and come anew after a restart.
    """
    risks = {}
    for at, each in (margins.kinds if margins is not None else {}).items():
        it = each.calibration
        if it.count and not it.one_story:
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
