"""The extender's parts, put together once; tests put together their own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from slackwater_extender.books import Books
from slackwater_extender.callers import Doorkeeper, Review
from slackwater_extender.decisions import Ring
from slackwater_extender.metrics import Gauges, Metrics
from slackwater_extender.place import Placer
from slackwater_extender.readiness import Readiness, readiness
from slackwater_extender.sampler.heartbeat import Heartbeat
from slackwater_extender.sampler.presets import queries
from slackwater_extender.sampler.rounds import Ask, Inquiry
from slackwater_extender.settings import Settings
from slackwater_extender.verbs import Verbs
from slackwater_extender.waiting import Waiting

Troubles = Callable[[], dict[str, str]]


@dataclass(frozen=True)
class Parts:
    """Everything the routes need."""

    settings: Settings
    books: Books
    ring: Ring
    waiting: Waiting
    verbs: Verbs
    placer: Placer
    metrics: Metrics
    doorkeeper: Doorkeeper
    heartbeat: Heartbeat
    troubles: Troubles = field(default=dict)

    def readiness(self) -> Readiness:
        """Whether the extender may be asked."""
        return readiness(
            frozenset(self.books.synced),
            self.troubles(),
            self.heartbeat.trouble,
            sampled=self.heartbeat.sampled,
            broken=self.books.policies.broken,
        )

    def tick(self) -> None:
        """Once a second: lapse what did not come true, and look whether refused pods have room."""
        self.metrics.expired.inc(len(self.books.expire()))
        self.review()

    def review(self) -> None:
        """Wake refused pods that have room now."""
        if len(self.waiting):
            self.metrics.wakeups.inc(self.waiting.review(self.books))


def assemble(
    settings: Settings,
    *,
    ask: Ask | None = None,
    review: Review | None = None,
    troubles: Troubles = dict,
    clock: Callable[[], float] = time.monotonic,
    wall: Callable[[], float] = time.time,
) -> Parts:
    """All parts over empty books. `ask` runs a PromQL query, `review` looks up a token."""
    books = Books(settings.decisions, clock, wall)
    ring = Ring(settings.decisions.remembered)
    waiting = Waiting(settings.decisions.waiting, wall)
    metrics = Metrics()
    prometheus = settings.prometheus
    inquiry = Inquiry(queries(prometheus), prometheus.window, prometheus.node_label, books.lock.rest)
    heartbeat = Heartbeat(books, inquiry, ask, metrics)
    metrics.registry.register(Gauges(books, waiting, heartbeat.age, per_node=settings.node_metrics))
    return Parts(
        settings=settings,
        books=books,
        ring=ring,
        waiting=waiting,
        verbs=Verbs(books, ring, waiting),
        placer=Placer(books, waiting, ring),
        metrics=metrics,
        doorkeeper=Doorkeeper(settings.callers, settings.tls, review),
        heartbeat=heartbeat,
        troubles=troubles,
    )
