"""Room with a stated risk: how much the pods of a node will use at most, exceeded with a probability that is chosen.

For every node, and each kind of resource apart, at every sample:

    a pod's level ℓ and variance v   exponentially weighted over what it used: newest samples count most
    what is expected of a pod        μ = (n·ℓ + k·p) / (n + k)   n seconds watched; p what pods of its app, or where
                                     that is not known pods in general, use of such a request
    its variance                     (n·v + K·w) / (n + K)  +  τ²·k / (n + k)
    a node                           centre m = Σ μ,  spread s = √ Σ over apps of (Σ over its pods of √variance)²,
                                     above m at least a thousandth of Σ requests
    the promise                      peak = min(m + z·s, Σ requests),  room = Σ requests − peak;
                                     never below what is used at that moment, of memory nine tenths of it; where more
                                     memory is used than requested, that takes the place of Σ requests

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

from slackwater.estimation.podmatrix import blocks, grown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

HALF_LIFE = 3600.0  # seconds after which a sample counts half
NEXT_TO_NOTHING = 1e-150  # the least request whose square is a number above 0
LEAST = 1e-3  # of w / τ²: nothing is so steady that a pod which was never seen counts by its own use
LOWEST = 0.9  # of the memory that is used at a moment: no promise made then is below it
STEADIEST = 1e-3  # of Σ requests: no spread above the centre is below it
CLOSE = 1e-9  # of Σ requests: sums of the same numbers in another order differ by less
TRUST = 3600.0  # K: seconds watched after which a pod's own variance counts as much as what is usual


@dataclass(slots=True)
class PodLevels:
    """What is known of each pod by its own use: arrays over pods, or of several kinds at once, kind × pod."""

    seen: Floats  # n, seconds watched, of all kinds alike
    level: Floats  # ℓ
    variance: Floats  # v

    @classmethod
    def empty(cls, pods: int, kinds: int | None = None) -> PodLevels:
        """Pods of which nothing was seen."""
        shape = (pods,) if kinds is None else (kinds, pods)
        return cls(np.zeros(pods), np.zeros(shape), np.zeros(shape))

    def reserve(self, size: int, *, exact: bool = False) -> None:
        """Make room for so many pods; `exact`: and for no more."""
        for name in ("seen", "level", "variance"):
            values = grown(getattr(self, name), -1, size)
            setattr(self, name, values[..., :size] if exact else values)

    def drop(self, pod: int) -> None:
        """Take one out; those behind it move up."""
        self.seen, self.level, self.variance = (
            np.delete(each, pod, axis=-1) for each in (self.seen, self.level, self.variance)
        )

    def take(self, pods: Rows | slice) -> PodLevels:
        """Some of them."""
        return PodLevels(self.seen[pods], self.level[..., pods], self.variance[..., pods])

    def of(self, kind: int) -> PodLevels:
        """One kind of several."""
        return PodLevels(self.seen, self.level[kind], self.variance[kind])

    def forget(self, pods: NDArray[np.bool_] | Rows) -> None:
        """Other pods have come into these places."""
        self.seen[pods] = 0.0
        self.level[..., pods] = self.variance[..., pods] = 0.0

    def sample(
        self, use: Floats, dt: Floats | float, half_life: float = HALF_LIFE, at: Rows | slice = slice(None)
    ) -> None:
        """Take in one sample of some pods (all): the mean of all samples at first, then the weighted one.

        `dt` are the seconds since the last sample, above 0.
        """
        for block in blocks(use.shape[-1]):
            since = dt[block] if isinstance(dt, np.ndarray) and len(dt) > 1 else dt
            self._sample(use[..., block], since, half_life, _part(at, block))

    def _sample(self, use: Floats, dt: Floats | float, half_life: float, at: Rows | slice) -> None:
        seen, level, variance = self.seen[at], self.level[..., at], self.variance[..., at]
        seen += dt
        weight = np.maximum(dt / seen, 1.0 - 0.5 ** (dt / half_life))
        off = use - level
        moved = weight * off
        level += moved
        off *= moved
        variance += off
        variance *= np.subtract(1.0, weight, out=weight)
        if not isinstance(at, slice):  # those of a slice were the arrays themselves
            self.seen[at], self.level[..., at], self.variance[..., at] = seen, level, variance


def _part(at: Rows | slice, block: slice) -> Rows | slice:
    """A block of the places in `at`."""
    if not isinstance(at, slice):
        return at[block]
    begin = at.start or 0
    return slice(begin + block.start, begin + block.stop)


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
    weight, share = levels.seen / (levels.seen + trust), np.empty(len(request))
    total = told = within = 0.0
    for part in blocks(len(request)):
        asked, asking = request[part], request[part] > NEXT_TO_NOTHING
        if not asking.all():
            asked, weight[part] = np.where(asking, asked, 1.0), np.where(asking, weight[part], 0.0)
        np.divide(levels.level[part], asked, out=share[part])
        total += float(weight[part].sum())
        told += float(weight[part] @ share[part])
        within += float(weight[part] @ (levels.variance[part] / asked**2))
    if total <= 0:
        return Usual()
    mean = told / total
    between = sum(float(weight[part] @ (share[part] - mean) ** 2) for part in blocks(len(request)))
    return Usual(mean, within / total, between / total)


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
    level, variance = np.empty(len(request)), np.empty(len(request))
    for part in blocks(len(request)):
        told = None if prior is None else (prior[0][part], prior[1][part])
        _expect(levels.take(part), request[part], known, told, trust, (level[part], variance[part]))
    centre = summed(home, level, nodes)
    if together is not None:
        variance = summed(together.group, np.sqrt(variance, out=variance), len(together.home))
        variance *= variance
        home = together.home
    return Outlook(centre, np.sqrt(summed(home, variance, nodes)))


def _expect(
    levels: PodLevels,
    request: Floats,
    known: Usual,
    prior: tuple[Floats, Floats] | None,
    trust: float,
    out: tuple[Floats, Floats],
) -> None:
    """Work out what is expected of each pod, and its variance; into `out`."""
    told = levels.seen / (levels.seen + trust)
    own = told if known.noise == 1.0 else levels.seen / (levels.seen + trust * known.noise)
    level, spread = np.multiply(own, levels.level, out=out[0]), np.multiply(told, levels.variance, out=out[1])
    rest = 1.0 - own
    square = request**2
    if known.variance:
        spread += (1.0 - told) * (known.variance * square)
    mean, between = prior or (None, None)
    level += rest * _or_else(mean, known.mean, request)
    spread += rest * _or_else(between, known.between, square)


def _or_else(found: Floats | None, share: float, whole: Floats) -> Floats:
    """What is known, and a share of the whole where that is NaN."""
    if found is None:
        return share * whole
    unknown = np.isnan(found)
    return np.where(unknown, share * whole, found) if unknown.any() else found


class Together(NamedTuple):
    """Pods that rise together: the group of each pod, and the node of each group."""

    group: Rows
    home: Rows


def by_app(home: Rows, apps: Rows, no_app: int = 0) -> Together:
    """The pods of one app on one node are a group; a pod without an app is one by itself."""
    alone = np.flatnonzero(apps == no_app)
    label = home * np.intp(apps.max(initial=0) + 1) + apps
    label[alone] = -1 - alone
    # Label and place as one number: sorting plain numbers takes a tenth of the time that `np.unique` takes for places.
    bits = len(label).bit_length()
    keys = np.sort((label << bits) | np.arange(len(label)))
    order, label = keys & ((1 << bits) - 1), keys >> bits
    begins = np.ones(len(label), np.bool_)
    np.not_equal(label[1:], label[:-1], out=begins[1:])
    group = np.empty(len(label), np.intp)
    group[order] = np.cumsum(begins) - 1
    return Together(group, home[order[begins]])


def summed(home: Rows, amounts: Floats, nodes: int) -> Floats:
    """Σ of the amounts of each node's pods."""
    return np.bincount(home, amounts, minlength=nodes).astype(np.float64, copy=False)


