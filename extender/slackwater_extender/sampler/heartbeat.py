"""The thread that measures: a round per heartbeat, applied to the ledger in short slices."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import structlog

from slackwater.claims import Reading
from slackwater_extender.books import Books
from slackwater_extender.metrics import Metrics
from slackwater_extender.sampler.presets import NAMES
from slackwater_extender.sampler.rounds import KINDS, Ask, Inquiry, PodUses, Round, regex

log = structlog.get_logger(__name__)

# Nodes per hold of the lock: at 30 pods each some 15 ms.
SLICE = 200


@dataclass
class Heartbeat:
    """Samples into the ledger, again and again. `trouble` is what is wrong now, for readiness and people."""

    books: Books
    inquiry: Inquiry
    ask: Ask | None  # None: no Prometheus is configured
    metrics: Metrics
    after: Callable[[], None] = lambda: None
    trouble: str = ""
    rounds: int = 0
    latest: PodUses = field(default_factory=PodUses)  # what pods used in the last round
    newest: float = 0.0  # the newest sample's own timestamp
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
        return self.books.wall() - self.newest if self.sampled else math.inf

    def _run(self) -> None:
        if self.ask is None:
            self.trouble = "no Prometheus is configured (prometheus.url)"
            return
        while not self._stop.is_set():
            began = self.books.clock()
            if "nodes" in self.books.synced and "pods" in self.books.synced:
                self.beat(self.ask)
            rest = self.books.ledger.terms.heartbeat - (self.books.clock() - began)
            self._stop.wait(max(0.2, rest) if self.rounds else 0.2)

    def beat(self, ask: Ask) -> None:
        """One round. Whatever goes wrong in it must not end the thread: the next one may work."""
        try:
            found = self.inquiry.run(ask, self._pool, dict(self.books.nodes), self.books.uid_of, self._namespaces())
            self.apply(found)
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

    def apply(self, found: Round) -> None:
        """Hand a round over to the ledger, some nodes at a time with their pods."""
        here = self._seen(found)
        self.latest = found.pods
        self.books.load = found.network
        for names in _slices([name for name in found.stamps if name in self.books.nodes]):
            with self.books.lock.patiently():
                self._apply(found, names, here)
        self.newest = max([self.newest, *found.stamps.values()])

    def _apply(self, found: Round, names: Sequence[str], here: Mapping[str, Sequence[str]]) -> None:
        kinds = self.books.kinds
        readings = {name: Reading(found.stamps[name], found.used(name, kinds)) for name in names}
        uses = {uid: found.pods.get(uid, kinds) for name in names for uid in here.get(name, ())}
        # A pod of which one kind is missing counts as not seen: its request stays.
        pods = {uid: use for uid, use in uses.items() if not any(map(math.isnan, use))}
        strangers = (uid for name in names for uid in self.books.strangers_started(name, found.stamps[name]))
        self.books.ledger.sample(self.books.clock(), readings, pods, {*pods, *strangers})

    def _seen(self, found: Round) -> dict[str, list[str]]:
        """Measured pods by node."""
        made: dict[str, list[str]] = {}
        for uid in found.pods:
            pod = self.books.family.pods.get(uid)
            # A series older than the container speaks of an earlier pod of the same name.
            if pod is not None and 0 < pod.started <= found.stamps.get(pod.node, 0.0):
                made.setdefault(pod.node, []).append(uid)
        return made

    def usage(self) -> dict[str, dict[str, float]]:
        """What each of our pods was last measured to use, by uid and kind; what was not measured is left out."""
        pods, kinds, latest = self.books.family.pods, tuple(KINDS), self.latest
        made: dict[str, dict[str, float]] = {}
        for uid in latest:
            pod = pods.get(uid)
            if pod is not None and self.books.managed(pod):
                values = zip(kinds, latest.get(uid, kinds), strict=True)
                made[uid] = {kind: value for kind, value in values if not math.isnan(value)}
        return made

    def _namespaces(self) -> str:
        """Managed namespaces; all of them in the first round, which rebuilds the estimates after a restart."""
        return ".+" if not self.sampled else regex(self.books.policies.managed_namespaces())

    def _told(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("samples", trouble=trouble)
        elif self.trouble and not trouble:
            log.info("samples are back")
        self.trouble = trouble


def _slices(items: Sequence[str]) -> Iterator[Sequence[str]]:
    return (items[start : start + SLICE] for start in range(0, len(items), SLICE))
