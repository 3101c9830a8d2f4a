"""What the operator counts, as Prometheus reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

import slackwater

PREFIX = "slackwater_operator_"
# Seconds. An admission may take an hour on a full cluster, a release takes milliseconds.
WAITS = (0.5, 1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)
WRITES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


@dataclass
class Metrics:
    """All metrics on one registry, so that two operators in one test do not meet."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)

    def __post_init__(self) -> None:
        self._told: dict[Gauge, set[tuple[str, ...]]] = {}
        self._show(self.registry)
        self._time(self.registry)
        self._count(self.registry)
        self.build = Info(PREFIX + "build", "The version that runs.", registry=self.registry)
        self.build.info({"version": slackwater.__version__})

    def _show(self, registry: CollectorRegistry) -> None:
        """What is so now."""
        self.held = Gauge(PREFIX + "held_pods", "Pods behind the gate.", ["queue", "reason"], registry=registry)
        self.flying = Gauge(PREFIX + "released_pods", "Pods released and not yet bound.", registry=registry)
        self.parked = Gauge(PREFIX + "parked_pods", "Pods whose release was taken back.", registry=registry)
        self.apps = Gauge(PREFIX + "apps", "Apps by queue and phase.", ["queue", "phase"], registry=registry)
        self.drivers = Gauge(PREFIX + "drivers", "Drivers by queue and state.", ["queue", "state"], registry=registry)
        amounts = ["queue", "resource"]
        self.capacity = Gauge(
            PREFIX + "queue_capacity", "C: what the admission test counts.", amounts, registry=registry
        )
        self.reservation = Gauge(PREFIX + "queue_reservation", "R: kept free for tasks.", amounts, registry=registry)
        self.budget = Gauge(PREFIX + "queue_budget", "What further drivers may take.", amounts, registry=registry)
        self.delta = Gauge(PREFIX + "pool_delta", "Share of the pool for small jobs.", ["pool"], registry=registry)
        self.pool_total = Gauge(PREFIX + "pool_total_slots", "Slots of the pool in all.", ["pool"], registry=registry)
        self.forecast_error = Gauge(
            PREFIX + "forecast_error_slots",
            "Mean absolute error of past release forecasts.",
            ["pool"],
            registry=registry,
        )
        self.wait_error = Gauge(
            PREFIX + "wait_estimate_error_seconds", "Median error of the newest wait estimates.", registry=registry
        )
        self.idle = Gauge(
            "slackwater_idle_cores",
            "Cores that do nothing, by what keeps work from them.",
            ["reason"],
            registry=registry,
        )
        self.open_gate = Gauge(
            PREFIX + "open_gate", "1 while new tasks come without a gate.", ["policy"], registry=registry
        )
        self.leading = Gauge(PREFIX + "leading", "1 while this replica leads.", registry=registry)
        self.without_extender = Gauge(
            PREFIX + "without_extender_seconds", "How long the extender has not answered.", registry=registry
        )

    def _time(self, registry: CollectorRegistry) -> None:
        """How long things took."""
        self.wait = Histogram(
            PREFIX + "admission_wait_seconds", "From creation to release.", ["role"], buckets=WAITS, registry=registry
        )
        self.release = Histogram(
            PREFIX + "release_seconds", "Nomination and gate removal of one pod.", buckets=WRITES, registry=registry
        )
        self.round = Histogram(
            PREFIX + "round_seconds", "One round of gatekeeping.", ["step"], buckets=WRITES, registry=registry
        )

    def _count(self, registry: CollectorRegistry) -> None:
        """What has happened."""
        self.released = Counter(PREFIX + "releases", "Pods released.", ["queue", "how"], registry=registry)
        self.moves = Counter(PREFIX + "nominations_moved", "Nominations moved or cleared.", ["how"], registry=registry)
        self.resizes = Counter(
            PREFIX + "resizes", "Requests set from earlier tasks at release.", ["result"], registry=registry
        )
        self.parkings = Counter(PREFIX + "parkings", "Releases taken back.", registry=registry)
        self.stalls = Counter(PREFIX + "stalls", "True stalls found.", ["queue"], registry=registry)
        self.evictions = Counter(
            PREFIX + "driver_evictions", "Drivers evicted to end a stall.", ["queue"], registry=registry
        )
        self.task_evictions = Counter(
            PREFIX + "task_evictions",
            "Tasks above their declared request evicted from nodes whose memory neared its limit.",
            ["queue", "result"],
            registry=registry,
        )
        self.set_aside = Counter(
            PREFIX + "set_aside",
            "Objects, or parts of them, that could not be used; everything else went on without them.",
            ["part"],
            registry=registry,
        )
        self.errors = Counter(PREFIX + "errors", "Rounds and writes that failed.", ["where"], registry=registry)
        self.events = Counter(
            PREFIX + "events",
            "Events posted, dropped by the rate limit, refused, or about a namespace that goes.",
            ["result"],
            registry=registry,
        )

    def set_all(self, gauge: Gauge, values: Mapping[tuple[str, ...], float]) -> None:
        """Make a labelled gauge say exactly these values: what is gone must not stay, and what stays is never away.

        A scrape may come at any moment, so nothing is taken away to be set anew.
        """
        for gone in self._told.get(gauge, set()) - values.keys():
            gauge.remove(*gone)
        for labels, value in values.items():
            gauge.labels(*labels).set(value)
        self._told[gauge] = set(values)
