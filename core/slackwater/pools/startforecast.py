"""When a waiting app will start: an interval, from a forecast and from what earlier forecasts missed.

Two forecasts are made when an app is first seen to wait: when enough slots come free (`releases`, paper 004), and its
place in the line times the time between the last starts (`pace`). Neither is believed as it stands. What earlier ones
of the same kind missed, as log((1 + real wait) / (1 + forecast)), is kept, and its quantiles make the interval: split
conformal prediction. Of the two forecasts the one whose misses were the least spread is taken.

Loads change, so quantiles of the past drift. The share of misses that is aimed at is corrected after every start
(adaptive conformal inference, Gibbs and Candès 2021): more misses than aimed at make the next interval wider.

An app that has waited for a while has shown that its wait is not one of the short ones: only misses that lead to a
longer wait than it had so far count for it; where too few are left, no interval is told. An app that came before enough
was known is not told so either: what the first of a burst missed says nothing of the last of it. At nine o'clock (180
apps within three seconds) 8 % of the intervals held that were made so. It is forecast anew, from where it stands
(`laterlooks`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from slackwater.validation import TOLERANCE, amount, clip

COVERAGE = 0.8  # the share of starts that shall lie inside
STEP = 0.05  # how far one start corrects the share aimed at
BOUNDS = (0.02, 0.5)  # shares outside that may be aimed at
KEPT = 200  # misses of a class that are remembered: some hours of a busy queue
FEWEST = 10  # misses without which no interval is made
# Between the least and the most of n waits a new one lies with the probability (n − 1) / (n + 1): 80 % need nine.
ENOUGH = 9
RECENT = 10  # starts that the pace is taken from

TOO_FEW = "{needed} apps like it must have waited and started since counting began; so far: {count}"
NO_FORECAST = "no running phase tells when room comes free, and nothing has started yet"
EARLY = "it came before {needed} apps like it had waited and started, and those that came with it say little about it"
OUTLASTED = (
    "it has waited for longer than all but {left} of the last {count} apps like it, too few to tell when it starts"
)


class Source(StrEnum):
    """What a forecast is made from."""

    RELEASES = "releases"  # when enough slots come free
    PACE = "pace"  # place in the line × time between starts


Forecasts = Mapping[Source, float]  # seconds until the start


@dataclass(frozen=True, slots=True)
class StartInterval:
    """Seconds from now between which the start lies, in four cases of five, and the middle of what is expected."""

    low: float
    middle: float
    high: float
    source: Source


@dataclass(frozen=True, slots=True)
class Misses:
    """What forecasts of one class of apps missed, newest last; and the share outside that is aimed at now."""

    errors: Mapping[Source, tuple[float, ...]] = field(default_factory=dict)
    outside: float = 1 - COVERAGE

    @property
    def count(self) -> int:
        """How many starts are known."""
        return max(map(len, self.errors.values()), default=0)


def pace(position: int, starts: Sequence[float], now: float) -> float | None:
    """Place in the line × mean time between the last starts; None before the first start."""
    recent = starts[-RECENT:]
    return max(1, position) * max(0.0, now - recent[0]) / len(recent) if recent else None


def interval(forecasts: Forecasts, misses: Misses, waited: float = 0.0) -> StartInterval | str:
    """The interval of an app's start, or why it is not known. `forecasts` are those of when it was first seen."""
    amount("waited", waited)
    if not forecasts:
        return NO_FORECAST
    known = {source: misses.errors.get(source, ()) for source in forecasts}
    usable = {source: errors for source, errors in known.items() if len(errors) >= FEWEST}
    if not usable:
        return TOO_FEW.format(count=misses.count, needed=FEWEST)
    source = min(usable, key=lambda each: (_spread(usable[each]), each))
    waits = sorted(math.expm1(math.log1p(forecasts[source]) + error) for error in usable[source])
    left = [wait for wait in waits if wait > waited] if waited else [max(0.0, wait) for wait in waits]
    if len(left) < ENOUGH:
        return OUTLASTED.format(left=len(left), count=len(waits))
    low, middle, high = (_quantile(left, share) for share in (misses.outside / 2, 0.5, 1 - misses.outside / 2))
    return StartInterval(low - waited, middle - waited, high - waited, source)


@dataclass(frozen=True, slots=True)
class Quantiles:
    """Of what forecasts of one source missed: how far they spread, and where their low, middle and high end are."""

    spread: float
    low: float
    middle: float
    high: float


def quantiles(misses: Misses, alike: int = 1) -> Mapping[Source, Quantiles]:
    """What `at_once` needs of misses, put in order once for the many apps that are asked about at a moment.

    `alike`: so many of them are of one app, and tell no more than one.
    """
    found = {}
    for source, errors in misses.errors.items():
        if len(errors) >= FEWEST:
            ordered = sorted(errors)
            low, high = (_quantile(ordered, share, alike) for share in (misses.outside / 2, 1 - misses.outside / 2))
            found[source] = Quantiles(_spread(ordered), low, _quantile(ordered, 0.5), high)
    return found


def at_once(forecasts: Forecasts, known: Mapping[Source, Quantiles]) -> StartInterval | None:
    """What `interval` says of an app that is forecast now, or None; the same numbers without a sort."""
    usable = [source for source in forecasts if source in known]
    if not usable:
        return None
    source = min(usable, key=lambda each: (known[each].spread, each))
    base, found = math.log1p(forecasts[source]), known[source]
    low, middle, high = (max(0.0, math.expm1(base + error)) for error in (found.low, found.middle, found.high))
    return StartInterval(low, middle, high, source)


def learn(misses: Misses, forecasts: Forecasts, made: StartInterval | None, wait: float) -> Misses:
    """Take in an app that started after `wait` seconds; `made` is the interval that was told when it was first seen."""
    errors = dict(misses.errors)
    for source, seconds in forecasts.items():
        errors[source] = (*errors.get(source, ()), missed(wait, seconds))[-KEPT:]
    if made is None:
        return replace(misses, errors=errors)
    return corrected(Misses(errors, misses.outside), float(not made.low <= wait <= made.high))


def corrected(misses: Misses, outside: float) -> Misses:
    """The share outside that is aimed at, after an app of whose intervals this share was wrong."""
    moved = misses.outside + STEP * ((1 - COVERAGE) - outside)
    return replace(misses, outside=clip(moved, *BOUNDS))


def missed(wait: float, forecast: float) -> float:
    """log((1 + real wait) / (1 + forecast)): relative where waits are long, and finite where they are none."""
    return math.log1p(amount("wait", wait)) - math.log1p(amount("forecast", forecast))


# The k-th of n with k = ⌈share · (n + 1)⌉ covers a new one with that probability (n finite). Where a of them
# always come together, only n / a count: ⌈share · (n / a + 1)⌉ groups of a are ⌈share · (n + a)⌉ values.
def _quantile(values: Sequence[float], share: float, alike: int = 1) -> float:
    count = len(values)
    rank = math.ceil(max(share, 1 - share) * (count + alike) - TOLERANCE)
    return values[int(clip(rank if share >= 0.5 else count + 1 - rank, 1, count)) - 1]


def _spread(errors: Sequence[float]) -> float:
    ordered = sorted(errors)
    return _quantile(ordered, (1 + COVERAGE) / 2) - _quantile(ordered, (1 - COVERAGE) / 2)
