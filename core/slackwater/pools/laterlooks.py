"""When an app that has waited for long will start: forecast anew from where it stands now.

The forecast of an app's arrival grows old. Of a burst, those that come while nothing is known yet would never be told
anything, and whoever has waited for longer than most would be told nothing any more. So every waiting app is looked at
again, and its place and the pace of the line give a new forecast each time. How far such later forecasts miss is
learned apart from the first ones: who is still there to be looked at again waits for longer than most.

Which looks at an app are remembered decides what is learned. The last ones before a start have little left to wait, and
alone they would promise too much. So of an app some looks are kept that lie evenly over its wait. Of one that came in a
burst, before anything was known of its like, the newest are kept: the pace of its first minutes says nothing of later.

A look that has been outlasted, by an app that still waits, counts at once with what it missed so far. Without it only
the short waits of a burst would be known, and where a line stands still, nothing would tell.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from slackwater.pools.startforecast import (
    KEPT,
    Forecasts,
    Misses,
    Quantiles,
    Source,
    StartInterval,
    at_once,
    corrected,
    learn,
    missed,
    quantiles,
)

GAP = 10.0  # seconds between two looks at one app that are learned from, at least
LOOKS = 5  # looks at one app that are remembered: one that waits for an hour must not speak for all
NEWEST = 50  # looks that the error is taken from that is told beside an estimate
FRESH = 5.0  # seconds for which what is known is not put in order anew: it serves all apps that are looked at

Kind = tuple[str, str]  # queue, and size of the app or "" for all of them


@dataclass(frozen=True, slots=True)
class Look:
    """What was forecast of an app at a moment, and what was told."""

    at: float
    forecasts: Forecasts
    told: StartInterval | None


@dataclass(slots=True)
class Looked:
    """An app that waits: its queue and size, when it was looked at last, and the looks at it after its first."""

    kind: Kind
    last: float
    looks: list[Look] = field(default_factory=list)
    gap: float = GAP

    def add(self, look: Look, *, burst: bool) -> None:
        """Remember a look: of a burst the newest, else some from all over the wait, twice as far apart as they grow."""
        self.looks.append(look)
        if len(self.looks) <= LOOKS:
            return
        if burst:
            del self.looks[0]
        else:
            self.looks, self.gap = self.looks[1::2], 2 * self.gap

    def outlasted(self, now: float) -> Iterator[tuple[Source, float]]:
        """What the looks missed whose end is over, as far as it is known."""
        for look in self.looks:
            end = look.told.high if look.told else max(look.forecasts.values())
            if now - look.at > end:
                yield from ((source, missed(now - look.at, each)) for source, each in look.forecasts.items())


@dataclass
class LaterLooks:
    """The apps that wait in all queues, and what forecasts of such apps missed."""

    misses: dict[Kind, Misses] = field(default_factory=dict)
    errors: deque[float] = field(default_factory=lambda: deque(maxlen=NEWEST))  # of intervals told: |wait − middle|, s
    _apps: dict[str, Looked] = field(default_factory=dict)
    _outlasted: dict[Kind, dict[Source, list[float]]] = field(default_factory=dict)
    _known: dict[Kind, Mapping[Source, Quantiles]] = field(default_factory=dict)
    _counted: float = -FRESH

    def due(self, app: str, kind: Kind, now: float) -> bool:
        """Whether it is time to look at this app, which waits, again. The first look is not ours (`ForecastLog`)."""
        known = self._apps.get(app)
        if known is None:
            self._apps[app] = Looked(kind, now)
            return False
        return now - known.last >= known.gap

    def look(self, app: str, forecasts: Forecasts, now: float, *, burst: bool) -> None:
        """This is forecast of an app that waits; `burst`: nothing was known of its like when it came."""
        known = self._apps[app]
        known.last = now
        if forecasts:
            known.add(Look(now, forecasts, self.told(known.kind, forecasts, now)), burst=burst)

    def start(self, app: str, now: float) -> None:
        """The app has started: every look at it is judged."""
        known = self._apps.pop(app, None)
        if known is None:
            return
        judged = [(now - look.at, look.told) for look in known.looks if look.told is not None]
        self.errors.extend(abs(wait - told.middle) for wait, told in judged)
        for kind in kinds(*known.kind):
            misses = self.misses.get(kind, Misses())
            for look in known.looks:
                misses = learn(misses, look.forecasts, None, now - look.at)
            if judged:  # one app, one correction: looks at it are alike
                outside = sum(not told.low <= wait <= told.high for wait, told in judged) / len(judged)
                misses = corrected(misses, outside)
            self.misses[kind] = misses

    def keep(self, alive: Collection[str]) -> None:
        """Forget whoever is not among these."""
        self._apps = {app: each for app, each in self._apps.items() if app in alive}

    def told(self, kind: Kind, forecasts: Forecasts, now: float) -> StartInterval | None:
        """When an app starts of which this is forecast now; None where that is not known."""
        if not 0 <= now - self._counted < FRESH:
            self._outlasted, self._counted, self._known = self._count(now), now, {}
        found = (at_once(forecasts, self._of(each)) for each in kinds(*kind))
        return next((each for each in found if each is not None), None)

    def _of(self, kind: Kind) -> Mapping[Source, Quantiles]:
        """By what was missed by looks whose apps have started, and so far by those that were outlasted."""
        if kind not in self._known:
            learned, more = self.misses.get(kind, Misses()), self._outlasted.get(kind, {})
            sources = {*learned.errors, *more}
            errors = {each: (*learned.errors.get(each, ()), *more.get(each, ()))[-KEPT:] for each in sources}
            self._known[kind] = quantiles(replace(learned, errors=errors), alike=LOOKS)
        return self._known[kind]

    def _count(self, now: float) -> dict[Kind, dict[Source, list[float]]]:
        found: dict[Kind, dict[Source, list[float]]] = {}
        for known in self._apps.values():
            for source, error in known.outlasted(now):
                for kind in kinds(*known.kind):
                    found.setdefault(kind, {}).setdefault(source, []).append(error)
        return found


def kinds(queue: str, size: str) -> tuple[Kind, ...]:
    """Whom an app is compared with: apps of its size, else all of its queue."""
    return ((queue, size), (queue, "")) if size else ((queue, ""),)
