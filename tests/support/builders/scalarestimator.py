"""Paper 000's equations for one node and one kind of resource: tests hold the estimator of all nodes against them.

State is split as E = B + Σ ρ_J, which is exactly equations 1-4 of the paper:

    allocation (eq. 2)   ρ_J = RR_J
    sample (eqs 1, 3)    B ← (1−a)·B + a·U;  ρ_J ← (1−a)·ρ_J;  if B + Σρ < U then B = U − Σρ
    finish (eq. 4)       drop ρ_J = (1−a)^n·RR_J

B is what has been learned from measurement, ρ_J what is still believed of J's request.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from slackwater.errors import UnknownName
from slackwater.estimation.mode import ALPHA, TAU0, Mode
from slackwater.validation import amount, fraction, positive


def effective_alpha(alpha: float, dt: float, tau0: float) -> float:
    """Damping of one sample after `dt` seconds: a_eff = 1 − (1−a)^(dt/tau0), so that the period does not matter."""
    return 1.0 - float((1.0 - alpha) ** (dt / tau0))


def resized(residual: float, before: float, after: float) -> float:
    """What is still believed after a resize: growth counts in full at once, a smaller request shrinks in proportion."""
    return residual + after - before if after >= before else residual * after / before


def shortfall(floor: float, request: float, residual: float, use: float) -> float:
    """What a young pod's part of E lacks to its floor, max(own use, learned peak of its app).

    Its part is u + (ρ/RR)·max(0, RR − u): the closed form of E under constant use.
    """
    believed = residual / request if request > 0 else 0.0
    return max(0.0, max(use, floor) - use - believed * max(0.0, request - use))


class Running(NamedTuple):
    """A pod found running at a restart."""

    job: Hashable
    request: float
    use: float
    age: float  # seconds since its container started, not since it was bound


@dataclass(slots=True)
class Held:
    """What the estimator remembers of one pod."""

    request: float
    residual: float
    floor: float = 0.0  # learned peak of its app while it is young, else 0
    cap: float = math.inf  # what its app's pods are known to come to use; infinite while that is not known
    use: float = 0.0  # its own measured use, 0 when unknown

    @property
    def extra(self) -> float:
        """What its floor adds to the estimate."""
        return shortfall(self.floor, self.request, self.residual, self.use) if self.floor > 0 else 0.0

    @property
    def bound(self) -> float:
        """The most it may be charged for in capped mode, its use being counted in U: max(min(RR, cap), floor)."""
        return max(min(self.request, self.cap), self.floor)


class Estimator:
    """One node, one kind of resource. `start` is a known first estimate; without one the first sample sets it."""

    def __init__(
        self, alpha: float = ALPHA, tau0: float = TAU0, mode: Mode = Mode.CAPPED, start: float | None = None
    ) -> None:
        self.alpha = fraction("alpha", alpha)
        self.tau0 = positive("tau0", tau0)
        self.mode = Mode(mode)
        self.learned = 0.0 if start is None else amount("start", start)  # B
        self.used = 0.0  # U of the last sample
        self.uncovered = 0.0  # what of U no pod's request covers: the system's use
        self._primed = start is not None
        self._held: dict[Hashable, Held] = {}

    @classmethod
    def restarted(
        cls,
        system: float,
        running: Iterable[Running],
        *,
        alpha: float = ALPHA,
        tau0: float = TAU0,
        mode: Mode = Mode.CAPPED,
    ) -> Estimator:
        """Rebuild after a restart: E0 = system + Σ [u + (1−a)^(age/tau0)·max(0, RR − u)].

        ρ_J = (1−a)^(age/tau0)·RR_J as if the estimator had watched all along, and B takes the rest of E0.
        """
        estimator = cls(alpha, tau0, mode, start=system)
        estimator.used = system
        for pod in running:
            estimator.alloc(pod.job, pod.request)
            left = (1.0 - alpha) ** (amount("age", pod.age) / tau0)
            estimator._held[pod.job].residual = left * pod.request
            estimator.learned += amount("use", pod.use) - left * min(pod.use, pod.request)
            estimator.used += pod.use
        return estimator

    @property
    def reserved(self) -> float:
        """Σ of running requests."""
        return math.fsum(held.request for held in self._held.values())

    @property
    def residual(self) -> float:
        """Σ ρ: what is still believed of requests rather than measured."""
        return math.fsum(held.residual for held in self._held.values())

    @property
    def estimate(self) -> float:
        """The reported E, in the chosen mode."""
        extra = math.fsum(held.extra for held in self._held.values())
        raw = max(self.learned + self.residual, 0.0) + extra
        if self.mode is Mode.PRINTED:
            return raw
        return min(raw, max(math.fsum(held.bound for held in self._held.values()) + self.uncovered, self.used))

    @property
    def fallback(self) -> float:
        """The estimate to use when samples are stale: max(E, Σ RR). Never below reservations, never zero."""
        return max(self.estimate, self.reserved)

    def alloc(self, job: Hashable, request: float) -> None:
        """Eq. 2: the whole request counts at once. A job known already is resized."""
        amount("request", request)
        held = self._held.setdefault(job, Held(0.0, 0.0))
        held.residual = resized(held.residual, held.request, request)
        held.request = request

    def guard(self, job: Hashable, floor: float, use: float = 0.0, cap: float = math.inf) -> None:
        """Charge a young pod at least max(its use, floor), a known one in capped mode at most `cap`.

        A floor of 0 ends its youth; a cap that is infinite says that nothing is known.
        """
        held = self._find(job)
        held.floor, held.use = amount("floor", floor), amount("use", use)
        held.cap = cap if cap == math.inf else amount("cap", cap)

    def finish(self, job: Hashable) -> float:
        """Eq. 4: give back what is left of the request, and return it."""
        residual = self._find(job).residual
        del self._held[job]
        self.learned = max(self.learned, 0.0)
        return residual

    def on_sample(self, used: float, dt: float | None = None, seen: Collection[Hashable] | None = None) -> float:
        """Eqs 1 and 3 for one sample `dt` seconds after the last (default: one heartbeat). Return the new estimate.

        Only pods in `seen` decay (None: all): a pod still pulling its image has not shown what it will use.
        A sample that never came is a call that is not made: nothing decays, which is conservative.
        """
        amount("used", used)
        a = effective_alpha(self.alpha, self.tau0 if dt is None else amount("dt", dt), self.tau0)
        if self._primed:
            self.learned += a * (used - self.learned)
            self._decay(1.0 - a, seen)
        self._primed, self.used = True, used
        # Eq. 3, fast attack: the floor enters B, not the residuals, so a later finish still subtracts eq. 4 exactly.
        self.learned = max(self.learned, used - self.residual)
        return self.estimate

    def _decay(self, keep: float, seen: Collection[Hashable] | None) -> None:
        for job, held in self._held.items():
            if seen is None or job in seen:
                held.residual *= keep

    def _find(self, job: Hashable) -> Held:
        try:
            return self._held[job]
        except KeyError:
            raise UnknownName("job", str(job), map(str, self._held)) from None
