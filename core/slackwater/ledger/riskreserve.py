"""What the ledger keeps back on each node so that a stated risk is kept, kind by kind (`estimation.risk`).

The room of a node is min(AR, NC) − E − drivers (`room`). With a risk, what pods are expected to use at most takes the
place of E and of the allowance:

    room = min(allocatable, NC) − promise − drivers        promise = min(m + z·s, Σ requests) + what no pod accounts for

Of CPU no promise is below what is used at that moment: it is known to be needed. Of memory it may be, by a tenth: where
it might not, tasks of the simulator were lost. It must not be by more: where memory is steady for long, scores are far
below zero, and m + z·s alone would promise nothing at all for the first node whose pods vary. Where pods use more
memory than they ask for, what they use takes the place of Σ requests: the promise is not cut below it.

A running pod of which no reading ever came is taken to use what it asks for, all of them together at most what U leaves
beside those that were read (`unread_use`). That counts as use wherever use does, and of it nothing is given out again.

That is computed with every sample, as a margin beside E: margin = promise − E − (min(allocatable, NC) − min(AR, NC)).
A pod that comes or goes between two samples changes E, and by that the room, as it always does. While too few promises
were compared (`Calibration.young`) and where samples are stale the margin is 0: paper 000's equations decide. Where
more memory is in use than the node allows, no margin is below 0: a promise gives none of it out again (`room`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.estimation.calibration import Calibration, MachineTypes, Promise, Promises
from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.measures import Measure
from slackwater.estimation.peaks import NO_APP
from slackwater.estimation.podmatrix import grown
from slackwater.estimation.risk import (
    Outlook,
    PodLevels,
    Together,
    Usual,
    by_app,
    cut,
    floor,
    outlook,
    promised,
    steadied,
    summed,
    unread_use,
    usual,
)
from slackwater.ledger.nodeindex import NodeIndex
from slackwater.ledger.podindex import PodIndex
from slackwater.ledger.types import LedgerConfig, NodePromise
from slackwater.resources import CPU
from slackwater.validation import positive

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.estimation.peaks import Peaks

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]

PARTS = 6  # a sample counts half after this part of the horizon, and a pod's own use is trusted as much as its app's
PROMISES = 24  # promises put aside within a horizon
EARLY = 0.9  # of a heartbeat: no round begins to the millisecond, and none is to be passed over for that


class Crowd(NamedTuple):
    """The pods that promises are about, those on nodes that are no drivers, as they are at one moment."""

    slots: Slots | slice
    home: Slots
    apps: Slots
    since: Floats  # when each was first there
    running: NDArray[np.bool_]
    together: Together


class KindPromises:
    """One kind of resource on all nodes."""

    def __init__(self, kind: int, risk: float, horizon: float, *, compressible: bool) -> None:
        self._kind, self._trust, self._compressible = kind, horizon / PARTS, compressible
        every = horizon / PROMISES
        self.calibration = Calibration(risk, overlap=PROMISES, every=every, least=PROMISES)
        # Pods are watched for a horizon before promises about them are judged: scores of earlier ones are too low.
        self.promises = Promises(horizon, every, after=horizon)
        self._system = PodLevels.empty(0)
        self.expected = Outlook(np.zeros(0), np.zeros(0))
        self.peak: Floats = np.zeros(0)
        self.least: Floats = np.zeros(0)  # what no promise is below

    def add_row(self) -> None:
        """A node came."""
        self._system.reserve(len(self._system.seen) + 1, exact=True)
        self.expected = Outlook(*(np.append(part, 0.0) for part in self.expected))
        self.peak, self.least = np.append(self.peak, 0.0), np.append(self.least, 0.0)
        self.promises.add_node()

    def drop_row(self, row: int) -> None:
        """A node is gone; later rows move up by one."""
        self._system.drop(row)
        self.expected = Outlook(*(np.delete(part, row) for part in self.expected))
        self.peak, self.least = np.delete(self.peak, row), np.delete(self.least, row)
        self.promises.drop_node(row)

    def settle(
        self,
        now: float,
        dt: float,
        estimates: NodeEstimates,
        crowd: Crowd,
        levels: PodLevels,
        places: Slots,
        peaks: Peaks,
        machines: MachineTypes,
    ) -> None:
        """Judge promises that are over, and make new ones. `levels` are those of the crowd, `places` for promises."""
        rows, home, cells = estimates.pods.rows, crowd.home, estimates.pods.table[:, self._kind]
        request, use = cells[Measure.REQUEST, crowd.slots], cells[Measure.USE, crowd.slots]
        # A pod of an app that is not known may use all it asks for, and its siblings on the node with it. Who runs out
        # of CPU runs slower, and what pods usually use is good enough; who runs out of memory is killed.
        known = usual(levels, request, self._trust) if self._compressible else Usual()
        prior = peaks.spread(crowd.apps, self._kind)
        expected = outlook(levels, request, home, rows, known, prior, self._trust, crowd.together)
        # Use that no pod accounts for is the system's.
        use, unread = self._whole_use(use, levels, request, crowd, estimates.used[:, self._kind])
        used = summed(home, use, rows)
        system = np.maximum(estimates.used[:, self._kind] - used, 0.0)
        self._system.sample(system, dt, self._trust)
        expected = Outlook(
            expected.centre + self._system.level, np.hypot(expected.spread, np.sqrt(self._system.variance))
        )
        for over in self.promises.watch(now, use, places, system):
            judged = over.judged()
            if len(judged.rows):
                self.calibration.learn(judged.scores, judged.exceeded, machines.at(judged.rows))
        requests = summed(home, request, rows) + system
        present = used + system
        factors = self.calibration.factors(machines)
        self.least = unread + floor(present - unread, compressible=self._compressible)
        self.expected = steadied(expected, factors > 0, requests)
        most = cut(requests, present, compressible=self._compressible)
        self.peak = promised(expected, factors, requests, self.least, most)
        excused = present if self._compressible else None
        self.promises.put(Promise(now, expected, self.peak, requests, present.copy(), excused))

    @staticmethod
    def _whole_use(
        use: Floats, levels: PodLevels, request: Floats, crowd: Crowd, measured: Floats
    ) -> tuple[Floats, Floats | float]:
        """What each pod uses, with those that run and were never read, and by node what those alone do."""
        unread = np.flatnonzero((levels.seen == 0) & crowd.running)
        if not unread.size:
            return use, 0.0
        home, use = crowd.home[unread], use.copy()
        use[unread] = 0.0
        left = measured - summed(crowd.home, use, len(measured))
        use[unread] = unread_use(request[unread], home, left)
        return use, summed(home, use[unread], len(measured))

    def explain(self, row: int, machine: str) -> NodePromise:
        """The numbers behind one node's promise."""
        it = self.calibration
        kept = it.machines.get(machine, it.kept)
        centre, spread, peak = float(self.expected.centre[row]), float(self.expected.spread[row]), float(self.peak[row])
        least = float(self.least[row])
        return NodePromise(it.risk, kept.realised, kept.promises, centre, spread, it.factor_of(machine), peak, least)


