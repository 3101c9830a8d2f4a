"""Machines on which series are played: who is resident when, what estimators may see, and what then really came.

Every machine has `residents` places. A place is taken by one task after another without a gap: a task is a cut of a
series, of minutes to hours from anywhere in it, or the whole day. In step, every task is played at its own time of day
instead: what all have in common by the hour stays, and at midnight all end together. A series that is one task's life
(`lives`) is played from its start to its end. Every request is 100, and samples are percent of it.

The truth of a machine at a step is the peak of its present residents over the horizon,

    peak(t) = max over t ≤ s ≤ t + horizon of Σ over residents of t still there at s of use(s),

the "peak oracle" of Bashir et al., "Take it to the limit" (EuroSys 2021): tasks that arrive later are somebody's next
decision. Where residents use more than all their requests together, reservations alone overload the machine: that is
counted apart, and the truth is taken as Σ requests.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from slackwater.errors import InvalidInput
from slackwater_simulator.risk.series import STEP, UsageSeries

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]
T = TypeVar("T")

REQUEST = 100.0
SHORTEST, LONGEST = 600.0, 8 * 3600.0  # seconds; lengths between them are equally likely by their logarithm
WHOLE_DAY = 0.05  # share of the tasks that last as long as their series; they are two in five of the residents
HISTORY = 120  # samples of a task that an estimator may look back on: ten hours
MOST_DAYS = 1000
MOST_SAMPLES = 100_000_000  # seen at one step, of all tasks: with copies of them about a gigabyte


@dataclass(frozen=True, slots=True)
class Play:
    """What is played: sizes, times in steps, and the seed of every draw."""

    machines: int = 100
    residents: int = 40
    days: int = 7
    horizon: int = 72  # steps
    seed: int = 0
    whole_day: float = WHOLE_DAY  # share of the tasks that last as long as their series
    in_step: bool = False  # every task at its own time of day
    unknown_apps: float = 0.0  # share of the tasks whose app was never seen before

    def check(self, series: UsageSeries) -> None:
        """Raise an error that names the option, if this cannot be played."""
        for name, value in (("machines", self.machines), ("residents", self.residents), ("horizon", self.horizon)):
            if value < 1:
                raise InvalidInput(f"--{name}", f"{value} is too small", "give at least 1")
        for name, share in (("whole-day", self.whole_day), ("unknown-apps", self.unknown_apps)):
            if not 0 <= share <= 1:
                raise InvalidInput(f"--{name}", f"{share} is not a share", "give a number from 0 to 1")
        if self.days < 2:
            raise InvalidInput("--days", f"{self.days} is too short", "give at least 2: the first day is not counted")
        if self.days > MOST_DAYS:
            raise InvalidInput("--days", f"{self.days:,} are too many", f"give at most {MOST_DAYS:,}")
        if self.in_step and series.lives is not None:
            raise InvalidInput("--in-step", "tasks of a generator have no time of day", "leave it out, or give a file")
        counted = (self.days - 1) * series.samples.shape[1]
        if self.horizon >= counted:
            hours = counted * STEP / 3600
            raise InvalidInput(
                "--horizon", "it is as long as what is counted", f"give less than {hours:g}h, or more --days"
            )
        most = MOST_SAMPLES // (HISTORY + self.horizon)
        if self.machines * self.residents > most:
            tasks = f"{self.machines:,} times {self.residents:,} residents are too many tasks at once"
            raise InvalidInput("--machines", tasks, f"let --machines times --residents be at most {most:,}")


@dataclass(frozen=True, slots=True)
class Moment:
    """What an estimator may see at one step. Arrays are machine × place, of the tasks that are there now."""

    step: int
    use: Floats  # last sample of each task
    age: Integers  # samples seen of each task, the last included
    arrived: NDArray[np.bool_]  # tasks that came with this step
    unknown: NDArray[np.bool_]  # tasks whose app was never seen before
    history: Floats  # machine × place × sample, oldest first; −1 where a task had not begun
    request: float = REQUEST
    known: dict[Hashable, Any] = field(default_factory=dict)  # see `once`

    @property
    def requests(self) -> float:
        """Σ requests of a machine."""
        return self.request * int(self.use.shape[1])

    def once(self, what: Hashable, find: Callable[[], T]) -> T:
        """What several estimators need of this moment: the first who asks works it out."""
        if what not in self.known:
            self.known[what] = find()
        found: T = self.known[what]
        return found


@dataclass(frozen=True, slots=True)
class Truth:
    """What came, per machine: the peak over the horizon, and whether it was above Σ requests."""

    peak: NDArray[np.float64]
    overloaded: NDArray[np.bool_]
    mean_use: NDArray[np.float64]  # of a resident now: by this, an excess of memory becomes tasks lost


class Machines:
    """Plays the series step by step. The same series and `Play` always give the same days."""

    def __init__(self, series: UsageSeries, play: Play) -> None:
        play.check(series)
        self.play = play
        self._rng = np.random.default_rng(play.seed)
        self._length = int(series.samples.shape[1])
        self._series, self._lives = len(series.samples), series.lives
        shape = (play.machines, play.residents)
        # What a task showed before a sample and what comes after it, each as one window; masked by its age and end.
        self._past = sliding_window_view(np.pad(series.samples, ((0, 0), (HISTORY - 1, 0))), HISTORY, axis=1)
        self._future = sliding_window_view(
            np.pad(series.samples, ((0, 0), (0, play.horizon))), play.horizon + 1, axis=1
        )
        self._which = self._rng.integers(self._series, size=shape)
        # The first tasks are somewhere in their lives, or all that last a day would end together.
        lengths = self._lengths(self._which)
        self._begin = self._offsets(lengths, 0)  # where in its series a task begins
        self._age = np.zeros(shape, np.int64) if play.in_step else self._rng.integers(0, lengths)
        self._left = lengths - self._age  # samples still to come of each task, the present one included
        self._arrived = np.ones(shape, np.bool_)
        # Drawn apart: whatever their share, the same tasks are played.
        self._strangers = np.random.default_rng((play.seed, play.residents))
        self._unknown = self._strangers.random(shape) < play.unknown_apps

    @property
    def steps(self) -> int:
        """How many steps are played."""
        return self.play.days * self._length

    @property
    def warm_up(self) -> int:
        """Steps that are played and not counted: estimators learn, and residents get their mix of ages."""
        return self._length

    def advance(self, step: int) -> Moment:
        """Take one sample of every task, and show what is known now."""
        if step:
            self._replace(step)
        self._age += 1
        history = self._past[self._which, self._begin + self._age - 1]
        before = np.arange(HISTORY)[None, None, :] < (HISTORY - self._age)[:, :, None]
        history = np.where(before, np.float32(-1.0), history)
        return Moment(step, history[:, :, -1], self._age.copy(), self._arrived.copy(), self._unknown.copy(), history)

    def truth(self) -> Truth:
        """What the present residents will come to use together. For the judge, not for estimators."""
        future = self._future[self._which, self._begin + self._age - 1]
        there = np.arange(self.play.horizon + 1)[None, None, :] < self._left[:, :, None]
        use = np.where(there, future, np.float32(0.0)).sum(axis=1, dtype=np.float64)
        peak, most = use.max(axis=1), REQUEST * self.play.residents
        return Truth(np.minimum(peak, most), peak > most, use[:, 0] / self.play.residents)

    def _replace(self, step: int) -> None:
        """Whoever has shown the last sample makes way for the next task."""
        self._left -= 1
        gone = self._arrived = self._left <= 0
        count = int(gone.sum())
        which = self._which[gone] = self._rng.integers(self._series, size=count)
        lengths = self._lengths(which)
        begin = self._begin[gone] = self._offsets(lengths, step)
        self._left[gone] = np.minimum(lengths, self._length - begin)
        self._age[gone] = 0
        self._unknown[gone] = self._strangers.random(count) < self.play.unknown_apps

    def _offsets(self, lengths: Integers, step: int) -> Integers:
        """Where in its series each task begins: anywhere it fits, at the time of day, or a life at its start."""
        if self._lives is not None:
            return np.zeros_like(lengths)
        if self.play.in_step:
            return np.full(lengths.shape, step % self._length)
        return self._rng.integers(0, self._length - lengths, endpoint=True)

    def _lengths(self, which: Integers) -> Integers:
        """Samples of new tasks: as long as their life, where that is known."""
        if self._lives is not None:
            return self._lives[which]
        return drawn_lengths(self._rng, which.shape, self._length, self.play.whole_day)


def drawn_lengths(rng: np.random.Generator, shape: tuple[int, ...], day: int, whole_day: float) -> Integers:
    """Samples of tasks: log-uniform between the shortest and the longest, or the whole day."""
    least, most = np.log(SHORTEST / STEP), np.log(min(LONGEST / STEP, day))
    drawn = np.exp(rng.uniform(least, most, shape)).round().astype(np.int64)
    whole = rng.random(shape) < whole_day
    return np.where(whole, day, np.clip(drawn, 1, day))
