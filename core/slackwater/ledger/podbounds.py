"""Floors and caps of pods: what each is charged at least, and at most, by what is known of its app and of itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.growth import Growth
from slackwater.estimation.measures import Measure
from slackwater.estimation.peaks import Peaks, scaled
from slackwater.estimation.podmatrix import blocks
from slackwater.ledger.podindex import PodIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]
    Held = Slots | slice


class PodBounds:
    """Sets floors and caps in the estimates. `ages` gives the seconds that pods have run, by slot."""

    def __init__(
        self,
        strict: NDArray[np.bool_],
        estimates: NodeEstimates,
        pods: PodIndex,
        peaks: Peaks,
        growth: Growth,
        ages: Callable[[Slots], Floats],
    ) -> None:
        self._estimates, self._pods, self._peaks, self._growth, self._ages = estimates, pods, peaks, growth, ages
        # Strict kinds of which less than a request is ever believed: only there does knowing nothing matter.
        self._trusting = strict & np.isfinite(peaks.beyond[:, 0])

    def guard(self, held: Held, *, anew: bool = True) -> None:
        """Young pods are charged at least their app's learned peak, known ones at most that and a margin.

        While nothing is known of an app, its pods are charged what they ask for of kinds of which a lack kills.
        That depends on a pod's app, age and use, so only those are looked at of which any has changed: pods that are
        new, young or use more or less than before, and all pods of apps that have learned. Drivers are charged in full
        anyway.
        """
        slots = self._concerned(held)
        if slots.size:
            floors, caps = np.empty((2, len(self._trusting), len(slots)))
            for part in blocks(len(slots)):
                floors[:, part], caps[:, part] = self._bounds(slots[part])
            self._estimates.guard(slots, floors, caps, held if anew else None)
            self._pods.changed[slots] = floors.any(axis=0)

    def refresh(self) -> None:
        """The same between samples, for all pods of apps that have learned."""
        self.guard(np.zeros(0, np.intp), anew=False)

    def _bounds(self, slots: Slots) -> tuple[Floats, Floats]:
        """Floors and caps of some pods, kind × pod."""
        apps = self._pods.apps[slots]
        floors = np.where(self._pods.drivers[slots], 0.0, self._peaks.floors(apps, self._ages(slots)))
        floors = np.maximum(
            floors, self._believed(apps, self._estimates.pods.table[Measure.REQUEST].take(slots, axis=1))
        )
        uses = self._estimates.uses.take(slots, axis=1)
        caps = self._peaks.caps(apps, uses)
        # Older than its app's ramp and no longer growing: its own peak says more than those of its brothers.
        own = scaled(self._growth.settled_peaks(slots, uses), self._peaks.beyond)
        return floors, np.where(floors > 0, caps, np.minimum(caps, own))

    def _believed(self, apps: Slots, asked: Floats) -> Floats:
        """Kind × pod: what pods ask for, of strict kinds and while nothing is known of their app; else 0."""
        return np.where(self._trusting[:, None] & self._peaks.unknown(apps), asked, 0.0)

    def of_new_pod(self, app: int, asked: Floats) -> tuple[Floats, Floats]:
        """Floor and cap of a pod that has not begun, and is as young as can be."""
        floor, cap = self._peaks.of_new_pod(app)
        return np.maximum(floor, self._believed(np.array([app], np.intp), asked[:, None])[:, 0]), cap

    def _concerned(self, held: Held) -> Slots:
        """Those of the pods held of which something has changed, and all pods of apps that have learned."""
        changed = self._pods.changed
        if self._peaks.news:
            looked = self._peaks.newly(self._pods.apps)
            looked[held] |= changed[held]
            return np.flatnonzero(looked)
        at = np.flatnonzero(changed[held])
        return at if isinstance(held, slice) else held[at]
