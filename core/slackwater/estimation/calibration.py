"""How far a node's use goes beyond what was expected of it, learned from earlier promises.

Every quarter of an hour the promise made for each node is put aside. Over the horizon the use of the same pods is
watched, and then the promise has a score,

    score = (min(peak of those pods, their requests) − m) / s        m, s as they were expected (see `risk`); above m
                                                                     s is at least a thousandth of the requests

Where no promise is below what is used when it is made (CPU), one above which nothing came later would have been kept
with any z. It holds nothing against z: its score is the least there is.

The factor z of the next promises is the score that is exceeded with the asked probability, over all nodes of a class:
split conformal prediction, which needs no assumption about the form of the distribution. Further out than scores were
seen, the tail is taken as exponential (peaks over a threshold). Three corrections, all to the safe side: few scores,
and neighbours that tell the same story, leave z uncertain, and a tenth of a standard error is taken off the
probability; below 0.25 %, where hardly anything was ever seen, half of it is left; and where clearly more promises were
exceeded of late than asked, on all nodes or on those of one type of machine, z is taken for a smaller one there until
that has ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.errors import BadNumber
from slackwater.estimation.risk import CLOSE, Outlook, steadied, summed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.intp]

RISK = 0.01  # of a promise being exceeded within the horizon
HORIZON = 6 * 3600.0  # seconds; how long a promise is to hold
EVERY = 900.0  # seconds between promises that are put aside; what was exceeded is soon over, and many tell more
SCORES = 40_000  # scores kept per class: with EVERY four days of 100 nodes
SPAN = 86_400.0  # seconds that scores reach back at least: of promises for many nodes some are kept
ENOUGH = 100  # scores without which a class is young and nothing is promised
TAIL = 0.05  # share of the scores that the exponential tail is fitted on
FEW = 100  # scores above z without which the fitted tail decides
NARROWEST = 0.125  # the least share of the asked risk that z is taken for
FADE = 0.9928  # of what was exceeded, in EVERY seconds: a half-life of a day
SAFE = 0.1  # standard errors of the rate that are taken off it while few scores are known
RARE = 0.5  # share of a risk so small that even SCORES scores hold fewer than FEW beyond z: its tail is a guess
NOTHING_CAME = -10.0  # the score of a promise that was never tested: no more was used than when it was made
MACHINES = 32  # types of machines that are told apart
MISSED = 0.1  # of a horizon without samples with which a promise is judged: so many of those exceeded may escape us
ERRORS = 2.0  # standard errors by which the realised rate is above the asked one before the margin widens


def sufficient(values: Floats, shares: Sequence[float]) -> Floats:
    """For each share of the time, what suffices for it: the value of rank ⌈share·(n + 1)⌉ of n, at most the largest.

    That many of the values seen are enough for the next one too, with this probability (split conformal prediction).
    """
    ranks = np.ceil(np.asarray(shares) * (len(values) + 1) - 1e-9).astype(np.intp)
    found: Floats = np.sort(values)[np.clip(ranks, 1, len(values)) - 1]
    return found


def tail_quantile(scores: Floats, risk: float) -> float:
    """The score that is exceeded with probability `risk`.

    It is read off (`sufficient`) where at least FEW scores lie above. Further out it is that of an
    exponential tail, u + mean excess · ln(TAIL / risk), u the score exceeded by TAIL of them; or what was read off,
    if that is larger. Where fewer than TAIL of the promises were tested, the tail is made of those.
    """
    count = len(scores)
    read = float(sufficient(scores, [1.0 - risk])[0])
    if risk >= TAIL or risk * count >= FEW:
        return read
    tail, share = np.sort(scores)[int(np.ceil((1.0 - TAIL) * count)) - 1 :], TAIL
    if tail[0] <= NOTHING_CAME:
        tail = tail[tail > NOTHING_CAME]
        share = len(tail) / count
    if share <= risk:
        return read
    return max(read, float(tail[0] + (tail - tail[0]).mean() * np.log(share / risk)))


def _some(scores: Floats, most: int, turn: int) -> Floats:
    """At most so many of them, evenly by node; other nodes' at every turn."""
    stride = -(-len(scores) // most) or 1
    return scores[turn % stride :: stride]


@dataclass(frozen=True, slots=True)
class Kept:
    """How many promises were compared of late, and how many of them were exceeded."""

    promises: float = 0.0
    exceeded: float = 0.0

    @property
    def realised(self) -> float:
        """The share that was exceeded."""
        return self.exceeded / self.promises if self.promises else 0.0

    def after(self, promises: int, exceeded: int, fade: float = FADE) -> Kept:
        """With some more; older ones fade."""
        return Kept(fade * self.promises + promises, fade * self.exceeded + exceeded)


class MachineTypes(NamedTuple):
    """The types of machines that some nodes are of: their names, and which of these each node has."""

    names: tuple[str, ...]
    codes: Rows

    @classmethod
    def of(cls, machines: Sequence[str]) -> MachineTypes:
        """Told apart by name, in the order of the alphabet."""
        names = sorted(set(machines))
        places = {name: at for at, name in enumerate(names)}
        return cls(tuple(names), np.array([places[machine] for machine in machines], np.intp))

    def at(self, rows: Rows) -> MachineTypes:
        """Those of some of the nodes."""
        return MachineTypes(self.names, self.codes[rows])


class PromiseScores(NamedTuple):
    """What became of a promise, node by node; nodes of which nothing was measured or asked for are not judged."""

    scores: Floats
    exceeded: NDArray[np.bool_]
    rows: Rows


@dataclass(slots=True)
class Calibration:
    """The scores of all nodes, and how many promises were exceeded, also by type of machine."""

    risk: float = RISK
    overlap: float = HORIZON / EVERY  # promises open at once: their scores tell about as much as one
    every: float = EVERY  # seconds between promises that are put aside
    least: int = 1  # promises compared without which it is young: those of many nodes at one moment tell one story
    count: int = 0  # scores kept
    kept: Kept = field(default_factory=Kept)
    machines: dict[str, Kept] = field(default_factory=dict)
    _scores: list[Floats] = field(default_factory=list)
    _most: int = SCORES  # scores kept of one promise
    _turn: int = 0  # promises compared
    _factors: dict[float, float] = field(default_factory=dict)  # z by the probability it is taken for

    def __post_init__(self) -> None:
        if not 0 < self.risk < 1:
            raise BadNumber("risk", self.risk, "give a probability between 0 and 1, for example 1%")

    @property
    def _fade(self) -> float:
        """Of what was exceeded, from one promise to the next."""
        return float(FADE ** (self.every / EVERY))

    @property
    def young(self) -> bool:
        """Whether too little was compared yet to promise anything."""
        return self.count < ENOUGH or self.one_story

    @property
    def one_story(self) -> bool:
        """Whether fewer promises than `least` were compared, of however many nodes."""
        return len(self._scores) < self.least

    @property
    def _span(self) -> float:
        """Promises that scores reach back at least: those of SPAN seconds, and so many that it is not young."""
        return max(SPAN / self.every, self.least)

    @property
    def asked(self) -> float:
        """The probability that z is taken for on nodes of no type."""
        return self._asked(self.kept)

    def _asked(self, kept: Kept) -> float:
        """The probability that z is taken for, where promises were kept so well.

        risk · (1 − SAFE / √(1 + risk · n / overlap)), n scores, and RARE of it for small risks; times (risk / r)² where
        even r, the realised rate less ERRORS standard errors, is above the risk.
        """
        known = 1.0 if self.risk * SCORES >= FEW else RARE
        certain = known - known * SAFE / math.sqrt(1.0 + self.risk * self.count / self.overlap)
        surely = kept.exceeded - ERRORS * math.sqrt(kept.exceeded * self.overlap)
        above = surely / (self.risk * kept.promises) if surely > 0 else 0.0
        return self.risk * max(NARROWEST, certain / max(1.0, above) ** 2)

    @property
    def factor(self) -> float:
        """z; infinite while the class is young, so that Σ requests are promised."""
        return self.factor_of("")

    def factor_of(self, machine: str) -> float:
        """Z on nodes of one type: wider than elsewhere where more of their promises were exceeded than asked."""
        if self.young:
            return np.inf
        own = self.machines.get(machine)
        asked = self.asked if own is None else min(self.asked, self._asked(own))
        found = self._factors.get(asked)
        if found is None:
            found = self._factors[asked] = tail_quantile(self.scores, asked)
        return found

    @property
    def scores(self) -> Floats:
        """The scores kept."""
        return np.concatenate(self._scores) if self._scores else np.zeros(0)

    def restore(self, scores: Floats, kept: Kept, machines: Mapping[str, Kept]) -> None:
        """Begin with what became of earlier promises, unless some were compared here already."""
        if not self.count and len(scores):
            # As if they came one after the other within the span, so that they make way one after the other, too.
            parts = max(1, min(int(self._span), len(scores)))
            self._scores, self.count, self._factors = [scores[at::parts] for at in range(parts)], len(scores), {}
            self.kept, self.machines = kept, dict(machines)

    def factors(self, machines: MachineTypes) -> Floats:
        """Z of each node."""
        usual = self.factor
        by_name = [self.factor_of(name) if name in self.machines else usual for name in machines.names]
        return np.array(by_name, np.float64)[machines.codes]

    def learn(self, scores: Floats, exceeded: NDArray[np.bool_], machines: MachineTypes | None = None) -> None:
        """Take in what became of some promises, and by the type of each one's node where that is given."""
        self._factors = {}
        self._turn += 1
        self._scores.append(_some(scores, self._most, self._turn))
        self.count += len(self._scores[-1])
        while self.count - len(self._scores[0]) >= SCORES:
            if self._most == 1 or len(self._scores) > self._span:
                self.count -= len(self._scores.pop(0))
            else:
                self._most //= 2
                self._scores = [_some(each, self._most, turn) for turn, each in enumerate(self._scores)]
                self.count = sum(map(len, self._scores))
        self.kept = self.kept.after(len(exceeded), int(exceeded.sum()), self._fade)
        if machines is not None:
            self._learn_machines(exceeded, machines)

    def _learn_machines(self, exceeded: NDArray[np.bool_], machines: MachineTypes) -> None:
        """By type of machine; of more types than MACHINES those with most nodes now. One that has left fades away."""
        counts = np.bincount(machines.codes, minlength=len(machines.names)).tolist()
        broken = np.bincount(machines.codes[exceeded], minlength=len(machines.names)).tolist()
        nodes = {name: count for name, count in zip(machines.names, counts, strict=True) if name and count}
        over = dict(zip(machines.names, broken, strict=True))
        found = {
            name: self.machines.get(name, Kept()).after(nodes.get(name, 0), over.get(name, 0), self._fade)
            for name in sorted(self.machines.keys() | nodes.keys())
        }
        there = [name for name, kept in found.items() if name in nodes or kept.promises >= ENOUGH]
        most = sorted(there, key=lambda name: (nodes.get(name, 0), found[name].promises), reverse=True)
        self.machines = {name: found[name] for name in most[:MACHINES]}


@dataclass(slots=True)
class Promise:
    """One promise for every node, and the most that its pods have used since."""

    at: float
    expected: Outlook
    peak: Floats  # as promised
    requests: Floats
    used: Floats
    excused: Floats | None = None  # what was used when it was made, where a promise above which nothing came is excused
    watched: NDArray[np.bool_] = field(init=False)  # nodes that were measured then, and nearly all the time since
    missed: Floats = field(init=False)  # seconds for which they were not

    def __post_init__(self) -> None:
        self.watched = np.ones(len(self.used), np.bool_)
        self.missed = np.zeros(len(self.used))

    def reshape(self, change: Callable[[Floats], Floats]) -> None:
        """Nodes came or went. One that came later is not judged."""
        self.watched = change(self.watched.astype(np.float64)) > 0
        self.expected = Outlook(*(change(part) for part in self.expected))
        self.peak, self.requests, self.used = change(self.peak), change(self.requests), change(self.used)
        self.missed = change(self.missed)
        if self.excused is not None:
            self.excused = change(self.excused)

    def judged(self) -> PromiseScores:
        """Scores, and which promises were exceeded. What exceeds the requests themselves is not the promise's fault."""
        used = np.minimum(self.used, self.requests)
        centre, spread = steadied(self.expected, used > self.expected.centre, self.requests)
        told = self.watched & (spread > 0)
        scores = (used - centre)[told] / spread[told]
        close = CLOSE * self.requests
        if self.excused is not None:
            scores = np.where((used > self.excused + close)[told], scores, NOTHING_CAME)
        return PromiseScores(scores, (used > self.peak + close)[told], np.flatnonzero(told))


class Promises:
    """Promises put aside until their horizon is over."""

    def __init__(self, horizon: float = HORIZON, every: float = EVERY, after: float = EVERY) -> None:
        self._horizon, self._every, self._after = horizon, every, after
        self._began: float | None = None
        self._open: list[Promise] = []
        self._unseen: NDArray[np.bool_] = np.zeros(0, np.bool_)  # nodes without samples at the last look
        self._looked = -np.inf

    def put(self, promise: Promise) -> None:
        """Put a promise aside, if the last one is old enough, but none of the first `after` seconds.

        Then nobody was watched for long enough to know how much pods vary, and scores would be far too large.
        """
        if self._began is None:
            self._began = promise.at
        if promise.at - self._began < self._after:
            return
        if not self._open or promise.at - self._open[-1].at >= self._every:
            if self._unseen.any():
                promise.watched &= ~self._unseen
            self._open.append(promise)

    def places(self, home: Rows, since: Floats) -> Rows:
        """For `watch`: the first promise that is about each pod, and its node, as one number.

        A promise is about the pods that were there when it was made: those that came later do not count.
        """
        if not self._open:
            return home
        made = np.array([promise.at for promise in self._open])
        late, nodes = np.flatnonzero(since > made[0]), len(self._open[0].used)
        places = home.copy()
        places[late] += nodes * np.searchsorted(made, since[late])
        return places

    def watch(self, now: float, use: Floats, places: Rows, system: Floats | None = None) -> list[Promise]:
        """Take in a sample of all pods, and of what no pod accounts for; return the promises that are over."""
        if not self._open:
            return []
        nodes, width = len(self._open[0].used), len(self._open) + 1
        sums = summed(places, use, width * nodes).reshape(width, nodes)
        if system is not None:
            sums[0] += system
        # A pod counts for every promise made since it came.
        np.cumsum(sums, axis=0, out=sums)
        for promise, used in zip(self._open, sums, strict=False):  # the last are of pods that no promise is about
            np.maximum(promise.used, used, out=promise.used)
        over = [promise for promise in self._open if now - promise.at >= self._horizon]
        self._open = self._open[len(over) :]
        return over

    def lose(self, rows: NDArray[np.bool_], now: float, seen: Floats) -> None:
        """Nothing comes of these nodes; `seen` is when it last did, by row. To be told before a promise is put aside.

        Promises are judged by what was seen of them, unless too much was missed: all since a node was seen, though it
        is noticed only after a while.
        """
        since = np.where(self._unseen[rows], self._looked, seen[rows])
        self._unseen, self._looked = rows, now
        if len(since):
            for promise in self._open:
                promise.missed[rows] += np.maximum(now - np.maximum(since, promise.at), 0.0)
                promise.watched &= promise.missed <= MISSED * self._horizon

    def add_node(self) -> None:
        """A node came: nothing was seen of it or promised for it yet."""
        self._unseen = np.append(self._unseen, True)
        for promise in self._open:
            promise.reshape(lambda column: np.append(column, 0.0))

    def drop_node(self, row: int) -> None:
        """A node is gone, and with it what was promised for it; later rows move up by one."""
        self._unseen = np.delete(self._unseen, row)
        for promise in self._open:
            promise.reshape(lambda column: np.delete(column, row))
