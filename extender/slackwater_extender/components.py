"""The extender's parts, put together once; tests put together their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

from slackwater_cluster.certificates import CertificateGauges
from slackwater_extender.auth import Authenticator, LongPolls, TokenReview
from slackwater_extender.cache.cache import ClusterCache
from slackwater_extender.cache.refusedpods import Unschedulable
from slackwater_extender.metrics import Gauges, Metrics
from slackwater_extender.sampler.loop import SamplingLoop
from slackwater_extender.sampler.measurement import QueryFunction, UsageQuery
from slackwater_extender.sampler.presets import queries
from slackwater_extender.scheduling.batch import Placer
from slackwater_extender.scheduling.decisionlog import DecisionLog
from slackwater_extender.scheduling.readiness import Readiness, readiness
from slackwater_extender.scheduling.userscore import load
from slackwater_extender.scheduling.verbs import Verbs
from slackwater_extender.settings import Settings

Problems = Callable[[], dict[str, str]]


@dataclass(frozen=True)
class Components:
    """Everything the routes need."""

    settings: Settings
    cache: ClusterCache
    decisions: DecisionLog
    waiting: Unschedulable
    verbs: Verbs
    placer: Placer
    metrics: Metrics
    doorkeeper: Authenticator
    sampling: SamplingLoop
    long_polls: LongPolls
    troubles: Problems = field(default=dict)
    # Told with every room: placements of another instance may not have come to this one's ledger yet.
    instance: str = field(default_factory=lambda: uuid4().hex)

    def readiness(self) -> Readiness:
        """Whether the extender may be asked."""
        return readiness(
            frozenset(self.cache.synced),
            self.troubles(),
            self.sampling.trouble,
            sampled=self.sampling.sampled,
            broken=self.cache.governance.broken,
        )

    def tick(self) -> None:
        """Once a second: lapse what did not come true, and look whether refused pods have room."""
        self.metrics.expired.inc(len(self.cache.expire()))
        self.review()

    def review(self) -> None:
        """Wake refused pods that have room now."""
        if len(self.waiting):
            self.metrics.wakeups.inc(self.waiting.review(self.cache))


def assemble(
    settings: Settings,
    *,
    ask: QueryFunction | None = None,
    review: TokenReview | None = None,
    troubles: Problems = dict,
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
) -> Components:
    """All parts over an empty cache. `ask` runs a PromQL query, `review` looks up a token."""
    cache = ClusterCache(settings.decisions, clock, wall)
    decisions = DecisionLog(settings.decisions.remembered, wall)
    waiting = Unschedulable(settings.decisions.waiting, clock, wall)
    metrics = Metrics()
    prometheus = settings.prometheus
    inquiry = UsageQuery(queries(prometheus), prometheus.window, prometheus.node_label, cache.lock.rest)
    sampling = SamplingLoop(cache, inquiry, ask, metrics)
    metrics.registry.register(Gauges(cache, waiting, sampling.age, per_node=settings.node_metrics))
    metrics.registry.register(CertificateGauges("slackwater_extender_", settings.tls.certificate))
    return Components(
        settings=settings,
        cache=cache,
        decisions=decisions,
        waiting=waiting,
        verbs=Verbs(cache, decisions, waiting, load(settings.decisions.score)),
        placer=Placer(cache, waiting, decisions),
        metrics=metrics,
        doorkeeper=Authenticator(settings.callers, settings.tls, review),
        sampling=sampling,
        long_polls=LongPolls(most=max(1, settings.server.threads // 4)),
        troubles=troubles,
    )
