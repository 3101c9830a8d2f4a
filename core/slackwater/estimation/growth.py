"""How far each pod has come, when it has settled, and how much more pods that settled come to use.

A pod that has not grown for as long as it grew has settled, and tells what it uses. For most pods that is the end of
it; some come to a second plateau, or to a spike at their end. So when a pod ends, the most it used is compared with
what it told, and what others tell before their end counts

    g times        g = the ratio that one in twenty of the last pods exceeded, at least 1; of CPU always 1

A workload that is steady after its start has g = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.podmatrix import grown, put

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

REACHED = 0.9  # share of the peak that counts as having got there
OLD = 60.0  # seconds; a pod first sampled later than this had grown before we looked
SOONEST = 5.0  # seconds; nobody has settled before: one sample shows no growth
ENDED = 64  # pods that have ended lately, by which the others are judged
SHARE = 0.95  # of them that g is enough for


class Growth:
    """Kind × slot arrays of peak, of the use at which it was marked, the age then, and the peak that was told."""

    def __init__(self, strict: Sequence[bool] | NDArray[np.bool_]) -> None:
        self._strict = np.array(strict, np.bool_)  # by kind: whether a lack of it kills
        kinds = len(self._strict)
        self._table: Floats = np.zeros((4, kinds, 64))
        self._taught: NDArray[np.bool_] = np.zeros(64, np.bool_)
        self.ratios: Floats = np.ones((kinds, ENDED))  # of pods that have ended lately: used at most ÷ told
        self._ended = 0
        self._factors: Floats | None = np.ones((kinds, 1))  # g, until a pod ends

    @property
    def factors(self) -> Floats:
        """The factor g of each kind, kind × 1."""
        if self._factors is None:
            self._factors = np.maximum(1.0, np.quantile(self.ratios, SHARE, axis=1, method="lower"))[:, None]
        return self._factors

    def restore(self, ratios: Floats) -> None:
        """Begin with the ratios of pods that ended earlier, unless some have ended here already."""
        if not self._ended:
            self.ratios, self._factors = np.where(self._strict[:, None], ratios, 1.0), None

    def reset(self, slot: int) -> None:
        """Begin anew for a slot (a new pod, or a new container of the same pod)."""
        if slot >= len(self._taught):
            self._table, self._taught = grown(self._table, 2, slot + 1), grown(self._taught, 0, slot + 1)
        self._table[:, :, slot] = 0.0
        self._taught[slot] = False

    def learning(self, slots: NDArray[np.intp]) -> NDArray[np.intp]:
        """Which of these pods have not told yet."""
        return np.flatnonzero(~self._taught[slots])

    def unsettled(self, slots: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these pods may still be growing, as far as they were watched."""
        return ~self._taught[slots]

    def watch(self, slots: NDArray[np.intp], uses: Floats, ages: Floats) -> NDArray[np.intp]:
        """Note the use of pods at their ages; return those that have settled: not grown for as long as they grew."""
        # A pod first met when it was old (we have just started) says what it uses, but not how it came there.
        first = self._table[0].take(slots, axis=1) == 0
        peak, reach = self._grow(slots, uses, np.where(first & (ages > OLD), 0.0, ages))
        told: NDArray[np.intp] = slots[(ages >= np.maximum(2.0 * reach, SOONEST)).all(axis=0) & (peak > 0).any(axis=0)]
        return told

    def _grow(self, slots: NDArray[np.intp], uses: Floats, ages: Floats) -> tuple[Floats, Floats]:
        """The peaks of pods and the ages at which they were reached, with these uses."""
        table = self._table[:3].take(slots, axis=2)
        peak, mark, reach = table
        np.maximum(peak, uses, out=peak)
        grew = mark < REACHED * peak
        np.copyto(mark, uses, where=grew)
        np.copyto(reach, ages, where=grew)
        for kept, found in zip(self._table[:3], table, strict=True):
            put(kept, slots, found)
        return peak, reach

    def reaches(self, slots: NDArray[np.intp]) -> Floats:
        """Kind × pod: the age at which each pod came near its peak."""
        reaches: Floats = self._table[2].take(slots, axis=1)
        return reaches

    def settled_peaks(self, slots: NDArray[np.intp], uses: Floats) -> Floats:
        """Kind × pod: the most a pod will have used, once it has settled; infinite while it may still grow."""
        peak, told = self._table[0].take(slots, axis=1), self._table[3].take(slots, axis=1)
        own = np.maximum(np.maximum(peak, told * self.factors), uses)
        peaks: Floats = np.where(self._taught[slots], own, np.inf)
        return peaks

    def has_peak(self, slot: int) -> bool:
        """Whether a pod has something to tell that it has not told yet."""
        return not self._taught[slot] and any(self._table[0, :, slot].tolist())

    def growing_beyond(self, slot: int, amounts: Floats) -> bool:
        """Whether a pod has used more than these amounts of a strict kind and has not settled."""
        return not self._taught[slot] and bool((self._strict & (self._table[0, :, slot] > amounts)).any())

    def take_peaks(
        self, slots: NDArray[np.intp], declared: Floats, *, ended: bool = False
    ) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Slots, peaks and ramps, a row per pod, of those that have used anything and have not told yet.

        What is only expected (g) goes up to what a pod declares (kind × slot); more counts once it was used.
        """
        ready = ~self._taught[slots] & self._table[0].take(slots, axis=1).any(axis=0)
        told: NDArray[np.intp] = slots[ready]
        self._taught[told] = True
        peaks, _, ramps = self._table[:3].take(told, axis=2)
        self._table[3][:, told] = peaks
        # Of what a pod used none it was watched for as long as it took to come to use the rest.
        ramps = np.where(peaks > 0, ramps, ramps.max(axis=0))
        if not ended:
            peaks = np.minimum(peaks * self.factors, np.maximum(peaks, declared.take(told, axis=1)))
        return told, peaks.T, ramps.T

    def grown_since(self, slots: NDArray[np.intp], uses: Floats) -> NDArray[np.intp]:
        """Which of some pods (kind × pod) have told, and use more than they ever did."""
        more = (uses > self._table[0].take(slots, axis=1)).any(axis=0)
        return np.flatnonzero(more & self._taught[slots])

    def note(self, slots: NDArray[np.intp], uses: Floats, ages: Floats) -> None:
        """Pods that have told have grown once more."""
        self._grow(slots, uses, ages)

    def end(self, slot: int) -> None:
        """A pod has ended: compare what it told with the most it used. Where that was more, it tells again."""
        if not self._taught[slot]:
            return
        peaks, _, _, told = self._table[:, :, slot].tolist()  # plain numbers: every task of a long log comes here
        ratios = [
            peak / said if strict and said > 0 else 1.0
            for peak, said, strict in zip(peaks, told, self._strict.tolist(), strict=True)
        ]
        place = self.ratios[:, self._ended % ENDED]
        if place.tolist() != ratios:
            place[:] = ratios
            self._factors = None
        self._ended += 1
        self._taught[slot] = max(ratios) <= 1.0
