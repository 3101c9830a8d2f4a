"""Room with a stated risk: how much the pods of a node will use at most, exceeded with a probability that is chosen.

For every node, and each kind of resource apart, at every sample:

    a pod's level ℓ and variance v   exponentially weighted over what it used: newest samples count most
    what is expected of a pod        μ = (n·ℓ + k·p) / (n + k)   n seconds watched; p what pods of its app, or where
                                     that is not known pods in general, use of such a request
    its variance                     (n·v + K·w) / (n + K)  +  τ²·k / (n + k)
    a node                           centre m = Σ μ,  spread s = √ Σ over apps of (Σ over its pods of √variance)²
    the promise                      peak = min(m + z·s, Σ requests),  room = Σ requests − peak

where w is the usual variance within a pod and τ² the variance between pods: one that was never seen is uncertain by
both. Pods of one app do the same work and rise together, so that their deviations add up; apps do not know of each
other, so that theirs add up as squares. K is an hour, and k = K · min(1, w / τ²): where pods differ much from each
other and little from themselves, as with memory, a pod's own first samples say more than what is usual. The factor z is
not chosen but learned from what earlier promises missed (see `calibration`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.estimation.podmatrix import grown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

HALF_LIFE = 3600.0  # seconds after which a sample counts half
LEAST = 1e-3  # of w / τ²: nothing is so steady that a pod which was never seen counts by its own use
TRUST = 3600.0  # K: seconds watched after which a pod's own variance counts as much as what is usual


@dataclass(slots=True)
class PodLevels:
    """What is known of each pod by its own use: arrays over pods."""

    seen: Floats  # n, seconds watched
    level: Floats  # ℓ
    variance: Floats  # v

    @classmethod
    def empty(cls, pods: int) -> PodLevels:
        """Pods of which nothing was seen."""
        return cls(np.zeros(pods), np.zeros(pods), np.zeros(pods))

    def reserve(self, size: int, *, exact: bool = False) -> None:
        """Make room for so many pods; `exact`: and for no more."""
        for name in ("seen", "level", "variance"):
            values = grown(getattr(self, name), 0, size)
            setattr(self, name, values[:size] if exact else values)

    def drop(self, pod: int) -> None:
        """Take one out; those behind it move up."""
        self.seen, self.level, self.variance = (np.delete(each, pod) for each in (self.seen, self.level, self.variance))

    def take(self, pods: Rows) -> PodLevels:
        """Some of them, as they are now."""
        return PodLevels(self.seen[pods], self.level[pods], self.variance[pods])

    def forget(self, pods: NDArray[np.bool_] | Rows) -> None:
        """Other pods have come into these places."""
        self.seen[pods] = self.level[pods] = self.variance[pods] = 0.0

    def sample(
        self, use: Floats, dt: Floats | float, half_life: float = HALF_LIFE, at: Rows | slice = slice(None)
    ) -> None:
        """Take in one sample of some pods (all): the mean of all samples at first, then the weighted one.

        `dt` are the seconds since the last sample, above 0.
        """
        seen, level = self.seen[at] + dt, self.level[at]
        weight = np.maximum(dt / seen, 1.0 - 0.5 ** (dt / half_life))
        off = use - level
        self.seen[at], self.level[at] = seen, level + weight * off
        self.variance[at] = (1.0 - weight) * (self.variance[at] + weight * off * off)


class Usual(NamedTuple):
    """What pods use of their request when nothing else is known, as shares of the request."""

    mean: float = 1.0  # p; until something was seen, a pod is expected to use all that it asks for
    variance: float = 0.0  # w
    between: float = 0.0  # τ²

    @property
    def noise(self) -> float:
        """How much a pod differs from itself beside how much pods differ: min(1, w / τ²), and something above 0."""
        return min(1.0, max(self.variance / self.between, LEAST)) if self.between > 0 else 1.0


def usual(levels: PodLevels, request: Floats, trust: float = TRUST) -> Usual:
    """Means over pods, each weighted by how long it was watched: n / (n + k)."""
    weight = np.where(request > 0, levels.seen / (levels.seen + trust), 0.0)
    total = float(weight.sum())
    if total <= 0:
        return Usual()
    asked = np.where(request > 0, request, 1.0)
    share = levels.level / asked
    mean = float(weight @ share) / total
    within, between = weight @ (levels.variance / asked**2), weight @ (share - mean) ** 2
    return Usual(mean, float(within) / total, float(between) / total)


class Outlook(NamedTuple):
    """What is expected of every node: the centre m and the spread s of its use."""

    centre: Floats
    spread: Floats


def outlook(
    levels: PodLevels,
    request: Floats,
    home: Rows,
    nodes: int,
    known: Usual,
    prior: tuple[Floats, Floats] | None = None,
    trust: float = TRUST,
    together: Together | None = None,
) -> Outlook:
    """The centre and spread of all nodes. `home` is each pod's node.

    `prior` holds p and τ² of each pod in the unit of its request where its app is known, and NaN elsewhere.
    `together` says which pods rise together; without it each rises by itself.
    """
    square = request**2
    mean, variance, between = known.mean * request, known.variance * square, known.between * square
    if prior is not None:
        mean = np.where(np.isnan(prior[0]), mean, prior[0])
        between = np.where(np.isnan(prior[1]), between, prior[1])
    own = levels.seen / (levels.seen + trust * known.noise)
    told = levels.seen / (levels.seen + trust)
    spread = told * levels.variance + (1.0 - told) * variance + (1.0 - own) * between
    centre = summed(home, own * levels.level + (1.0 - own) * mean, nodes)
    if together is not None:
        spread = summed(together.group, np.sqrt(spread), len(together.home)) ** 2
        home = together.home
    return Outlook(centre, np.sqrt(summed(home, spread, nodes)))


class Together(NamedTuple):
    """Pods that rise together: the group of each pod, and the node of each group."""

    group: Rows
    home: Rows


def by_app(home: Rows, apps: Rows, no_app: int = 0) -> Together:
    """The pods of one app on one node are a group; a pod without an app is one by itself."""
    alone = np.flatnonzero(apps == no_app)
    label = home * np.intp(apps.max(initial=0) + 1) + apps
    label[alone] = -1 - alone
    _, first, group = np.unique(label, return_index=True, return_inverse=True)
    return Together(group.astype(np.intp, copy=False), home[first])


def summed(home: Rows, amounts: Floats, nodes: int) -> Floats:
    """Σ of the amounts of each node's pods."""
    return np.bincount(home, amounts, minlength=nodes).astype(np.float64, copy=False)


def promised(expected: Outlook, factor: float | Floats, requests: Floats) -> Floats:
    """The peak that is promised for each node: min(m + z·s, Σ requests), and never below 0."""
    if not np.isfinite(factor).all():
        return requests.copy()
    peak: Floats = np.clip(expected.centre + factor * expected.spread, 0.0, requests)
    return peak
