"""Peak predictors from the literature, written from their formulas, with their published parameters.

"Take it to the limit: peak prediction-driven resource overcommitment in datacenters" (Bashir et al., EuroSys 2021),
U usage, L limits (our requests), J the tasks of a machine; a task younger than the warm-up counts by its limit:

    borg-default     P = φ · Σ L                                        φ = 0.9
    RC-like          P = Σ over tasks of the k-th percentile of U       k = 99
    N-sigma          P = mean(U(J)) + N · std(U(J))                     N = 5, U(J) the use of the machine
    max              P = the larger of N-sigma and RC-like

with a warm-up of two hours and a history of ten. Nothing is cut at a task's request: as for every estimator of the
bench, only a machine's promise is cut, at Σ requests. N-sigma takes the use over the limit of the warm tasks that were
there at each past sample, as the authors' simulator does, so that a machine that filled up does not look like one that
grows.

"Autopilot: workload autoscaling at Google" (Rzadca et al., EuroSys 2020), moving window, section 3.2: of CPU the 95th
percentile of the load-adjusted histogram, in which a bucket weighs by its boundary b[k]:

    h[k] = b[k] · Σ over samples in bucket k of 2^(−age / half-life)    half-life 12 h

of memory the peak; a safety margin (10 to 15 %; 15 % here); the maximum over the last hour. It sets limits per job:
here a task's limit is its request until an hour was seen, then the rule's, and a machine's peak is their sum.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.risk.machines import Moment
from slackwater_simulator.risk.series import STEP

Floats = NDArray[np.float64]

WARM_UP = int(2 * 3600 / STEP)  # samples
FRACTION = 0.9  # φ
PERCENTILE = 99.0
SIGMAS = 5.0
MARGIN = 0.15
HOUR = int(3600 / STEP)
CPU_HALF_LIFE = 12 * 3600 / STEP  # samples
CPU_PERCENTILE = 0.95
PER_REQUEST = 100  # bins of a histogram up to a task's request
BINS = 6 * PER_REQUEST  # and in all; what is above six times the request counts in the last


def borg_default(moment: Moment, share: float = FRACTION) -> Floats:
    """φ · Σ L."""
    return np.full(len(moment.use), share * moment.requests)


def rc_like(moment: Moment, percentile: float = PERCENTILE, warm_up: int = WARM_UP) -> Floats:
    """Σ over tasks of a percentile of their use; young tasks by their limit."""
    own = moment.once(("percentile", percentile), lambda: percentiles(moment.history, percentile))
    counted: Floats = np.where(moment.age >= warm_up, own, moment.request)
    return np.asarray(counted.sum(axis=1))


def percentiles(history: NDArray[np.float32], percentile: float) -> Floats:
    """A percentile of each task's samples, between neighbours in proportion; negative entries are not samples."""
    length = history.shape[2]
    count = (history >= 0).sum(axis=2)
    # Counted from the largest sample down: the entries that are no samples are at the other end.
    place = (1.0 - percentile / 100.0) * np.maximum(count - 1, 0)
    deepest = min(int(np.ceil((1.0 - percentile / 100.0) * (length - 1))), length - 1)
    top = -np.sort(-np.partition(history, length - 1 - deepest, axis=2)[:, :, length - 1 - deepest :], axis=2)
    upper = np.floor(place).astype(np.int64)
    lower = np.minimum(np.minimum(upper + 1, deepest), np.maximum(count - 1, 0))
    high = np.take_along_axis(top, upper[:, :, None], 2)[:, :, 0]
    low = np.take_along_axis(top, lower[:, :, None], 2)[:, :, 0]
    return np.asarray(high + (place - upper) * (low - high), np.float64)


def n_sigma(moment: Moment, sigmas: float = SIGMAS, warm_up: int = WARM_UP) -> Floats:
    """The mean and N standard deviations of the machine's use; young tasks by their limit."""
    warm = moment.age >= warm_up
    mean, deviation = moment.once(("shares", warm_up), lambda: _shares(moment, warm))
    settled = warm.sum(axis=1)
    young = warm.shape[1] - settled
    peak = (mean + sigmas * deviation) * moment.request * settled + moment.request * young
    return np.asarray(peak)


def _shares(moment: Moment, warm: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Mean and standard deviation of each machine's use over the limits of these tasks, sample by sample."""
    there = (moment.history >= 0) & warm[:, :, None]
    limits = moment.request * there.sum(axis=1)  # machine × sample
    used = np.where(there, moment.history, 0.0).sum(axis=1, dtype=np.float64)
    told = limits > 0
    count = np.maximum(told.sum(axis=1), 1)
    share = np.divide(used, limits, out=np.zeros_like(used), where=told)
    mean = share.sum(axis=1) / count
    squares = (told * (share - mean[:, None]) ** 2).sum(axis=1)
    return mean, np.sqrt(squares / np.maximum(count - 1, 1))


class Autopilot:
    """The moving-window rule per task."""

    def __init__(self, memory: bool) -> None:
        self._memory = memory
        self._weights: NDArray[np.float32] | None = None  # machine × place × bin
        self._filled = 0  # bins up to the highest in which a sample ever was
        self._peaks: Floats | None = None  # machine × place: the most that each task has used
        self._recent: list[Floats] = []

    def peak(self, moment: Moment) -> Floats:
        """Σ of the limits it would set."""
        rule = self._largest(moment) if self._memory else self._percentile(moment)
        limit = np.where(moment.age >= HOUR, rule * (1.0 + MARGIN), moment.request)
        self._recent = [*self._recent, limit][-HOUR:]
        held = limit.copy()
        for ago, earlier in enumerate(reversed(self._recent)):
            # Only what was set for this task, not for the one that had its place before.
            np.maximum(held, np.where(moment.age > ago + HOUR - 1, earlier, 0.0), out=held)
        return np.asarray(held.sum(axis=1))

    def _largest(self, moment: Moment) -> Floats:
        """The most that a task has used in all its life, also before its history begins."""
        peaks: Floats = moment.history.max(axis=2).astype(np.float64)
        if self._peaks is not None:
            np.maximum(peaks, np.where(moment.arrived, 0.0, self._peaks), out=peaks)
        self._peaks = peaks
        return peaks

    def _percentile(self, moment: Moment) -> Floats:
        """The upper edge of the first bin below which the percentile of all load lies."""
        if self._weights is None:
            self._weights = np.zeros((*moment.use.shape, BINS), np.float32)
        level = np.clip(np.ceil(moment.use / moment.request * PER_REQUEST) - 1, 0, BINS - 1).astype(np.int64)
        self._filled = max(self._filled, int(level.max(initial=0)) + 1)
        weights = self._weights[:, :, : self._filled]
        weights *= np.float32(0.5 ** (1.0 / CPU_HALF_LIFE))
        weights[moment.arrived] = 0.0
        rows, places = np.indices(level.shape)
        weights[rows, places, level] += 1.0
        below = np.cumsum(weights * np.arange(1, self._filled + 1, dtype=np.float32), axis=2)
        reached = (below >= CPU_PERCENTILE * below[:, :, -1:]).argmax(axis=2)
        return np.asarray((reached + 1) * moment.request / PER_REQUEST)