def unread_use(wanted: Floats, home: Rows, left: Floats) -> Floats:
    """What pods are taken to use that run and have no reading: as wanted, or where less is left on a node, parts of it.

    `left` is by node the use that was measured there beside that of pods which have a reading.
    """
    wants = summed(home, wanted, len(left))
    share = np.divide(np.maximum(left, 0.0), wants, out=np.zeros(len(left)), where=wants > 0)
    found: Floats = wanted * np.minimum(share, 1.0)[home]
    return found


def steadied(expected: Outlook, above: NDArray[np.bool_], requests: Floats) -> Outlook:
    """The same with the spread that counts: above the centre at least STEADIEST · Σ requests.

    Where use has not moved for long its spread comes to nothing. What then grew once would have a score without
    bounds, by which all requests would be promised for long, and what never moves would have no score at all.
    """
    return Outlook(expected.centre, np.maximum(expected.spread, np.where(above, STEADIEST, CLOSE) * requests))


def floor(used: Floats, *, compressible: bool) -> Floats:
    """The least that is promised for each node, by what is used at that moment."""
    return used if compressible else LOWEST * used


def cut(requests: Floats, used: Floats, *, compressible: bool) -> Floats:
    """The most that is promised for each node: Σ requests, of memory at least what is used at that moment.

    Pods that use more CPU than they ask for make way for others; memory that is used cannot be given out again.
    """
    return requests if compressible else np.maximum(requests, used)


def promised(
    expected: Outlook,
    factor: float | Floats,
    requests: Floats,
    least: Floats | float = 0.0,
    most: Floats | None = None,
) -> Floats:
    """The peak that is promised for each node: min(max(m + z·s, least), most); most is Σ requests if not given."""
    most = requests if most is None else most
    if not np.isfinite(factor).all():
        return most.copy()
    centre, spread = steadied(expected, np.greater(factor, 0), requests)
    peak: Floats = np.clip(centre + factor * spread, np.minimum(least, most), most)
    return peak
