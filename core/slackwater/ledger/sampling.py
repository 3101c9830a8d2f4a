"""What one round of measurement does to the ledger, step by step.

1. Readings that are not newer than the last, or older than their node, are passed over, as are those of pods whose
   container did not run yet.
2. A driver is charged by itself (max(use, D); CPU by use) instead of its use: its use leaves U, also without a reading.
3. A node's first sample rebuilds its estimate from its pods' use and age.
4. Eqs 1 and 3 move the estimates.
5. Pods teach what their app comes to use; young pods are charged at least that, pods of a well-known app not much more.
6. What U holds beyond the use of pods is covered by no request (the system's): pods to come are charged on top of it.
7. With a stated risk, earlier promises are judged and new ones made (`riskreserve`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.estimation.attribution import attribute
from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.growth import Growth
from slackwater.estimation.margins import COMPRESSIBLE
from slackwater.estimation.measures import Measure
from slackwater.estimation.peaks import Peaks
from slackwater.estimation.podmatrix import NOWHERE, put
from slackwater.estimation.risk import summed, unread_use
from slackwater.estimation.staleness import Staleness
from slackwater.ledger.learnedstate import Learned, LearnedRisk, collect, restore
from slackwater.ledger.nodeindex import NodeIndex
from slackwater.ledger.podbounds import PodBounds
from slackwater.ledger.podindex import PodIndex
from slackwater.ledger.riskreserve import RiskMargins
from slackwater.ledger.types import LedgerConfig, Sample

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]
    Held = Slots | slice

OUTGROWN = 2.0  # what a pod is believed to have used that was killed for its memory, as a multiple of what it declared


class _SomeNodes(NamedTuple):
    """The nodes that a round of measurement is about, and the pods on them."""

    rows: Slots
    places: Slots  # of every slot: the place of its node in `rows`, −1 where it is not among them
    pods: Slots  # the slots of their pods
    at: Slots  # … and the place of each
    seen: NDArray[np.bool_]  # … and whether the round has seen it


class SampleIntake:
    """Applies samples to the estimates. Holds what is learned about apps; the rest belongs to the ledger."""

    def __init__(self, terms: LedgerConfig, nodes: NodeIndex, estimates: NodeEstimates, pods: PodIndex) -> None:
        self._terms, self._nodes, self._estimates, self._pods = terms, nodes, estimates, pods
        self._measured = np.array([kind in terms.measured for kind in terms.kinds], np.bool_)
        self._strict = np.array([kind not in COMPRESSIBLE for kind in terms.kinds], np.bool_) & self._measured
        self._declared = not self._measured.all()  # kinds that are never overcommitted count at what is declared
        margins = terms.kept()
        # Of kinds that are not measured nobody is known to use less than it asks for.
        peaks = [
            margin.peak if kind in terms.measured else None for kind, margin in zip(terms.kinds, margins, strict=True)
        ]
        self.peaks = Peaks(len(terms.kinds), margin=peaks, in_use=lambda: pods.apps)
        self._growth = Growth(self._strict)
        self.bounds = PodBounds(self._strict, estimates, pods, self.peaks, self._growth, self._ages)
        # Kinds of which drivers are charged what they use and this much of it; 0: at least what they declared.
        self._by_use = np.array([1.0 + (margin.peak or 0.0) if margin.by_use else 0.0 for margin in margins])
        self.freshness = Staleness(
            terms.heartbeat, terms.patience, learns=not terms.steady, measured=self._measured.tolist()
        )
        self._risks: dict[str, LearnedRisk] = {}  # as others knew them, by kind; there may be no use for them here
        self.margins: RiskMargins | None = None
        if terms.risk is not None and terms.alpha > 0:
            self.margins = RiskMargins(nodes, estimates, pods, terms, terms.risk)

    def sample_all(self, now: float, values: Floats, slots: Slots, uses: Floats) -> None:
        """One round (the steps above) of a shell that measures everything at one moment: node × kind and kind × pod."""
        self._lose(now)
        slots, uses = self._known_uses(slots, uses)
        used, dt = values.copy(), self.freshness.record_all(now)
        if self._declared:
            used[:, ~self._measured] = np.nan
        self._take(used, dt, slots, uses)
        self._promise(now, slots, uses)

    def sample_some(
        self, now: float, nodes: Mapping[str, Sample], uids: Collection[str], uses: Floats, beside: Collection[str]
    ) -> None:
        """One round (the steps above) for some nodes, with the use of their pods as kind × pod.

        A pod is seen if its use came, or if it is named in `beside`, and its container ran when its node was measured.
        """
        self._lose(now)
        known = self._nodes.own_readings(nodes)
        rows = np.array([row for row, _ in known], np.intp)
        stamps = np.array([reading.stamp for _, reading in known], np.float64)
        values = np.array([reading.used for _, reading in known], np.float64).reshape(len(known), len(self._measured))
        used, dt = self._read(now, rows, stamps, values)
        slots = self._pods.find(uids)
        slots, uses = _chosen(slots >= 0, slots, uses)
        # A container that did not run yet has used nothing: the series is of an earlier pod of the same name.
        slots, uses = self._known_uses(*_chosen(self._started(slots), slots, uses))
        some = self._some_nodes(rows, np.concatenate([slots, self._pods.find(beside)]))
        slots, uses = _chosen(some.places[slots] >= 0, slots, uses)
        self._take(used, dt, slots, uses, some)
        self._promise(now, slots, uses)

    def _some_nodes(self, rows: Slots, measured: Slots) -> _SomeNodes:
        """These rows and the pods on them: from here on all work follows those, whatever the size of the cluster."""
        place = np.full(len(self._nodes) + 1, -1, np.intp)
        place[rows + 1] = np.arange(len(rows))
        places = place[self._estimates.pods.homes]
        here = np.flatnonzero(places >= 0)
        at = places[here]
        seen = self._mask(measured)[here] & (self._pods.started[here] <= self.freshness.stamps[rows][at])
        return _SomeNodes(rows, places, here, at, seen)

    def _take(self, used: Floats, dt: Floats, slots: Slots, uses: Floats, some: _SomeNodes | None = None) -> None:
        """Steps 2 to 6, for all nodes or for some; `used` and `dt` are of all, NaN where no sample came."""
        driven = self._without_drivers(used, slots, uses)
        self._recall(slots, uses, used)
        rows: Held = slice(None)
        if some is None:
            came = self._estimates.sample(used, dt, slots)
            pods, at = self._everybody()
        else:
            rows, pods, at = some.rows, some.pods, some.at
            came = self._estimates.sample_rows(some.rows, used[rows], dt[rows], some.pods, at, some.seen)
        self._learn(slots, uses)
        self.bounds.guard(pods, anew=some is None)
        covered = self._covered(pods, at, len(used[rows]), slots)
        self._estimates.cover(rows, covered, driven[rows], np.isfinite(used[rows]))
        excess = attribute(self._estimates, pods, at, slots, self._pods.drivers, came)
        self._estimates.exceed(rows, excess, came)

    def _everybody(self) -> tuple[Held, Slots]:
        """All slots to work on, and the row of each."""
        held = self._estimates.pods.held
        pods = slice(len(self._pods.apps)) if isinstance(held, slice) else held
        return pods, self._estimates.pods.homes[pods] - 1

    def learned(self, most: int | None = None) -> Learned:
        """What was learned about apps, at most so many of them, growth and risk, here or else before."""
        found = collect(self._terms, self.peaks, self._growth, self.margins, most)
        return replace(found, risks={**self._risks, **found.risks})

    def remember(self, learned: Learned) -> None:
        """Begin with what was learned before; what is known here already stays."""
        restore(learned, self._terms, self.peaks, self._growth, self.margins)
        self._risks |= learned.risks

    def begin(self, slot: int) -> None:
        """A pod, or its container, starts from nothing."""
        self._growth.reset(slot)
        if self.margins is not None:
            self.margins.begin(slot)

    def add_row(self) -> None:
        """A node came."""
        self.freshness.add_row()
        if self.margins is not None:
            self.margins.add_row()

    def drop_row(self, row: int) -> None:
        """A node is gone; later rows move up by one."""
        self.freshness.drop_row(row)
        if self.margins is not None:
            self.margins.drop_row(row)

    def unsampled(self) -> Slots:
        """The rows of which some kind that is measured never was."""
        return np.flatnonzero(~self._estimates.primed[:, self._measured].all(axis=1))

    def _lose(self, now: float) -> None:
        """Before samples are taken in: where none came for too long, nobody saw whether promises were kept."""
        if self.margins is not None:
            self.margins.lose(now, self.freshness.stale(now), self.freshness.arrivals)

    def _promise(self, now: float, slots: Slots, uses: Floats) -> None:
        """What is kept back for the stated risk, where one is stated."""
        if self.margins is not None:
            self.margins.sample(now, self.freshness.heartbeat, slots, uses, self.peaks)

    def learn_peaks(self, slots: Slots, *, ended: bool = False) -> None:
        """Let apps learn from these pods, from each once; from one that outgrew what it told again when it `ended`."""
        declared = self._estimates.pods.table[Measure.DECLARED]
        told, peaks, ramps = self._growth.take_peaks(slots, declared, ended=ended)
        if told.size:
            self._pods.changed[told] = True  # from now on its own peak is known
            self._charge_drivers(told[self._pods.drivers[told]])
            self.peaks.learn(self._pods.apps[told], peaks, ramps)

    def outgrown(self, app: int, declared: Floats) -> None:
        """A pod of the app was killed for its memory: from now on its pods count as much more for all their lives."""
        peaks, _ = self.peaks.expected(app)
        peak = np.where(self._strict, np.maximum(peaks, OUTGROWN * declared), peaks)
        self.peaks.learn_for_life(app, peak, self._strict)

    def exhausted(self, row: int) -> None:
        """The memory of a node ran out, which counts until the next sample of it, if it is measured."""
        self.bounds.refresh()
        if row != NOWHERE:
            self._estimates.exhausted[row] |= self._strict

    def outgrows(self, slot: int, declared: Floats) -> bool:
        """Whether a pod was last seen to use more of a strict kind than it declares, and to grow."""
        return self._growth.growing_beyond(slot, declared)

    def was_outgrown(self, app: int) -> bool:
        """Whether a pod of the app was killed for its memory."""
        return self.peaks.young_for_life(app)

    def learn_peak_of(self, slot: int) -> None:
        """The same for one pod that ends. Most have told already; what they told may have been too little."""
        self._growth.end(slot)
        if self._growth.has_peak(slot):
            self.learn_peaks(np.array([slot], np.intp), ended=True)

    def _read(self, now: float, rows: Slots, stamps: Floats, values: Floats) -> tuple[Floats, Floats]:
        """U (NaN: none) and seconds since the last sample for all rows, from the readings of some."""
        used: Floats = np.full((len(self._nodes), len(self._measured)), np.nan)
        dt: Floats = np.full(len(self._nodes), np.nan)
        if rows.size:
            dt[rows] = self.freshness.record(rows, stamps, now, (values >= 0) & (values < np.inf))
            used[rows] = values
        if self._declared:
            used[:, ~self._measured] = np.nan
        used[np.isnan(dt)] = np.nan
        return used, dt

    def _known_uses(self, slots: Slots, uses: Floats) -> tuple[Slots, Floats]:
        """Use of pods that are known, whole and sensible; a pod with a bad number is one whose use is not known."""
        if self._declared:
            uses = np.where(self._measured[:, None], uses, 0.0)
        if slots.min(initial=0) < 0:
            slots, uses = _chosen(slots >= 0, slots, uses)
        other = np.flatnonzero(reduce(np.logical_or, self._estimates.uses.take(slots, axis=1) != uses))
        if other.size:
            changed, others = uses, slots
            if other.size < len(slots):
                changed, others = uses.take(other, axis=1), slots[other]
            # What is held is sensible, so bad numbers are among those that differ, NaN being unlike any number.
            if not (changed.min() >= 0 and changed.max() < np.inf):
                sensible = np.logical_and.reduce((uses >= 0) & (uses < np.inf), axis=0)
                return self._known_uses(*_chosen(sensible, slots, uses))
            self._use(others, changed)
        return slots, uses

    def _use(self, slots: Slots, uses: Floats) -> None:
        """Note pods that use more or less than they did. A driver is charged max(use, D)."""
        put(self._estimates.uses, slots, uses)
        grown = self._growth.grown_since(slots, uses)
        if grown.size:
            self._growth.note(slots[grown], uses.take(grown, axis=1), self._ages(slots[grown]))
        self._pods.changed[slots] = True
        self._charge_drivers(slots[self._pods.drivers[slots]])

    def _charge_drivers(self, drivers: Slots) -> None:
        """Charge drivers by what they use now."""
        cells = self._estimates.pods.table
        before = cells[Measure.CHARGE].take(drivers, axis=1)
        charge = self._charges(drivers, cells[Measure.DECLARED].take(drivers, axis=1), before)
        if (charge != before).any():
            cells[Measure.CHARGE][:, drivers] = charge
            self._estimates.pods.refresh(Measure.CHARGE, self._estimates.pods.held)

    # max(use, D); of compressible kinds min(that, use × (1 + margin)); of strict ones what it was until it has settled
    def _charges(self, drivers: Slots, declared: Floats, before: Floats) -> Floats:
        """What drivers are charged, kind × driver. First samples show less than what its likes were killed for."""
        uses, beyond = self._estimates.uses.take(drivers, axis=1), self._by_use[:, None]
        young = self._growth.unsettled(drivers) & self._strict[:, None]
        full = np.maximum(np.maximum(uses, declared), np.where(young, before, 0.0))
        charges: Floats = np.where(beyond > 0, np.minimum(full, np.maximum(uses * beyond, 0.0)), full)
        return charges

    def _without_drivers(self, used: Floats, slots: Slots, uses: Floats) -> Floats:
        """Take the use of drivers, which are charged, out of U (in place), and return it.

        What is left is at least what the other pods use: readings of pods may be newer than their node's.
        """
        driving, driven = np.flatnonzero(self._pods.drivers[slots]), np.zeros_like(used)
        if driving.size:
            homes = self._estimates.pods.homes[slots[driving]]
            for kind, use in enumerate(uses.take(driving, axis=1)):
                driven[:, kind] = np.bincount(homes, use, minlength=len(used) + 1)[1:]
            used -= driven
            np.maximum(used, 0.0, out=used)  # NaN stays NaN
        unread = self._unread_drivers(slots[driving], used)
        if unread.size:
            more = self._use_of_unread(unread, used)
            used -= more
            driven += more
        others = np.where(self._pods.drivers[slots], 0, self._estimates.pods.homes[slots])
        for kind, use in enumerate(uses):
            least = np.bincount(others, use, minlength=len(used) + 1)[1:]
            np.maximum(used[:, kind], least, out=used[:, kind], where=used[:, kind] >= 0)
        return driven

    def _unread_drivers(self, read: Slots, used: Floats) -> Slots:
        """Drivers that ran when their node was measured, now, and that have no reading."""
        drivers = np.flatnonzero(self._pods.drivers)
        if len(drivers) == len(read):
            return drivers[:0]
        measured = np.concatenate([[False], np.isfinite(used).any(axis=1)])
        unread = np.setdiff1d(drivers[measured[self._estimates.pods.homes[drivers]]], read)
        return unread[self._started(unread)]

    def _use_of_unread(self, drivers: Slots, used: Floats) -> Floats:
        """What such drivers are taken to use, row × kind: what they last did, or else what they are charged.

        All together at most what U leaves beside what other pods were last seen to use.
        """
        cells, homes = self._estimates.pods.table, self._estimates.pods.homes
        last, home = cells[Measure.USE].take(drivers, axis=1), homes[drivers] - 1
        wanted = np.where(last.any(axis=0), last, cells[Measure.CHARGE].take(drivers, axis=1))
        others, found = np.where(self._pods.drivers, 0, homes[: len(self._pods.drivers)]), np.zeros_like(used)
        for kind, wants in enumerate(wanted):
            use = cells[Measure.USE, kind, : len(others)]
            left = used[:, kind] - np.bincount(others, use, minlength=len(used) + 1)[1:]
            found[:, kind] = summed(home, unread_use(wants, home, left), len(used))
        return found

    def _covered(self, slots: Held, at: Slots, rows: int, measured: Slots) -> Floats:
        """How much of U requests cover, row × kind; `at` is the row of each slot, −1 where it has none.

        A measured pod's request covers its use up to the most it is charged; one that only runs is taken to use that
        most. Drivers are not in U.
        """
        cells, known = self._estimates.pods.table, self._mask(measured)[slots]
        running = ~known & self._started(slots)
        counted = ~self._pods.drivers[slots] & (known | running)
        covered = np.zeros((rows + 1, len(self._measured)))
        for kind in range(len(self._measured)):
            top, use = cells[Measure.TOP, kind, slots], cells[Measure.USE, kind, slots]
            part = np.where(known, np.minimum(use, top), top)
            covered[:, kind] = np.bincount(at + 1, np.where(counted, part, 0.0), minlength=rows + 1)
        return covered[1:]

    def _recall(self, slots: Slots, uses: Floats, used: Floats) -> None:
        """Rebuild the estimates of nodes whose first sample this is, from pods whose use and start are known."""
        if self._estimates.primed.all() or (self._estimates.primed | np.isnan(used)).all():
            return
        told = ~self._pods.drivers[slots] & np.isfinite(self._pods.started[slots])
        self._estimates.recall(slots[told], uses[:, told], self._ages(slots[told]), used)

    def _ages(self, slots: Slots | slice = slice(None)) -> Floats:
        """Seconds from each pod's container start to its node's newest sample; 0 before the start."""
        stamps = np.concatenate([[-np.inf], self.freshness.stamps])[self._estimates.pods.homes[slots]]
        ages: Floats = np.fmax(stamps - self._pods.started[slots], 0.0)  # NaN (not started) becomes 0
        return ages

    def _started(self, slots: Held = slice(None)) -> NDArray[np.bool_]:
        """Which containers had started when their node's newest sample was taken."""
        stamps = np.concatenate([[-np.inf], self.freshness.stamps])[self._estimates.pods.homes[slots]]
        return self._pods.started[slots] <= stamps

    def _mask(self, slots: Slots) -> NDArray[np.bool_]:
        mask = np.zeros(len(self._pods.apps), np.bool_)
        mask[slots[slots >= 0]] = True
        return mask

    def _learn(self, slots: Slots, uses: Floats) -> None:
        growing = self._running(slots, self._growth.learning(slots))
        if growing.size:
            some = slots[growing]
            ages = self._ages(some)
            settled = self._growth.watch(some, uses.take(growing, axis=1), ages)
            # Where its app is known to grow later, a pod that stands still has not settled yet.
            young = self.peaks.young(self._pods.apps[some], ages)[self._strict].any(axis=0)
            self.learn_peaks(np.setdiff1d(settled, some[young], assume_unique=True))
        apps = self._pods.apps[slots]
        outgrown = self._running(slots, self.peaks.outgrown(apps, uses))
        if outgrown.size:
            self.peaks.correct(apps[outgrown], uses.take(outgrown, axis=1), self._growth.reaches(slots[outgrown]))
        self._learn_excess(slots, uses)

    def _learn_excess(self, slots: Slots, uses: Floats) -> None:
        """Pods that use more than they declare of a kind of which a lack kills say so before they settle, too."""
        apps = self._pods.apps[slots]
        asked, known = self._estimates.pods.table[Measure.REQUEST], self.peaks.tops(apps)
        excess = np.zeros(len(slots), np.bool_)
        for strict, use, wanted, most in zip(self._strict, uses, asked, known, strict=False):
            if strict:
                excess |= use > np.maximum(wanted.take(slots), most)
        more = self._running(slots, np.flatnonzero(excess & ~self._pods.drivers[slots]))
        if more.size:
            # How long it took them to grow is not known: they may go on growing.
            self.peaks.learn(apps[more], np.maximum(uses, known)[:, more].T, np.zeros((more.size, len(uses))))

    def _running(self, slots: Slots, at: Slots) -> Slots:
        """Those of some places in `slots` where the pod's container runs."""
        return at[np.isfinite(self._pods.started[slots[at]])] if at.size else at


def _chosen(which: NDArray[np.bool_], slots: Slots, uses: Floats) -> tuple[Slots, Floats]:
    return (slots, uses) if which.all() else (slots[which], uses[:, which])