class RiskMargins:
    """All kinds: fed with every sample, asked for what is to be kept back on each node."""

    def __init__(
        self,
        nodes: NodeIndex,
        estimates: NodeEstimates,
        pods: PodIndex,
        terms: LedgerConfig,
        risk: float,
    ) -> None:
        self._nodes, self._estimates, self._pods = nodes, estimates, pods
        self._trust = positive("risk_horizon", terms.horizon) / PARTS
        self.kinds = {
            at: KindPromises(at, risk, terms.horizon, compressible=kind == CPU)
            for at, kind in enumerate(terms.kinds)
            if kind in terms.measured
        }
        self._levels = PodLevels.empty(64, len(self.kinds))
        self._since: Floats = np.full(64, -np.inf)
        self._seen: Floats = np.full(64, -np.inf)
        self._now = -np.inf
        self._crowd: Crowd | None = None  # of the last heartbeat
        self.kept: Floats = np.zeros((0, len(terms.kinds)))

    def begin(self, slot: int) -> None:
        """Another pod, or another container, in this slot: it came after the last sample."""
        self._since, self._seen = grown(self._since, 0, slot + 1), grown(self._seen, 0, slot + 1)
        self._since[slot] = np.nextafter(self._now, np.inf)
        self._seen[slot] = -np.inf
        self._levels.reserve(slot + 1)
        self._levels.forget(np.array([slot]))

    def add_row(self) -> None:
        """A node came: nothing is kept back until it was measured."""
        self.kept = np.vstack([self.kept, np.zeros(self.kept.shape[1])])
        for kind in self.kinds.values():
            kind.add_row()

    def drop_row(self, row: int) -> None:
        """A node is gone; later rows move up by one."""
        self.kept = np.delete(self.kept, row, axis=0)
        for kind in self.kinds.values():
            kind.drop_row(row)

    def margin(
        self, rows: Slots | slice | int, stale: NDArray[np.bool_], crowded: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """What is kept back beside E on some rows, by kind: nothing where samples are stale.

        Nor does it give room where more is in use than the node allows.
        """
        kept = self.kept[rows]
        found: Floats = np.where(stale, 0.0, np.where(crowded, np.maximum(kept, 0.0), kept))
        return found

    def expect(self, row: int, more: Floats) -> None:
        """So much more than was promised may be used on a row, by kind and beside E, until promises are made anew."""
        for kind, each in self.kinds.items():
            if not each.calibration.young:
                self.kept[row, kind] += more[kind]

    def lose(self, now: float, stale: NDArray[np.bool_], arrivals: Floats) -> None:
        """Nodes without samples for too long: nobody has seen them since the last one came (both row × kind)."""
        for kind, each in self.kinds.items():
            each.promises.lose(stale[:, kind], now, arrivals[:, kind])

    def sample(self, now: float, heartbeat: float, slots: Slots, uses: Floats, peaks: Peaks) -> None:
        """Take in the use of some pods (kind × pod); when a heartbeat has passed, form all margins anew."""
        if slots.size and self.kinds:
            self._see(now, heartbeat, slots, uses)
        passed = now - self._now if np.isfinite(self._now) else heartbeat
        if passed >= EARLY * heartbeat:
            self._settle(now, passed, peaks)

    def _see(self, now: float, heartbeat: float, slots: Slots, uses: Floats) -> None:
        """Take in the use of some pods; one that was seen at this moment already is passed over."""
        at = _run(slots)
        last = self._seen[at]
        dt = np.where(np.isfinite(last), np.maximum(now - last, 0.0), heartbeat)
        if len(self.kinds) < len(uses):
            uses = uses[list(self.kinds)]
        if dt.min() <= 0:
            told = np.flatnonzero(dt > 0)
            at, uses, dt = slots[told], uses[:, told], dt[told]
        elif dt.max() == dt.min():
            dt = dt[:1]  # a power for each pod would take as long as all the rest
        self._seen[at] = now
        self._levels.sample(uses, dt, self._trust, at)

    def _settle(self, now: float, passed: float, peaks: Peaks) -> None:
        self._now = now
        self._nodes.refresh()
        estimate, allowed = self._estimates.estimate(), np.minimum(self._nodes.allowed, self._nodes.real)
        # Where the capacity is not known, NC is AR.
        total, real = self._nodes.total, self._nodes.real
        whole = np.where(real == self._nodes.allowed, total, np.minimum(total, real))
        self.kept = np.zeros_like(estimate)
        crowd = self._crowd = self._gather()
        levels = self._levels.take(crowd.slots)
        # Promises of all kinds are made at the same moments.
        places = next((each.promises.places(crowd.home, crowd.since) for each in self.kinds.values()), crowd.home)
        for number, (kind, each) in enumerate(self.kinds.items()):
            own = levels.of(number)
            each.settle(now, passed, self._estimates, crowd, own, places, peaks, self._nodes.machines)
            if not each.calibration.young:
                self.kept[:, kind] = each.peak - estimate[:, kind] - (whole - allowed)[:, kind]

    def _gather(self) -> Crowd:
        """The pods that count now. Who rises together is found anew when pods have changed."""
        homes = self._estimates.pods.homes
        counted = (homes > 0) & ~self._pods.drivers
        slots = slice(0, len(counted)) if counted.all() else _run(np.flatnonzero(counted))
        home, apps, last = homes[slots] - 1, self._pods.apps[slots].copy(), self._crowd
        same = last is not None and np.array_equal(last.home, home) and np.array_equal(last.apps, apps)
        together = last.together if last is not None and same else by_app(home, apps, NO_APP)
        return Crowd(slots, home, apps, self._since[slots], np.isfinite(self._pods.started[slots]), together)


def _run(slots: Slots) -> Slots | slice:
    """The same slots, as a slice where they follow each other: numpy takes that several times as fast."""
    if not slots.size or slots[-1] - slots[0] != slots.size - 1 or not (slots[1:] > slots[:-1]).all():
        return slots
    return slice(int(slots[0]), int(slots[-1]) + 1)
