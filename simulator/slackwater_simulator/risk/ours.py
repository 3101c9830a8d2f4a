"""Slackwater's own estimators on the bench: the promise with a stated risk, and paper 000's equations as printed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from slackwater.estimation.calibration import ENOUGH, EVERY, Calibration, Promise, Promises
from slackwater.estimation.estimator import NodeEstimates
from slackwater.estimation.mode import ALPHA, TAU0, Mode
from slackwater.estimation.risk import HALF_LIFE, Outlook, PodLevels, Usual, floor, outlook, promised, summed, usual
from slackwater_simulator.risk.machines import Moment, Play
from slackwater_simulator.risk.series import STEP

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

WATCHED = 6 * HALF_LIFE  # seconds until promises are judged, as many half-lives as in the ledger: too little was seen


def first_promise(play: Play) -> float:
    """Seconds until enough promises are over that `slackwater` promises less than all requests."""
    rounds = math.ceil(ENOUGH / play.machines)
    return WATCHED + play.horizon * STEP + (rounds - 1) * EVERY


class Slackwater:
    """`slackwater.estimation.risk` and `calibration`, one class of machines.

    Of a known app its tasks are expected to use what tasks usually use here. Memory of one that was never seen is
    expected by its request, as in the ledger; its CPU as that of all others.
    """

    def __init__(self, risk: float, horizon: int, *, memory: bool) -> None:
        self._memory = memory
        self.calibration = Calibration(risk, overlap=max(1.0, horizon * STEP / EVERY))
        self._promises = Promises(horizon * STEP, after=WATCHED)
        self._levels = PodLevels.empty(0)

    def peak(self, moment: Moment) -> Floats:
        """The promise of every machine."""
        machines, places = moment.use.shape
        now, use = moment.step * STEP, moment.use.ravel().astype(np.float64)
        home = np.repeat(np.arange(machines), places)
        if not len(self._levels.seen):
            self._levels = PodLevels.empty(len(use))
        self._levels.forget(moment.arrived.ravel())
        self._levels.sample(use, STEP)
        since: Floats = now - (moment.age.ravel() - 1) * np.float64(STEP)
        for over in self._promises.watch(now, use, self._promises.places(home, since)):
            judged = over.judged()
            self.calibration.learn(judged.scores, judged.exceeded)
        requests = np.full(machines, moment.requests)
        expected = self._expected(moment, home)
        used = summed(home, use, machines)
        peak = promised(expected, self.calibration.factor, requests, floor(used, compressible=not self._memory))
        excused = None if self._memory else used.copy()
        self._promises.put(Promise(now, expected, peak, requests, used, excused))
        return peak

    def _expected(self, moment: Moment, home: Rows) -> Outlook:
        machines, request = len(moment.use), np.full(len(home), moment.request)
        known = usual(self._levels, request)
        unknown = moment.unknown.ravel()
        if not (self._memory and unknown.any()):
            return outlook(self._levels, request, home, machines, known)
        parts = [
            outlook(self._levels.take(who), request[who], home[who], machines, told)
            for who, told in ((np.flatnonzero(~unknown), known), (np.flatnonzero(unknown), Usual()))
        ]
        return Outlook(parts[0].centre + parts[1].centre, np.hypot(parts[0].spread, parts[1].spread))


class PaperEstimate:
    """Equations 1 to 4 of paper 000 as printed: E is what will be used, with no margin."""

    def __init__(self, machines: int, places: int, request: float) -> None:
        self._estimates = NodeEstimates(1, ALPHA, [TAU0], Mode.PRINTED)
        self._slots = np.zeros((machines, places), np.intp)
        self._request = np.array([request])
        for row in range(machines):
            self._estimates.add_node()
            self._slots[row] = [self._estimates.add(row, self._request) for _ in range(places)]

    def peak(self, moment: Moment) -> Floats:
        """E of every machine after this sample; tasks that came since the last one are seen in it, as in the ledger."""
        if moment.step:
            for row, place in zip(*np.nonzero(moment.arrived), strict=True):
                self._estimates.finish(int(self._slots[row, place]))
                self._slots[row, place] = self._estimates.add(int(row), self._request)
        used = moment.use.sum(axis=1, dtype=np.float64)[:, None]
        self._estimates.sample(used, np.full(len(used), STEP), self._slots.ravel())
        return self._estimates.estimate()[:, 0]
