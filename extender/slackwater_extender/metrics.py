"""What the extender tells Prometheus. Cardinality is bounded: by verbs, by the fixed reasons, and by nodes × kinds.

Per-node series are computed when scraped, and only for the kinds of the ledger (cpu, memory and extended resources that
exist): 5,000 nodes with two kinds are 60,000 series, so `node_metrics` switches them off.
No label holds a pod, an app or a namespace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics import disable_created_metrics
from prometheus_client.registry import Collector

import slackwater
from slackwater.ledger.types import MANY
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.nodereport import node_lines
from slackwater_extender.cache.refusedpods import Unschedulable

# Seconds. The scheduler waits for every call: a millisecond matters, so the buckets start well below one.
BUCKETS = (0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)

CONTENT_TYPE = CONTENT_TYPE_LATEST


class Metrics:
    """Counters and histograms that verbs and loops write to."""

    def __init__(self) -> None:
        # A second series for each counter that nobody reads; the library leaves this call untyped.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self.latency = Histogram(
            "slackwater_extender_request_seconds",
            "Time to answer one request.",
            ["verb"],
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.decisions = Counter(
            "slackwater_extender_decisions",
            "Decisions by verb, result and reason (the commonest where nodes differ).",
            ["verb", "result", "reason"],
            registry=self.registry,
        )
        self.errors = Counter(
            "slackwater_extender_errors", "Requests that ended in an error of ours.", ["verb"], registry=self.registry
        )
        self.rejected = Counter(
            "slackwater_extender_rejected_requests",
            "Requests refused before any decision: bad body, unknown caller.",
            ["why"],
            registry=self.registry,
        )
        self.expired = Counter(
            "slackwater_extender_expired_placements", "Placements that never came true.", registry=self.registry
        )
        self.rounds = Counter(
            "slackwater_extender_sample_rounds", "Rounds of measurement by result.", ["result"], registry=self.registry
        )
        self.dropped = Counter(
            "slackwater_extender_dropped_samples", "Samples not used, by why.", ["why"], registry=self.registry
        )
        self.wakeups = Counter(
            "slackwater_extender_wakeups", "Refused pods told to have room again.", registry=self.registry
        )

    def page(self) -> bytes:
        """The exposition."""
        return generate_latest(self.registry)


@dataclass(eq=False)  # the registry keeps collectors by identity
class Gauges(Collector):
    """What is read from the cache at scrape time."""

    cache: ClusterCache
    waiting: Unschedulable
    sample_age: Callable[[], float]
    per_node: bool = True

    def collect(self) -> Iterator[GaugeMetricFamily | InfoMetricFamily]:
        """All gauges of one moment."""
        yield InfoMetricFamily("slackwater_extender_build", "Version.", value={"version": slackwater.__version__})
        with self.cache.lock.background():
            sizes = list(self._sizes())
        yield from sizes
        yield from self._rows() if self.per_node else []
        age = GaugeMetricFamily("slackwater_extender_sample_age_seconds", "Age of the newest round of samples.")
        age.add_metric([], self.sample_age())
        yield age

    def _sizes(self) -> Iterator[GaugeMetricFamily]:
        cache = self.cache
        yield _one("slackwater_extender_ledger_pods", "Pods in the ledger.", len(cache.ledger))
        yield _one("slackwater_extender_ledger_nodes", "Nodes in the ledger.", len(cache.nodes))
        yield _one(
            "slackwater_extender_provisional_pods",
            "Placements that have not come true yet.",
            len(cache.ledger.reservations()),
        )
        yield _one("slackwater_extender_charges", "Releases without a node of ours.", len(cache.ledger.unplaced()))
        yield _one("slackwater_extender_refused_pods", "Pods waiting for room.", len(self.waiting))
        table = cache.ledger.table(cache.clock())
        yield _one("slackwater_extender_stale_nodes", "Nodes without fresh samples.", int(table.old().sum()))
        yield from self._risks()
        modes = GaugeMetricFamily(
            "slackwater_extender_namespaces", "Managed namespaces by mode of their policy.", labels=["mode"]
        )
        for mode, number in cache.governance.modes().items():
            modes.add_metric([mode.value], number)
        yield modes

    def _risks(self) -> Iterator[GaugeMetricFamily]:
        """What was asked, by kind, and what came of it, by machines, too; without samples where no risk is stated."""
        asked = GaugeMetricFamily("slackwater_extender_risk_asked", RISK_ASKED, labels=["resource"])
        families = [
            GaugeMetricFamily(f"slackwater_extender_risk_{name}", text, labels=["resource", "machine"])
            for name, text in RISK_GAUGES.items()
        ]
        for kind, found in self.cache.ledger.risks().items():
            asked.add_metric([kind], found.risk)
            for machine, kept in found.machines.items():
                values = (kept.realised, kept.promises, 0.0 if found.young else max(-MANY, found.factor_of(machine)))
                for family, value in zip(families, values, strict=True):
                    family.add_metric([kind, machine], value)
        yield from (asked, *families)

    def _rows(self) -> list[GaugeMetricFamily]:
        """Requested, used, estimated, allowed and room of each node and kind."""
        families = {
            name: GaugeMetricFamily(f"slackwater_node_{name}", text, labels=["node", "resource"])
            for name, text in NODE_GAUGES.items()
        }
        for record, lines in node_lines(self.cache):
            for kind, line in lines.items():
                for name, family in families.items():
                    family.add_metric([record.name, kind], getattr(line, name))
        return list(families.values())


RISK_ASKED = "The stated probability that a promise beyond reservations is exceeded."
RISK_GAUGES = {
    "realised": "The share of promises for nodes of this type of machine that were exceeded of late.",
    "compared": "How many promises that share is of.",
    "factor": "How many spreads are kept back above what is expected; 0 while too little is known. -1000 at least, "
    "where use does not vary.",
}

NODE_GAUGES = {
    "declared": "Declared requests of managed pods.",
    "native": "Native requests of all pods, as kube-scheduler counts them.",
    "used": "Measured use.",
    "estimate": "Estimated use, reservations where samples are stale.",
    "allowed": "What may be filled: of memory allocatable times estimation.allowance, of CPU all of it.",
    "room": "What may still be placed; negative when overfull.",
}


def _one(name: str, text: str, value: float) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, text)
    family.add_metric([], value)
    return family
