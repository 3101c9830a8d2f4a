"""The program put together: sessions, watches, leadership, loop. Any part that dies ends it all, loudly."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from slackwater.errors import Unavailable
from slackwater_cluster.api.endpoint import endpoint
from slackwater_cluster.api.session import Session
from slackwater_cluster.frameworks import ExtendedTable
from slackwater_cluster.governance import Governance
from slackwater_cluster.objects.records import CustomRecord, NamespaceRecord, NodeRecord, PodRecord
from slackwater_cluster.objects.wire import Meta
from slackwater_cluster.watch import garbage, sources
from slackwater_cluster.watch.offeredkinds import OfferedKinds
from slackwater_cluster.watch.reflector import Reflector, Source
from slackwater_cluster.watch.sources import NAMESPACES, NODES, PODS, reflect
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.quarantine import sentence
from slackwater_operator.cache.watch import Feed
from slackwater_operator.clients.extenderclient import DegradedMode, Extender
from slackwater_operator.clients.podwriter import PodWriter
from slackwater_operator.clients.ratelimit import TokenBucket
from slackwater_operator.lease.leader import Election
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.eviction import PressureRelief
from slackwater_operator.release.loop import ReleaseLoop
from slackwater_operator.release.nominations import Nominations
from slackwater_operator.release.ownerlookup import OwnerLookup
from slackwater_operator.release.recorder import Recorder
from slackwater_operator.release.release import Releaser
from slackwater_operator.release.sizelookup import SizeLookup
from slackwater_operator.release.stallwatch import StallKeeper
from slackwater_operator.settings import Settings
from slackwater_operator.status.customstatus import ResourceStatusWriter
from slackwater_operator.status.events import EventWriter
from slackwater_operator.status.podreasons import ReasonWriter
from slackwater_operator.status.policygate import GateKeeper
from slackwater_operator.status.trackedapps import TrackedAppWriter
from slackwater_operator.steadyclock import SteadyClock, wall

log = structlog.get_logger(__name__)

# Seconds that a new leader may take for its first lists and its first round: 150,000 pods take half a minute.
FIRST_ROUND = 240.0
# … and for which one of our definitions may be missing at a start before that means that it was deleted. A leader that
# waited for it would hold the Lease and release nothing, for ever: the watchdog sees an operator that lives.
MISSING = 30.0
TELL = 1.0  # seconds between two looks at whether the loop turns
CONFIGURING = ("SlackPolicy", "AdmissionQueue", "ReservationPool")


@dataclass
class Program:
    """One replica of the operator."""

    settings: Settings
    metrics: Metrics = field(default_factory=Metrics)
    patience: float = MISSING

    def __post_init__(self) -> None:
        governance = Governance(self.settings.namespace, self.settings.watchdog_namespace)
        self.cache = OperatorCache(governance, window=self.settings.window, ask_sizes=True)
        self.cycle: ReleaseLoop | None = None
        self.leads_since = 0.0
        self.clock = SteadyClock()
        self.trouble = "not started"
        self._feeds: list[Feed[Any]] = []
        self._frameworks = ExtendedTable()

    async def run(self) -> None:
        """Wait for leadership, then watch, decide and write until the Lease is lost or a part fails."""
        self.trouble = ""
        lost = asyncio.Event()
        election = Election(self.settings)
        try:
            await election.lead(lost)
            self.metrics.leading.set(1)
            await self._lead(election, lost)
        finally:
            # Everything of ours has ended by now, so the next leader need not wait until the Lease is over.
            await asyncio.to_thread(election.resign)

    async def _lead(self, election: Election, lost: asyncio.Event) -> None:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(
                Session(endpoint(self.settings.kubeconfig), in_flight=self.settings.in_flight, may_write=election.holds)
            )
            extender = await stack.enter_async_context(
                Extender(
                    self.settings.extender_url,
                    timeout=self.settings.extender_timeout,
                    token=self.settings.extender_token_file,
                    authority=self.settings.extender_ca_file,
                )
            )
            self.cycle, self.leads_since = self._cycle(session, extender), self.clock()
            if self.settings.record is not None:
                self.cycle.releaser.recorder = stack.enter_context(Recorder(self.settings.record))
            async with asyncio.TaskGroup() as group:
                group.create_task(reflect(self._reflectors(session)), name="watches")
                group.create_task(self._work(self.cycle), name="loop")
                group.create_task(_until_lost(lost), name="lease")
                group.create_task(self._tell_turns(election), name="turns")

    @property
    def healthy(self) -> bool:
        """Whether the loop turns; one that waits for leadership, or reads its first lists, is healthy."""
        if self.cycle is None:
            return True
        last = self.cycle.beat or self.leads_since + FIRST_ROUND
        return self.clock() - last < 60 + self.settings.idle_period

    async def _tell_turns(self, election: Election) -> None:
        """Say on the Lease that the loop turns, for the watchdog: whoever leads and releases nothing is no leader."""
        while True:
            if self.cycle is not None and self.cycle.beat and self.healthy:
                election.turned()
            await asyncio.sleep(TELL)

    async def _work(self, cycle: ReleaseLoop) -> None:
        garbage.expect_many()
        await asyncio.gather(*(feed.complete.wait() for feed in self._feeds))
        self.cache.govern()
        self.cache.views.refresh()
        garbage.set_apart()
        cycle.tracker.restore(self.cache)
        await cycle.run()

    def _cycle(self, session: Session, extender: Extender) -> ReleaseLoop:
        clock, settings = self.clock, self.settings
        writer = PodWriter(session)
        announcer = EventWriter(session, self.metrics, clock, TokenBucket(settings.event_rate, 50, clock))
        grace = DegradedMode(settings.grace, time.monotonic)
        releaser = Releaser(self.cache, extender, writer, settings, self.metrics, grace, clock)
        return ReleaseLoop(
            cache=self.cache,
            releaser=releaser,
            upkeep=Nominations(releaser.writes, told=announcer.parked),
            owners=OwnerLookup(session),
            sizes=SizeLookup(session),
            tracker=TrackedAppWriter(
                session,
                clock,
                settings.track_seconds,
                TokenBucket(settings.track_rate, 20, clock),
                settings.keep_finished,
            ),
            announcer=announcer,
            labeller=ReasonWriter(writer, TokenBucket(settings.reason_rate, 20, clock), clock, settings.reason_after),
            reporter=ResourceStatusWriter(session, self.cache, clock, settings.track_seconds),
            stalls=StallKeeper(self.cache, clock),
            relief=PressureRelief(self.cache, writer, announcer, self.metrics, clock),
            gates=GateKeeper(session, self.cache, self.metrics, clock, settings.open_nodes),
            settings=settings,
            metrics=self.metrics,
            clock=clock,
        )

    # -- watches ----------------------------------------------------------------------------------------------------

    def _reflectors(self, session: Session) -> list[Reflector[Any]]:
        cache = self.cache
        anew = asyncio.Event()
        offered = OfferedKinds(anew.set)

        def set_nodes(records: Sequence[NodeRecord]) -> None:
            offered.set_nodes(records)
            cache.set_nodes(records)

        pods = self._reflector(
            session,
            replace(PODS, trim=offered.trim),
            Feed[PodRecord](self._set_pods, self._drop_pods),
            self._pod_set_aside,
        )
        pods.anew = anew
        made: list[Reflector[Any]] = [
            self._reflector(session, NAMESPACES, Feed[NamespaceRecord](self._set_namespaces, self._drop_namespaces)),
            self._reflector(session, NODES, Feed[NodeRecord](set_nodes, cache.drop_nodes)),
            pods,
            self._reflector(
                session,
                sources.frameworks(self.settings.namespace),
                Feed[CustomRecord](self._extend, self._shorten),
            ),
        ]
        made += [
            self._reflector(session, sources.customs(kind, patience=self.patience), self._configuring(kind))
            for kind in CONFIGURING
        ]
        tracker = self.cycle.tracker if self.cycle else None
        if tracker is not None:
            feed = Feed[CustomRecord](
                lambda records: tracker.set(list(records)), lambda records: tracker.drop(list(records))
            )
            made.append(self._reflector(session, sources.customs("TrackedApp", patience=self.patience), feed))
        return made

    def _reflector(
        self,
        session: Session,
        source: Source[Any],
        feed: Feed[Any],
        skipped: Callable[[Meta, Exception], None] | None = None,
    ) -> Reflector[Any]:
        self._feeds.append(feed)
        return Reflector(session, source, feed, on_skip=skipped)

    def _pod_set_aside(self, meta: Meta, problem: Exception) -> None:
        pod = PodRecord(name=meta.name, uid=meta.uid, namespace=meta.namespace or "")
        self.cache.set_aside(pod, f"it cannot be read: {sentence(problem)}")

    def _configuring(self, kind: str) -> Feed[CustomRecord]:
        def changed(records: Sequence[CustomRecord]) -> None:
            if self.cycle is not None:
                self.cycle.reporter.set(kind, records)
            if self.cache.governing.set(kind, records):
                self._governed()

        def vanished(records: Sequence[CustomRecord]) -> None:
            if self.cycle is not None:
                self.cycle.reporter.drop(kind, records)
            self.cache.governing.drop(kind, records)
            self._governed()

        return Feed(changed, vanished)

    def _governed(self) -> None:
        self.cache.govern()
        self._wake()

    def _set_pods(self, records: Sequence[PodRecord]) -> None:
        self.cache.set_pods(records, self.clock())
        self._wake()

    def _drop_pods(self, records: Sequence[PodRecord]) -> None:
        self.cache.drop_pods(records, wall(self.clock))
        self._wake()

    def _set_namespaces(self, records: Sequence[NamespaceRecord]) -> None:
        self.cache.set_namespaces(records, self.clock())
        self._wake()

    def _drop_namespaces(self, records: Sequence[NamespaceRecord]) -> None:
        self.cache.drop_namespaces(records, self.clock())

    def _extend(self, records: Sequence[CustomRecord]) -> None:
        self._frameworks.set({each.name: each.data for each in records})
        self._follow_frameworks()

    def _shorten(self, records: Sequence[CustomRecord]) -> None:
        self._frameworks.drop(each.name for each in records)
        self._follow_frameworks()

    def _follow_frameworks(self) -> None:
        """Recognise by the framework table with the rows of users' ConfigMaps; a bad entry is told and left out."""
        for problem in self._frameworks.problems:
            log.error("framework left out", problem=str(problem))
        self.cache.table = self._frameworks.table
        if self.cycle is not None:
            self.cycle.reporter.rows = self._frameworks.rows
        self._governed()

    def _wake(self) -> None:
        if self.cycle is not None:
            self.cycle.news.set()


async def _until_lost(lost: asyncio.Event) -> None:
    await lost.wait()
    raise Unavailable("the lease is lost; another replica leads")
