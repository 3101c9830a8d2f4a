"""What the pods of an app come to use, and how long they take to get there.

A task does not use its memory at once: image pull, start-up and metric lag take longer than the estimator takes to
believe its low first samples. So the ledger charges a pod younger than its app's learned ramp, and a quarter of that
more, at least max(own use, app's learned peak) (paper 000 on a live cluster).

Of an app of which nothing is known yet the same holds with what its pods ask for in place of a peak, for kinds of which
a lack kills: low first samples of its first pods say nothing of what they grow to.

Learned from pods of the same app name and declared size: peak = largest use seen, ramp = age at which 90 % of that was
first reached. An app's values are the largest of its last few pods, so one lazy pod does not make the next twenty
unsafe.

The same knowledge works the other way. Once enough pods were watched from their start, the next ones need not be
believed to use all they ask for: in capped mode they are charged at most

    cap = max(own use, app's learned peak) × (1 + margin)

Without it a short task never gives its slack back: at a tau0 of 30 s half of a request is believed for 156 s. A pod
that is older than its app's ramp and has not grown for as long as it grew has settled: its own peak takes the place of
its app's, so that one large pod does not make fifteen smaller ones look large.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.podmatrix import grown
from slackwater.validation import finite_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LATE = 1.25  # of its app's ramp: until then a pod may still be about to grow
PODS = 16  # pods remembered per app
ENOUGH = 8  # pods watched from their start before their app is trusted to use less than it asks for
MARGIN = 0.15  # added to what they used: the next pod is not the same
FOR_LIFE = 1e9  # seconds; a ramp that no pod gets over, kept and forgotten with the lesson it belongs to
NO_APP = 0  # the id of pods without an app: nothing is learned of it


class Peaks:
    """Learned peak and ramp per app and kind. Apps have small integer ids, so that whole arrays of pods can ask."""

    def __init__(
        self,
        kinds: int,
        limit: int = 20_000,
        margin: float | Sequence[float | None] | None = MARGIN,
        in_use: Callable[[], NDArray[np.intp]] = lambda: np.zeros(0, np.intp),
    ) -> None:
        self._limit = limit  # apps remembered; names that never come back must not fill the memory
        self._some = max(1, limit // 20)  # of them that are forgotten at once
        self._in_use = in_use  # the ids of pods that are there, which are not given to other apps
        self._free: list[int] = []
        given = margin if isinstance(margin, Sequence) else [margin] * kinds
        # Kind × 1: what is known counts for so much; infinite where requests are believed.
        self.beyond: Floats = np.array([[np.inf if each is None else 1.0 + each] for each in given])
        self._trusting = any(each is not None for each in given)
        self._ids: OrderedDict[str, int] = OrderedDict()
        # App × pod × (peak, ramp) × kind of the last pods, as rings; and how many there ever were.
        self._rings: Floats = np.zeros((64, PODS, 2, kinds))
        self._seen: NDArray[np.int64] = np.zeros(64, np.int64)
        # The largest of each ring, (peak, ramp) × kind × app: asked for with every sample, while pods seldom tell.
        self._tops: Floats = np.zeros((2, kinds, 64))
        # The same of peaks where enough pods were watched, else infinite.
        self._limits: Floats = np.full((kinds, 64), np.inf)
        self._learned = False
        # Of pods watched from their start, kind × (mean, variance) × app; NaN where there were too few.
        self._spreads: Floats = np.full((kinds, 2, 64), np.nan)
        self._news: set[int] = set()  # apps of which other things are known than when `newly` was asked

    def __bool__(self) -> bool:
        """Whether anything has been learned."""
        return self._learned

    def identify(self, app: str) -> int:
        """The id of an app. Where there are too many, those without pods asked for longest ago give up theirs."""
        if not app:
            return NO_APP
        if app not in self._ids:
            self._ids[app] = self._new_id()
        self._ids.move_to_end(app)
        return self._ids[app]

    def find(self, app: str) -> int:
        """The id of an app that has one, else that of pods without an app."""
        return self._ids.get(app, NO_APP)

    def seen(self, app: str) -> bool:
        """Whether a pod of the app has told anything yet."""
        return bool(self._seen[self.find(app)])

    def learn(self, apps: NDArray[np.intp], peaks: Floats, ramps: Floats) -> None:
        """Take in pods, one per row: their app, peak and the age at which it was reached."""
        told = np.array([finite_array("peak", peaks), finite_array("ramp", ramps)])
        order = np.argsort(apps, kind="stable")[np.count_nonzero(apps == NO_APP) :]
        apps, numbers = apps[order], np.arange(len(order))
        first = apps.searchsorted(apps)  # of each lesson's app
        # Where several pods of an app come at once, the last ones written stay.
        count = self._seen[apps] + numbers - first
        self._rings[apps, count % PODS] = told[:, order].swapaxes(0, 1)
        self._seen[apps] = count + 1
        self._sum_up(apps[first == numbers])
        self._learned |= bool(apps.size)

    def learn_for_life(self, app: int, peak: Floats, kinds: NDArray[np.bool_]) -> None:
        """Pods of the app may come to this peak of these kinds at any age."""
        self.learn(np.array([app], np.intp), peak[None, :], np.where(kinds, FOR_LIFE, 0.0)[None, :])

    def lessons(self, most: int | None = None) -> dict[str, Floats]:
        """What apps have taught, so many of them at most, those asked for last first: pod × (peak, ramp) × kind."""
        told = {name: at for name, at in reversed(self._ids.items()) if self._seen[at]}
        return {name: self._rings[at, : self._seen[at]].copy() for name, at in islice(told.items(), most)}

    def restore(self, lessons: Mapping[str, Floats]) -> None:
        """Begin with such lessons; apps of which something is known here already keep what is known."""
        known = {name for name in lessons if name in self._ids and self._seen[self._ids[name]]}
        fresh = {self.identify(name): told for name, told in reversed(list(lessons.items())) if name not in known}
        if fresh:
            apps = np.repeat(np.array(list(fresh), np.intp), [len(told) for told in fresh.values()])
            told = np.concatenate(list(fresh.values()))
            self.learn(apps, told[:, 0], told[:, 1])

    def _sum_up(self, apps: NDArray[np.intp]) -> None:
        """Form anew what is asked for about apps whose rings have changed."""
        rings = self._rings[apps]
        tops = self._tops[:, :, apps] = rings.max(axis=1).transpose(1, 2, 0)
        # A pod that was first met when it was old has no ramp: it may still have been growing.
        if self._trusting:
            known = (rings[:, :, 1] > 0).sum(axis=1) >= ENOUGH
            self._limits[:, apps] = np.where(known.T & np.isfinite(self.beyond), tops[0], np.inf)
        self._spreads[:, :, apps] = spreads(rings)
        self._news.update(apps.tolist())

    @property
    def news(self) -> bool:
        """Whether `newly` has anything to tell."""
        return bool(self._news)

    def newly(self, apps: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these apps have learned since this was last asked."""
        fresh = np.zeros(len(self._seen), np.bool_)
        fresh[list(self._news)] = True
        self._news.clear()
        return fresh[apps]

    def expected(self, app: int) -> tuple[Floats, Floats]:
        """Learned peak and ramp of an app; zeros while nothing is known."""
        return self._tops[0, :, app].copy(), self._tops[1, :, app].copy()

    def tops(self, apps: NDArray[np.intp]) -> Floats:
        """Kind × pod: the learned peaks of these apps; zeros while nothing is known."""
        tops: Floats = self._tops[0].take(apps, axis=1)
        return tops

    def unknown(self, apps: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which of these are apps of which no pod has told anything yet."""
        unknown: NDArray[np.bool_] = (self._seen[apps] == 0) & (apps != NO_APP)
        return unknown

    def spread(self, apps: NDArray[np.intp], kind: int) -> tuple[Floats, Floats]:
        """Mean and variance of what the pods of these apps came to use, of one kind; NaN where too few were watched."""
        mean, variance = self._spreads[kind]
        return mean[apps], variance[apps]  # half the time of `take`

    def caps(self, apps: NDArray[np.intp], uses: Floats) -> Floats:
        """Kind × pod: max(own use, the app's peak) × (1 + margin) where the app is known, else infinite."""
        return scaled(np.maximum(self._limits.take(apps, axis=1), uses), self.beyond)

    def of_new_pod(self, app: int) -> tuple[Floats, Floats]:
        """Floor and cap of a pod that has not begun."""
        return self._tops[0, :, app], scaled(self._limits[:, app], self.beyond[:, 0])

    def correct(self, apps: NDArray[np.intp], uses: Floats, reaches: Floats) -> None:
        """Pods (kind × pod) that use more than their app is known for say so at once, and when they came there."""
        more = self.outgrown(apps, uses)
        ramps = np.maximum(self._tops[1].take(apps[more], axis=1), reaches.take(more, axis=1))
        self.learn(apps[more], uses.take(more, axis=1).T, ramps.T)

    def young(self, apps: NDArray[np.intp], ages: Floats) -> NDArray[np.bool_]:
        """Kind × pod: whether pods of its app have been seen to grow at this age and later."""
        young: NDArray[np.bool_] = ages < LATE * self._tops[1].take(apps, axis=1)
        return young

    def young_for_life(self, app: int) -> bool:
        """Whether pods of the app may grow at any age, of some kind."""
        return bool((self._tops[1, :, app] >= FOR_LIFE).any())

    def outgrown(self, apps: NDArray[np.intp], uses: Floats) -> NDArray[np.intp]:
        """Which pods (kind × pod) use more than their app is known for."""
        more = uses > self._limits.take(apps, axis=1)
        return np.flatnonzero(more.any(axis=0)) if more.any() else np.zeros(0, np.intp)

    def floors(self, apps: NDArray[np.intp], ages: Floats) -> Floats:
        """Kind × pod: the app's peak while the pod is younger than the app's ramp, else 0."""
        floors: Floats = np.where(self.young(apps, ages), self._tops[0].take(apps, axis=1), 0.0)
        return floors

    def _new_id(self) -> int:
        if len(self._ids) >= self._limit:
            self._forget_some()
        if self._free:
            recycled = self._free.pop()
            self._rings[recycled] = 0.0
            self._seen[recycled] = 0
            self._sum_up(np.array([recycled]))
            return recycled
        self._rings = grown(self._rings, 0, len(self._ids) + 2)
        self._spreads = grown(self._spreads, 2, len(self._ids) + 2, np.nan)
        self._seen = grown(self._seen, 0, len(self._ids) + 2)
        self._tops = grown(self._tops, 2, len(self._ids) + 2)
        self._limits = grown(self._limits, 1, len(self._ids) + 2, np.inf)
        return len(self._ids) + 1

    def _forget_some(self) -> None:
        """Free the ids of apps asked for longest ago that have no pods; where all have, as many more are allowed."""
        held = np.zeros(len(self._seen), np.bool_)
        held[self._in_use()] = True
        old = list(islice((name for name, at in self._ids.items() if not held[at]), self._some))
        self._free += [self._ids.pop(name) for name in old]
        self._limit += self._some - len(old)


def spreads(rings: Floats) -> Floats:
    """Kind × (mean, variance) × app of the lessons of some apps, app × pod × (peak, ramp) × kind."""
    peaks, ramps = rings.transpose(2, 1, 3, 0)  # each pod × kind × app
    watched = ramps > 0
    count = watched.sum(axis=0)
    enough = np.where(count >= ENOUGH, count, np.nan)
    mean = reduce(np.add, np.where(watched, peaks, 0.0)) / enough
    variance = reduce(np.add, np.where(watched, (peaks - mean) ** 2, 0.0)) / enough
    return np.stack([mean, variance], axis=1)


def scaled(peaks: Floats, beyond: Floats) -> Floats:
    """Peaks and their margin; infinite where either is."""
    finite = np.isfinite(beyond)
    return peaks * beyond if finite.all() else np.where(finite, peaks * np.where(finite, beyond, 1.0), np.inf)
