"""What one round of measurement does to the ledger, step by step.

1. Readings that are not newer than the last are passed over.
2. A driver is charged max(use, D) instead of its use: its use leaves U.
3. A node's first sample rebuilds its estimate from its pods' use and age.
4. Eqs 1 and 3 move the estimates.
5. Pods teach what their app comes to use; young pods are charged at least that, pods of a well-known app not much more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from slackwater.claims import Amounts, Reading, Terms
from slackwater.fleet import Fleet, Measure
from slackwater.freshness import Freshness
from slackwater.hosts import Hosts
from slackwater.peaks import Growth, Peaks
from slackwater.roster import Roster

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]


class Meter:
    """Applies samples to the fleet. Holds what is learned about apps; the rest belongs to the ledger."""

    def __init__(self, terms: Terms, hosts: Hosts, fleet: Fleet, roster: Roster) -> None:
        self._hosts, self._fleet, self._roster = hosts, fleet, roster
        self._measured = np.array([kind in terms.measured for kind in terms.kinds], np.bool_)
        self._growth = Growth(len(terms.kinds))
        self.peaks = Peaks(len(terms.kinds), margin=terms.margin if terms.alpha > 0 else None)
        self.freshness = Freshness(terms.heartbeat, terms.patience, learns=not terms.steady)

    def sample(
        self,
        now: float,
        nodes: Mapping[str, Reading],
        pods: Mapping[str, Amounts] | None,
        seen: Collection[str] | None,
    ) -> None:
        """One round; see the steps above."""
        index = self._hosts.index
        known = [(index[name], reading) for name, reading in nodes.items() if name in index]
        rows = np.array([row for row, _ in known], np.intp)
        stamps = np.array([reading.stamp for _, reading in known], np.float64)
        values = np.array([reading.used for _, reading in known], np.float64).reshape(len(known), len(self._measured))
        kinds = len(self._measured)
        given = pods or {}
        uses = np.fromiter(chain.from_iterable(given.values()), np.float64, len(given) * kinds).reshape(-1, kinds).T
        slots, uses = self._known_uses(self._roster.find(given), uses)
        used, dt = self._read(now, rows, stamps, values)
        watched = slots if seen is None else self._roster.find(seen)
        mask = None if seen is None and pods is None else self._mask(watched)
        self._take(rows, used, dt, slots, uses, mask)

    def sample_all(self, now: float, values: Floats, slots: Slots, uses: Floats) -> None:
        """The same for a shell that measures everything at one moment: node × kind and kind × pod."""
        rows = np.arange(len(self._hosts))
        slots, uses = self._known_uses(slots, uses)
        used, dt = self._read(now, rows, np.full(len(rows), now), values)
        self._take(rows, used, dt, slots, uses, self._mask(slots))

    def sample_some(
        self, now: float, nodes: Mapping[str, Reading], uids: Collection[str], uses: Floats, beside: Collection[str]
    ) -> None:
        """The same for some nodes with the use of their pods as kind × pod.

        A pod is seen if its use came, or if it is named in `beside`, and its container ran when its node was measured.
        """
        index = self._hosts.index
        known = [(index[name], reading) for name, reading in nodes.items() if name in index]
        rows = np.array([row for row, _ in known], np.intp)
        stamps = np.array([reading.stamp for _, reading in known], np.float64)
        values = np.array([reading.used for _, reading in known], np.float64).reshape(len(known), len(self._measured))
        slots, uses = self._known_uses(self._roster.find(uids), uses)
        used, dt = self._read(now, rows, stamps, values)
        mask = self._mask(np.concatenate([slots, self._roster.find(beside)]))
        # From here on all work follows the pods of these nodes, whatever the size of the cluster.
        place = np.full(len(self._hosts) + 1, -1, np.intp)
        place[rows + 1] = np.arange(len(rows))
        at = place[self._fleet.pods.homes]
        here, (slots, uses) = np.flatnonzero(at >= 0), _chosen(at[slots] >= 0, slots, uses)
        seen = mask[here] & (self._roster.started[here] <= self.freshness.stamps[rows][at[here]])
        self._charge_drivers(used, slots, uses)
        self._recall(slots, uses, used)
        self._fleet.sample_rows(rows, used[rows], dt[rows], here, at[here], seen)
        self._learn(slots, uses)
        self._guard_some(here)

    def _take(
        self,
        rows: Slots,
        used: Floats,
        dt: Floats,
        slots: Slots,
        uses: Floats,
        mask: NDArray[np.bool_] | None,
    ) -> None:
        """Steps 2 to 5."""
        self._charge_drivers(used, slots, uses)
        self._recall(slots, uses, used)
        seen = self._started() if mask is None else mask
        if len(rows) == 1:
            self._fleet.sample_node(int(rows[0]), used[rows[0]], float(dt[rows[0]]), seen)
        else:
            self._fleet.sample(used, dt, seen)
        self._learn(slots, uses)
        self._guard()

    def begin(self, slot: int) -> None:
        """A pod, or its container, starts from nothing."""
        self._growth.reset(slot)

    def teach(self, slots: Slots) -> None:
        """Let apps learn from these pods, from each once."""
        told, peaks, ramps = self._growth.lessons(slots)
        if told.size:
            self.peaks.learn(self._roster.apps[told], peaks, ramps)

    def teach_one(self, slot: int) -> None:
        """The same for one pod, most of which have told already."""
        if self._growth.eloquent(slot):
            self.teach(np.array([slot], np.intp))

    def _read(self, now: float, rows: Slots, stamps: Floats, values: Floats) -> tuple[Floats, Floats]:
        """U (NaN: none) and seconds since the last sample for all rows, from the readings of some."""
        used: Floats = np.full((len(self._hosts), len(self._measured)), np.nan)
        dt: Floats = np.full(len(self._hosts), np.nan)
        if rows.size:
            dt[rows] = self.freshness.record(rows, stamps, now)
            used[rows] = values
        if not self._measured.all():
            used[:, ~self._measured] = np.nan  # kinds that are never overcommitted count at what is declared
        missing = np.isnan(dt)
        if missing.any():
            used[missing] = np.nan
        return used, dt

    def _known_uses(self, slots: Slots, uses: Floats) -> tuple[Slots, Floats]:
        """Use of pods that are known, whole and sensible; a pod with a bad number is one whose use is not known."""
        if not self._measured.all():
            uses = np.where(self._measured[:, None], uses, 0.0)
        good = (slots >= 0) & ((uses >= 0) & (uses < np.inf)).all(axis=0)
        if not good.all():
            slots, uses = slots[good], uses[:, good]
        self._roster.uses[:, slots] = uses
        return slots, uses

    def _charge_drivers(self, used: Floats, slots: Slots, uses: Floats) -> None:
        """Charge max(use, D), and take the use out of U (in place). A driver without a reading is counted twice."""
        driving = self._roster.drivers[slots]
        if not driving.any():
            return
        at, use, pods = slots[driving], uses[:, driving], self._fleet.pods
        homes = pods.homes[at]
        for kind, measured in enumerate(use):
            used[:, kind] -= np.bincount(homes, weights=measured, minlength=pods.rows + 1)[1:]
        np.maximum(used, 0.0, out=used)  # NaN stays NaN
        charge = np.maximum(use, pods.cells[Measure.DECLARED][:, at])
        if (charge != pods.cells[Measure.CHARGE][:, at]).any():
            pods.cells[Measure.CHARGE][:, at] = charge
            pods.refresh(Measure.CHARGE, pods.held)

    def _recall(self, slots: Slots, uses: Floats, used: Floats) -> None:
        """Rebuild the estimates of nodes whose first sample this is, from pods whose use and start are known."""
        if (self._fleet.primed | np.isnan(used)).all():
            return
        told = ~self._roster.drivers[slots] & np.isfinite(self._roster.started[slots])
        self._fleet.recall(slots[told], uses[:, told], self._ages(slots[told]), used)

    def _ages(self, slots: Slots | slice = slice(None)) -> Floats:
        """Seconds from each pod's container start to its node's newest sample; 0 before the start."""
        stamps = np.concatenate([[-np.inf], self.freshness.stamps])[self._fleet.pods.homes[slots]]
        ages: Floats = np.fmax(stamps - self._roster.started[slots], 0.0)  # NaN (not started) becomes 0
        return ages

    def _started(self) -> NDArray[np.bool_]:
        """Which containers had started when their node's newest sample was taken."""
        stamps = np.concatenate([[-np.inf], self.freshness.stamps])[self._fleet.pods.homes]
        return self._roster.started <= stamps

    def _mask(self, slots: Slots) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._roster.apps), np.bool_)
        mask[slots[slots >= 0]] = True
        return mask

    def _learn(self, slots: Slots, uses: Floats) -> None:
        running = np.isfinite(self._roster.started[slots])
        if running.any():
            slots, uses = slots[running], uses[:, running]
            self.teach(self._growth.watch(slots, uses, self._ages(slots)))
            self.peaks.correct(self._roster.apps[slots], uses)

    def _guard(self) -> None:
        """Young pods are charged at least their app's learned peak, known ones at most that and a margin.

        Drivers are charged in full anyway.
        """
        self.peaks.news.clear()
        if self.peaks:
            held = self._fleet.pods.held
            apps, uses = self._roster.apps[held], self._roster.uses[:, held]
            floors = np.where(self._roster.drivers[held], 0.0, self.peaks.floors(apps, self._ages(held)))
            self._fleet.guard(floors, uses, self.peaks.caps(apps, uses), held)

    def _guard_some(self, here: Slots) -> None:
        """The same for some pods, and for all pods of apps that have learned since."""
        if not self.peaks:
            return
        if self.peaks.news:
            news = np.concatenate(self.peaks.news)
            fresh = np.zeros(1 + max(news.max(initial=0), self._roster.apps.max(initial=0)), np.bool_)
            fresh[news] = True
            here = np.union1d(here, np.flatnonzero(fresh[self._roster.apps]))
            self.peaks.news.clear()
        apps, uses = self._roster.apps[here], self._roster.uses[:, here]
        floors = np.where(self._roster.drivers[here], 0.0, self.peaks.floors(apps, self._ages(here)))
        self._fleet.guard_some(here, floors, uses, self.peaks.caps(apps, uses))


def _chosen(which: NDArray[np.bool_], slots: Slots, uses: Floats) -> tuple[Slots, Floats]:
    return (slots, uses) if which.all() else (slots[which], uses[:, which])
