"""Slackwater's own estimators on the bench: the promise with a stated risk, and paper 000's equations as printed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.estimation.calibration import EVERY, Calibration, Promise, Promises
from slackwater.estimation.estimator import ALPHA, TAU0, Mode
from slackwater.estimation.risk import PodLevels, floor, outlook, promised, summed, usual
from slackwater.estimation.vectorized import NodeEstimates
from slackwater_simulator.risk.machines import Moment
from slackwater_simulator.risk.series import STEP

Floats = NDArray[np.float64]


class Slackwater:
    """`slackwater.estimation.risk` and `calibration`, one class of machines, no app known."""

    def __init__(self, risk: float, horizon: int, *, memory: bool) -> None:
        self._memory = memory
        self.calibration = Calibration(risk, overlap=max(1.0, horizon * STEP / EVERY))
        self._promises = Promises(horizon * STEP)
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
        request, requests = np.full(len(use), moment.request), np.full(machines, moment.requests)
        expected = outlook(self._levels, request, home, machines, usual(self._levels, request))
        used = summed(home, use, machines)
        peak = promised(expected, self.calibration.factor, requests, floor(used, compressible=not self._memory))
        excused = None if self._memory else used.copy()
        self._promises.put(Promise(now, expected, peak, requests, used, excused))
        return peak


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
