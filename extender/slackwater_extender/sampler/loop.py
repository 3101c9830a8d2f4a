"""The thread that measures: a round per heartbeat, applied to the ledger in short slices."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import structlog

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import Sample
from slackwater.nodetable import NodeTable
from slackwater_cluster.extenderapi import NodeUsage
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.metrics import Metrics
from slackwater_extender.sampler.measurement import KINDS, QueryFunction, SampleRound, UsageQuery, largest, regex
from slackwater_extender.sampler.presets import NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = structlog.get_logger(__name__)

# Nodes per hold of the lock: at 30 pods each some 3 ms.
SLICE = 500
PIECE = 2000  # pods looked up between two rests
WAITED = 12  # rounds in which pods of others are asked for until their node is measured: a minute
LONG = 60.0  # seconds; what a younger pod asks for is believed anyway


@dataclass
class SamplingLoop:
    """Samples into the ledger, again and again. `trouble` is what is wrong now, for readiness and people."""

    cache: ClusterCache
    inquiry: UsageQuery
    ask: QueryFunction | None  # None: no Prometheus is configured
    metrics: Metrics
    after: Callable[[], None] = lambda: None
    trouble: str = ""
    rounds: int = 0
    latest: SampleRound = field(default_factory=SampleRound)  # what the last round found
    newest: float = 0.0  # the newest sample's own timestamp
    asked: str = ""  # the namespaces whose pods the last round asked for, as a regular expression
    _waited: dict[str, int] = field(default_factory=dict)  # node without a sample → rounds since
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin to measure."""
        self._pool = ThreadPoolExecutor(len(NAMES), thread_name_prefix="query")
        self._thread = threading.Thread(target=self._run, name="sample", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    @property
    def sampled(self) -> bool:
        """Whether some node has been measured."""
        return self.newest > 0

    def age(self) -> float:
        """Seconds since the newest sample; infinite before the first."""
        return self.cache.wall() - self.newest if self.sampled else math.inf

    def _run(self) -> None:
        if self.ask is None:
            self.trouble = "no Prometheus is configured (prometheus.url)"
            return
        while not self._stop.is_set():
            began = self.cache.clock()
            if "nodes" in self.cache.synced and "pods" in self.cache.synced:
                self.beat(self.ask)
            rest = self.cache.ledger.terms.heartbeat - (self.cache.clock() - began)
            self._stop.wait(max(0.2, rest) if self.rounds else 0.2)

    def beat(self, ask: QueryFunction) -> None:
        """One round. Whatever goes wrong in it must not end the thread: the next one may work."""
        try:
            ledger, nodes = self.cache.ledger, dict(self.cache.nodes)
            self.asked = self._namespaces(ledger)
            found = self.inquiry.run(ask, self._pool, nodes, self.cache.names_of, self.asked)
            self.apply(found, ledger)
        except Exception as problem:
            self._told(f"{type(problem).__name__}: {problem}")
            log.exception("round failed")
            self.metrics.rounds.labels("error").inc()
        else:
            self._told("; ".join(found.troubles))
            self.metrics.rounds.labels("partial" if found.troubles else "ok").inc()
            for why, count in found.dropped.items():
                self.metrics.dropped.labels(why).inc(count)
        self.rounds += 1
        self.after()

    def apply(self, found: SampleRound, ledger: Ledger) -> None:
        """Hand a round over to the ledger that it was asked for, some nodes at a time with their pods."""
        self.latest = found
        self.cache.load = found.network
        nodes = [name for name in found.stamps if name in self.cache.nodes]
        # The ledger passes them over: they are of an earlier machine of that name.
        if older := sum(found.stamps[name] < self.cache.nodes[name].created for name in nodes):
            found.drop("older than its node", older)
        uids, uses = found.pods.joined(ledger.terms.kinds)
        table, rows = self._homes(uids, ledger)
        found.set_aside(uses, table.total, rows)
        for turn in Slice.all(nodes, uids, uses, turns(nodes, table.index)[rows]):
            with self.cache.lock.background():
                self._apply(found, turn, ledger)
        self.newest = max([self.newest, *found.stamps.values()])
        self.cache.freed.note()

    def _homes(self, uids: list[str], ledger: Ledger) -> tuple[NodeTable, NDArray[np.intp]]:
        """All nodes, and the row of each pod's node: −1 where it has none."""
        with self.cache.lock.background():
            table = ledger.table(self.cache.clock())
        found = np.full(len(uids), -1, np.intp)
        for first in range(0, len(uids), PIECE):
            with self.cache.lock.background():
                rows = ledger.homes(uids[first : first + PIECE])
            found[first : first + PIECE] = np.where(rows < len(table), rows, -1)
        return table, found

    def _apply(self, found: SampleRound, turn: Slice, ledger: Ledger) -> None:
        kinds = ledger.terms.kinds
        readings = {name: Sample(found.stamps[name], found.used(name, kinds)) for name in turn.nodes}
        strangers = [uid for name in turn.nodes for uid in self.cache.strangers(name)]
        if ledger is self.cache.ledger:  # else another was made since the round began: the next one asks for its sake
            ledger.sample_some(self.cache.clock(), readings, turn.uids, turn.uses, strangers)

    def pod_usage(self, found: SampleRound) -> dict[str, dict[str, float]]:
        """What each of our pods was measured to use, by uid and kind; what was not measured is left out."""
        pods, kinds = self.cache.index.pods, tuple(KINDS)
        uids, uses = found.pods.joined(kinds)
        made: dict[str, dict[str, float]] = {}
        for uid, values in zip(uids, uses.T.tolist(), strict=True):
            pod = pods.get(uid)
            # A kubelet goes on telling of a pod that has ended until it is deleted.
            if pod is not None and not pod.done and self.cache.managed(pod):
                made[uid] = {kind: value for kind, value in zip(kinds, values, strict=True) if not math.isnan(value)}
        return made

    def node_usage(self, found: SampleRound) -> dict[str, NodeUsage]:
        """What each node was measured to use, everything on it together, when, and whether any of it is too long ago.

        Beside it what its pods are charged: everything, and the drivers among it.
        """
        with self.cache.lock.background():
            survey = self.cache.ledger.survey(self.cache.clock())
        kinds, table = survey.table.kinds, survey.table
        used = {name: {kind: uses[name] for kind, uses in found.nodes.items() if name in uses} for name in found.stamps}
        stale, drivers = survey.stale.tolist(), survey.drivers.tolist()
        charged = (survey.estimate + survey.drivers).tolist()
        return {
            name: NodeUsage(
                measured=stamp,
                stale=any(stale[table.index[name]][kinds.index(kind)] for kind in used[name] or kinds),
                used=used[name],
                charged=dict(zip(kinds, charged[table.index[name]], strict=True)),
                drivers=dict(zip(kinds, drivers[table.index[name]], strict=True)),
            )
            for name, stamp in found.stamps.items()
            if name in table.index
        }

    def _namespaces(self, ledger: Ledger) -> str:
        """Managed namespaces; all of them while pods of others run for long on a node that was not measured yet.

        Its first sample rebuilds its estimate from what its pods use. A node that is never measured makes some rounds
        longer, not all of them; rounds that measured nobody do not count.
        """
        with self.cache.lock.background():
            waiting = ledger.unsampled()
        passed = 1 if self.latest.stamps else 0
        self._waited = {name: self._waited.get(name, 0) + passed for name in waiting}
        if any(rounds <= WAITED and self._holds_old_strangers(name) for name, rounds in self._waited.items()):
            return ".+"
        return regex(self.cache.governance.managed_namespaces())

    def _holds_old_strangers(self, node: str) -> bool:
        pods, before = self.cache.index.pods, self.cache.wall() - LONG
        found = (pods.get(uid) for uid in tuple(self.cache.strangers(node)))
        return any(pod is not None and 0 < pod.started < before for pod in found)

    def _told(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("samples", trouble=trouble)
        elif self.trouble and not trouble:
            log.info("samples are back")
        self.trouble = trouble


def turns(nodes: Sequence[str], index: Mapping[str, int]) -> NDArray[np.intp]:
    """In which turn each row's node is sampled, −1 where in none; the last entry is for pods on no node."""
    made = np.full(len(index) + 1, -1, np.intp)
    for at, name in enumerate(nodes):
        if (row := index.get(name)) is not None:
            made[row] = at // SLICE
    return made


@dataclass(frozen=True, slots=True)
class Slice:
    """Some nodes and the measured pods on them, applied under one hold of the lock."""

    nodes: Sequence[str]
    uids: list[str]
    uses: NDArray[np.float64]  # kind × pod

    @classmethod
    def all(
        cls, nodes: Sequence[str], uids: list[str], uses: NDArray[np.float64], turns: NDArray[np.intp]
    ) -> Iterator[Slice]:
        """Everything, some nodes at a time; `turns` says for each pod in which."""
        order = np.argsort(turns.astype(np.int16), kind="stable")
        edges = np.searchsorted(turns[order], np.arange(-(-len(nodes) // SLICE) + 1))
        for at, (first, last) in enumerate(pairwise(edges.tolist())):
            chosen = order[first:last]
            here = list(map(uids.__getitem__, chosen.tolist()))
            yield cls(nodes[at * SLICE : (at + 1) * SLICE], *largest(here, uses[:, chosen]))
