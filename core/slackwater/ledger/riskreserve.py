"""What the ledger keeps back on each node so that a stated risk is kept, kind by kind (`estimation.risk`).

The room of a node is min(AR, NC) − E − drivers (`room`). With a risk, what pods are expected to use at most takes the
place of E and of the allowance:

    room = min(allocatable, NC) − promise − drivers        promise = min(m + z·s, Σ requests) + what no pod accounts for

That is computed with every sample, as a margin beside E: margin = promise − E − (min(allocatable, NC) − min(AR, NC)).
A pod that comes or goes between two samples changes E, and by that the room, as it always does. While too few promises
were compared (`Calibration.young`) and where samples are stale the margin is 0: paper 000's equations decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.calibration import Calibration, Promise, Promises, PromiseScores
from slackwater.estimation.peaks import NO_APP
from slackwater.estimation.podmatrix import grown
from slackwater.estimation.risk import Outlook, PodLevels, Together, Usual, by_app, outlook, promised, summed, usual
from slackwater.estimation.vectorized import Measure, NodeEstimates
from slackwater.ledger.nodeindex import NodeIndex
from slackwater.ledger.podindex import PodIndex
from slackwater.ledger.types import LedgerConfig
from slackwater.resources import CPU

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.estimation.peaks import Peaks

    Floats = NDArray[np.float64]
    Slots = NDArray[np.intp]

PARTS = 6  # a sample counts half after this part of the horizon, and a pod's own use is trusted as much as its app's
PROMISES = 12  # promises put aside within a horizon


@dataclass(frozen=True, slots=True)
class NodePromise:
    """The arithmetic of one kind on one node, for people."""

    asked: float  # the risk that was asked for
    realised: float  # the share of promises exceeded of late, on nodes of its type
    compared: float  # promises compared of late
    centre: float  # m
    spread: float  # s
    factor: float  # z; infinite while too little is known
    peak: float  # promised


class KindPromises:
    """One kind of resource on all nodes."""

    def __init__(self, kind: int, risk: float, horizon: float, *, compressible: bool) -> None:
        self._kind, self._trust, self._compressible = kind, horizon / PARTS, compressible
        self.calibration = Calibration(risk, overlap=PROMISES)
        self._promises = Promises(horizon, horizon / PROMISES, after=horizon / PROMISES)
        self._levels, self._system = PodLevels.empty(64), PodLevels.empty(0)
        self.expected = Outlook(np.zeros(0), np.zeros(0))
        self.peak: Floats = np.zeros(0)

    def begin(self, slot: int) -> None:
        """Another pod, or another container, in this slot."""
        self._levels.reserve(slot + 1)
        self._levels.forget(np.array([slot]))

    def add_row(self) -> None:
        """A node came."""
        self._system.reserve(len(self._system.seen) + 1, exact=True)
        self.expected, self.peak = Outlook(*(np.append(part, 0.0) for part in self.expected)), np.append(self.peak, 0.0)
        self._promises.add_node()

    def drop_row(self, row: int) -> None:
        """A node is gone; later rows move up by one."""
        self._system.drop(row)
        self.expected, self.peak = Outlook(*(np.delete(part, row) for part in self.expected)), np.delete(self.peak, row)
        self._promises.drop_node(row)

    def see(self, slots: Slots, use: Floats, dt: Floats) -> None:
        """Take in the use of some pods."""
        self._levels.sample(use, dt, self._trust, slots)

    def settle(
        self,
        now: float,
        dt: float,
        estimates: NodeEstimates,
        counted: Slots,
        since: Floats,
        peaks: Peaks,
        apps: Slots,
        together: Together,
        machines: NDArray[np.str_],
    ) -> None:
        """Judge promises that are over, and make new ones. `counted` are the pods on nodes that are no drivers."""
        rows, cells = estimates.pods.rows, estimates.pods.table[:, self._kind]
        home, request, use = (
            estimates.pods.homes[counted] - 1,
            cells[Measure.REQUEST, counted],
            cells[Measure.USE, counted],
        )
        levels = self._levels.take(counted)
        # A pod of an app that is not known may use all it asks for, and its siblings on the node with it. Who runs out
        # of CPU runs slower, and what pods usually use is good enough; who runs out of memory is killed.
        known = usual(levels, request, self._trust) if self._compressible else Usual()
        prior = peaks.spread(apps[counted], self._kind)
        expected = outlook(levels, request, home, rows, known, prior, self._trust, together)
        # Use that no pod accounts for, the system's: pods without a reading are taken to use what they ask for.
        unread = np.where(levels.seen > 0, use, request)
        system = np.maximum(estimates.used[:, self._kind] - summed(home, unread, rows), 0.0)
        self._system.sample(system, dt, self._trust)
        expected = Outlook(
            expected.centre + self._system.level, np.hypot(expected.spread, np.sqrt(self._system.variance))
        )
        nodes = np.arange(rows)
        everyone = np.append(use, system), np.append(home, nodes), np.append(since[counted], np.full(rows, -np.inf))
        for over in self._promises.watch(now, *everyone):
            self._learn(over.judged(), machines)
        requests = summed(home, request, rows) + system
        self.expected, self.peak = expected, promised(expected, self._factors(machines), requests)
        self._promises.put(Promise(now, expected, self.peak, requests, summed(home, use, rows) + system))

    def _learn(self, judged: PromiseScores, machines: NDArray[np.str_]) -> None:
        self.calibration.learn(judged.scores, judged.exceeded)
        self.calibration.learn_by_machine(judged.exceeded, machines[judged.rows])

    def _factors(self, machines: NDArray[np.str_]) -> Floats:
        """Z of each node."""
        types, at = np.unique(machines, return_inverse=True)
        return np.array([self.calibration.factor_of(each) for each in types.tolist()], np.float64)[at]

    def explain(self, row: int, machine: str) -> NodePromise:
        """The numbers behind one node's promise."""
        it = self.calibration
        kept = it.machines.get(machine, it.kept)
        centre, spread, peak = float(self.expected.centre[row]), float(self.expected.spread[row]), float(self.peak[row])
        return NodePromise(it.risk, kept.realised, kept.promises, centre, spread, it.factor_of(machine), peak)


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
        self.kinds = {
            at: KindPromises(at, risk, terms.horizon, compressible=kind == CPU)
            for at, kind in enumerate(terms.kinds)
            if kind in terms.measured
        }
        self._since: Floats = np.full(64, -np.inf)
        self._seen: Floats = np.full(64, -np.inf)
        self._now = -np.inf
        self._grouped: tuple[Slots, Slots, Together] | None = None  # nodes and apps of the pods, and who rises together
        self.kept: Floats = np.zeros((0, len(terms.kinds)))

    def begin(self, slot: int) -> None:
        """Another pod, or another container, in this slot: it came after the last sample."""
        self._since, self._seen = grown(self._since, 0, slot + 1), grown(self._seen, 0, slot + 1)
        self._since[slot] = np.nextafter(self._now, np.inf)
        self._seen[slot] = -np.inf
        for kind in self.kinds.values():
            kind.begin(slot)

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

    def sample(self, now: float, heartbeat: float, slots: Slots, uses: Floats, peaks: Peaks) -> None:
        """Take in the use of some pods (kind × pod); when a heartbeat has passed, form all margins anew."""
        if slots.size:
            last = self._seen[slots]
            dt = np.where(np.isfinite(last), np.maximum(now - last, 0.0), heartbeat)
            told = np.flatnonzero(dt > 0)
            self._seen[slots[told]] = now
            for kind, each in self.kinds.items():
                each.see(slots[told], uses[kind, told], dt[told])
        passed = now - self._now if np.isfinite(self._now) else heartbeat
        if passed >= heartbeat:
            self._settle(now, passed, peaks)

    def _settle(self, now: float, passed: float, peaks: Peaks) -> None:
        self._now = now
        self._nodes.refresh()
        counted = np.flatnonzero((self._estimates.pods.homes > 0) & ~self._pods.drivers)
        estimate, allowed = self._estimates.estimate(), np.minimum(self._nodes.allowed, self._nodes.real)
        # Where the capacity is not known, NC is AR.
        total, real = self._nodes.total, self._nodes.real
        whole = np.where(real == self._nodes.allowed, total, np.minimum(total, real))
        self.kept = np.zeros_like(estimate)
        apps = self._pods.apps
        together = self._groups(self._estimates.pods.homes[counted] - 1, apps[counted])
        for kind, each in self.kinds.items():
            each.settle(now, passed, self._estimates, counted, self._since, peaks, apps, together, self._nodes.machines)
            if not each.calibration.young:
                self.kept[:, kind] = each.peak - estimate[:, kind] - (whole - allowed)[:, kind]

    def _groups(self, homes: Slots, apps: Slots) -> Together:
        """Who rises together. Finding that out takes as long as all the rest, so it is done when pods have changed."""
        last = self._grouped
        if last is None or not (np.array_equal(last[0], homes) and np.array_equal(last[1], apps)):
            last = self._grouped = homes, apps, by_app(homes, apps, NO_APP)
        return last[2]
