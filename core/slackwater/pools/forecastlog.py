"""Which apps wait, what was forecast for each, and what became of it: the memory behind `startforecast.interval`.

The operator and the simulator tell it of the same events. It keeps misses by queue and size of the app, and by queue
alone for as long as too few apps of that size have started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import nan
from statistics import median

from slackwater.pools.laterlooks import NEWEST, Kind, LaterLooks, kinds
from slackwater.pools.startforecast import (
    EARLY,
    FEWEST,
    RECENT,
    Forecasts,
    Misses,
    Source,
    StartInterval,
    interval,
    learn,
    pace,
)

NOT_SEEN = "it has not been seen to wait"
REMEMBERED = 10_000  # judged forecasts that are kept


@dataclass(slots=True)
class Waiting:
    """An app that waits, what was told when it was first seen to, and where it stands now."""

    queue: str
    size: str
    since: float
    forecasts: Forecasts
    told: StartInterval | str
    position: int

    @property
    def early(self) -> bool:
        """Whether it came before enough was known, and is forecast anew at each look."""
        return bool(self.forecasts) and not isinstance(self.told, StartInterval)


@dataclass(frozen=True, slots=True)
class Judged:
    """A forecast whose app has started: when it was made, what it was, and how long the app really waited."""

    since: float
    told: StartInterval | str
    wait: float
    expected: float | None = None  # the middle of the interval, else the bare forecast


@dataclass(frozen=True, slots=True)
class Coverage:
    """How good the intervals were."""

    known: int  # starts with an interval
    unknown: int  # starts before enough was known
    inside: float  # share of those with an interval
    error: float  # median of |real wait − middle|, seconds
    width: float  # median width, seconds
    wait: float  # median wait, seconds


@dataclass
class ForecastLog:
    """The apps of all queues."""

    misses: dict[Kind, Misses] = field(default_factory=dict)
    starts: dict[str, deque[float]] = field(default_factory=dict)  # the last ones, by queue
    moved: dict[str, float] = field(default_factory=dict)  # when an app last came or started, by queue
    judged: deque[Judged] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    later: LaterLooks = field(default_factory=LaterLooks)
    _waiting: dict[str, Waiting] = field(default_factory=dict)
    _started: set[str] = field(default_factory=set)

    def begin(self, apps: Iterable[str]) -> None:
        """These had started before anybody looked: nobody knows when."""
        self._started.update(apps)

    def wait(self, app: str, queue: str, size: str, position: int, releases: float | None, now: float) -> None:
        """An app waits at this place of its line; `releases` is when enough slots come free, where that is known.

        The first forecast counts: it is what people plan by. One that ran before under its name has not started again.
        """
        self._started.discard(app)
        known = self._waiting.get(app)
        if known is None:
            self.moved[queue] = now
        if known is None or not known.forecasts:
            forecasts = self._forecasts(queue, position, releases, now)
            told = self._interval(queue, size, forecasts, 0.0)
            known = self._waiting[app] = Waiting(queue, size, now, forecasts, told, position)
        known.position = position
        if self.later.due(app, (queue, size), now):
            self.later.look(app, self._forecasts(queue, position, None, now), now, burst=known.early)

    def start(self, app: str, queue: str, now: float) -> None:
        """An app has started, whether it was seen to wait or not; told again it is no news."""
        if app in self._started:
            return
        self._started.add(app)
        self.moved[queue] = now
        self.starts.setdefault(queue, deque(maxlen=RECENT)).append(now)
        self.later.start(app, now)
        known = self._waiting.pop(app, None)
        if known is None:
            return
        wait = max(0.0, now - known.since)
        made = known.told if isinstance(known.told, StartInterval) else None
        expected = made.middle if made else next(iter(known.forecasts.values()), None)
        self.judged.append(Judged(known.since, known.told, wait, expected))
        for kind in kinds(known.queue, known.size):
            self.misses[kind] = learn(self.misses.get(kind, Misses()), known.forecasts, made, wait)

    def keep(self, apps: Iterable[str]) -> None:
        """Forget whoever is not among these: they are gone, started or not."""
        alive = set(apps)
        self._started &= alive
        self.later.keep(alive)
        self._waiting = {app: each for app, each in self._waiting.items() if app in alive}

    def told(self, app: str, now: float) -> StartInterval | str:
        """When a waiting app starts, from now; or why that is not known.

        One that came before enough was known, or that has waited for longer than most, is forecast anew from where it
        stands, once others like it show how good that is.
        """
        known = self._waiting.get(app)
        if known is None:
            return NOT_SEEN
        first = self._first(known, now)
        return first if isinstance(first, StartInterval) else self._anew(known, now) or first

    def _first(self, known: Waiting, now: float) -> StartInterval | str:
        """By what was forecast when it was first seen; none where that was too early."""
        if known.early:
            return EARLY.format(needed=FEWEST)
        return self._interval(known.queue, known.size, known.forecasts, max(0.0, now - known.since))

    def _anew(self, known: Waiting, now: float) -> StartInterval | None:
        forecasts = self._forecasts(known.queue, known.position, None, now)
        return self.later.told((known.queue, known.size), forecasts, now)

    @property
    def error(self) -> float | None:
        """The median error of the newest estimates, in seconds; None before the first."""
        errors = [abs(each.wait - each.expected) for each in self.judged if each.expected is not None]
        return median(errors[-NEWEST:]) if errors else None

    def error_of(self, app: str, now: float) -> float | None:
        """The error to tell beside this app's estimate: that of estimates which were made as its own was."""
        known = self._waiting.get(app)
        if known is None or isinstance(self._first(known, now), StartInterval):
            return self.error
        return median(self.later.errors) if self.later.errors else None

    def next(self, queue: str, size: str, position: int) -> StartInterval | str:
        """When an app of this size would start that came next and stood at this place; or why that is not known.

        As it was when the queue last moved: while nothing happens, nothing else is said.
        """
        return self._interval(queue, size, self._forecasts(queue, position, None, self.moved.get(queue, 0.0)), 0.0)

    def _forecasts(self, queue: str, position: int, releases: float | None, now: float) -> Forecasts:
        paced = pace(position, list(self.starts.get(queue, ())), now)
        found = {Source.RELEASES: releases, Source.PACE: paced}
        return {source: seconds for source, seconds in found.items() if seconds is not None}

    def _interval(self, queue: str, size: str, forecasts: Forecasts, waited: float) -> StartInterval | str:
        """By apps of its size, else by all of its queue."""
        found: StartInterval | str = NOT_SEEN
        for kind in kinds(queue, size):
            found = interval(forecasts, self.misses.get(kind, Misses()), waited)
            if isinstance(found, StartInterval):
                break
        return found


def coverage(judged: Sequence[Judged]) -> Coverage:
    """How good the intervals of these forecasts were; shares and medians are NaN where there are none."""
    pairs = [(each.wait, each.told) for each in judged if isinstance(each.told, StartInterval)]
    if not pairs:
        return Coverage(0, len(judged), nan, nan, nan, nan)
    return Coverage(
        known=len(pairs),
        unknown=len(judged) - len(pairs),
        inside=sum(told.low <= wait <= told.high for wait, told in pairs) / len(pairs),
        error=median(abs(wait - told.middle) for wait, told in pairs),
        width=median(told.high - told.low for _, told in pairs),
        wait=median(wait for wait, _ in pairs),
    )
