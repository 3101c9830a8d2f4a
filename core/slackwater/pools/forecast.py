"""What will be given back, and when (paper 004, eqs 1–3).

Tasks of one phase start within Δps seconds of each other and take about equally long. So once the first of them has
ended, at γ, the others end over the next Δps seconds as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from slackwater.validation import TOLERANCE, amount, clip, finite

# A wave is shown to the wait estimate as this many releases: fine enough for seconds, few enough for a sort.
PIECES = 4


class Variant(StrEnum):
    """How releases inside the window are expected."""

    INCREMENT = "increment"  # evenly over the window; late tasks are nobody's promise
    CONDITIONAL = "conditional"  # those that still run end evenly over what is left of the window


@dataclass(frozen=True, slots=True)
class Wave:
    """One phase as the forecast sees it: c containers, of which some still run; γ is None until it is known."""

    count: float
    running: float
    gamma: float | None
    spread: float  # Δps


# Paper 004, eq 3 made cumulative:  G(t) = c · clip((t − γ) / Δps, 0, 1);  a step at γ if Δps = 0
def cumulative(count: float, gamma: float, spread: float, t: float) -> float:
    """How many containers of a phase have ended by t."""
    finite("t", t)
    finite("gamma", gamma)
    if amount("spread", spread) == 0:
        return amount("count", count) if t >= gamma else 0.0
    return amount("count", count) * clip((t - gamma) / spread, 0.0, 1.0)


# f(t, h) = min(running, G(t + h) − G(t));  conditional: running · min(1, h / (γ + Δps − t))
def release(wave: Wave, t: float, horizon: float = 1.0, variant: Variant = Variant.INCREMENT) -> float:
    """How many containers of a phase will end within the horizon. Unknown γ: none, which errs on the safe side."""
    amount("horizon", horizon)
    amount("running", wave.running)
    if wave.gamma is None:
        return 0.0
    if variant is Variant.CONDITIONAL:
        return _conditional(wave, wave.gamma, t, horizon)
    until = cumulative(wave.count, wave.gamma, wave.spread, t + horizon)
    return min(wave.running, until - cumulative(wave.count, wave.gamma, wave.spread, t))


def releases(waves: Iterable[Wave], t: float, horizon: float = 1.0, variant: Variant = Variant.INCREMENT) -> float:
    """F_k: what all phases of one pool give back within the horizon. What is free already is not in it."""
    return sum(release(wave, t, horizon, variant) for wave in waves)


def _conditional(wave: Wave, gamma: float, t: float, horizon: float) -> float:
    """Those still running end evenly between now (or γ, if that is later) and the end of the window."""
    begin = max(finite("t", t), finite("gamma", gamma))
    if t + horizon < begin:
        return 0.0
    left = gamma + amount("spread", wave.spread) - begin
    within = t + horizon - begin
    return wave.running * (min(1.0, within / left) if left > 0 else 1.0)


# Remaining part of the window in equal pieces; what still runs after γ + Δps is nobody's promise
def outlook(wave: Wave, now: float, pieces: int = PIECES) -> list[tuple[float, float]]:
    """When a phase gives back what: (seconds from now, containers), a few steps of equal length."""
    if wave.gamma is None:
        return []
    begin = max(0.0, wave.gamma - finite("now", now))
    end = _until(wave.gamma + wave.spread, now)
    whole = release(wave, now, end) if end > 0 else 0.0
    if whole <= 0:
        return []
    return [(begin + (max(end, begin) - begin) * (piece + 1) / pieces, whole / pieces) for piece in range(pieces)]


def first_fit(required: float, free: float, ends: Iterable[tuple[float, float]]) -> float | None:
    """Seconds until `required` slots are free, given (seconds from now, slots) of each release; None if never."""
    have = finite("free", free)
    if have >= amount("required", required) - TOLERANCE:
        return 0.0
    for seconds, slots in sorted(ends):
        have += amount("slots", slots)
        if have >= required - TOLERANCE:
            return max(0.0, finite("seconds", seconds))
    return None


def _until(point: float, now: float) -> float:
    """Seconds from now to a moment, never a hair too few by rounding: a step at that moment would be missed."""
    seconds = point - now
    while now + seconds < point:
        seconds = math.nextafter(seconds, math.inf)
    return seconds
