"""Loops side by side: rounds of releases, room that came free, maintenance (releases, use, status), owners, sizes.

Only rounds release; the others hold up none.

Telling is cheap but writes: in the same loop as the rounds it cost a third of their time. No loop waits longer than a
moment for a write: each goes on in the line of its namespace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter

import structlog

from slackwater.cycle.cycle import Round
from slackwater.cycle.stalls.victim import Eviction
from slackwater.errors import Unavailable
from slackwater.pools.forecastlog import ForecastLog
from slackwater_cluster.customresources import Mode
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.apps.appview import AppView
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.roundresult import RoundResult
from slackwater_operator.clients.extenderclient import Usage
from slackwater_operator.clients.podwriter import WriteOutcome
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.eviction import PressureRelief
from slackwater_operator.release.nominations import Nominations
from slackwater_operator.release.ownerlookup import OwnerLookup
from slackwater_operator.release.pace import LEAST, for_news, rest, until_pressing
from slackwater_operator.release.release import Releaser
from slackwater_operator.release.roomwatch import RoomWatch
from slackwater_operator.release.sizelookup import SizeLookup
from slackwater_operator.release.stallwatch import StallAction, StallKeeper
from slackwater_operator.settings import Settings
from slackwater_operator.status.appstatus import AppStatus, account, status
from slackwater_operator.status.customstatus import ResourceStatusWriter
from slackwater_operator.status.events import EventWriter, Happened, Happening
from slackwater_operator.status.gauges import measure
from slackwater_operator.status.idlecores import tell_idle
from slackwater_operator.status.podreasons import ReasonWriter
from slackwater_operator.status.policygate import GateKeeper
from slackwater_operator.status.trackedapps import TrackedAppWriter
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

# Failures one after the other before the process gives up and is started anew with an empty memory.
HOPELESS = 20
# Seconds between two looks at releases under way, stalls and words.
MAINTENANCE = 1.0
# Seconds between two looks at what pods use.
USE = 10.0
IDLE = 30.0  # … and what is used and charged of nodes, to say why cores are idle
# Seconds between two times of telling while releases go on.
WORDS = 5.0
# Seconds between two looks at who waits and who has started.
STARTS = 1.0


@dataclass
class ReleaseLoop:
    """All parts of the loop. `clock` gives Unix seconds."""

    cache: OperatorCache
    releaser: Releaser
    upkeep: Nominations
    owners: OwnerLookup
    sizes: SizeLookup
    tracker: TrackedAppWriter
    announcer: EventWriter
    labeller: ReasonWriter
    reporter: ResourceStatusWriter
    stalls: StallKeeper
    relief: PressureRelief
    gates: GateKeeper
    settings: Settings
    metrics: Metrics
    clock: Callable[[], float]
    news: asyncio.Event = field(default_factory=asyncio.Event)
    forecastlog: ForecastLog = field(default_factory=ForecastLog)
    _counting: bool = False  # whether starts are counted yet: those before our first look are nobody's pace
    _tracked: dict[str, tuple[AppView, AppStatus]] = field(default_factory=dict)  # as last written
    _last_words: float = 0.0
    _last_starts: float = 0.0
    _told: RoundResult | None = None  # the round that was last told about
    _last_use: float = 0.0
    _last_idle: float = 0.0
    _usage: Usage | None = None  # as last looked at, until it was told
    beat: float = 0.0  # when the last turn ended; the probe reads it

    async def run(self) -> None:
        """Release, and look after everything else beside it, until cancelled."""
        room = RoomWatch(self.cache, self.releaser.places, self.news.set, self.settings.period)
        try:
            left = await self.upkeep.clean()
            log.info("leading", cleared_nominations=left, apps=len(self.cache.views), pods=len(self.cache.index))
            async with asyncio.TaskGroup() as group:
                group.create_task(self._repeat("turn", self._turn_and_rest), name="rounds")
                group.create_task(self._repeat("room", room.look), name="room")
                group.create_task(self._repeat("maintenance", self._maintain_and_rest), name="maintenance")
                group.create_task(self._repeat("lookups", partial(self._look_up_and_rest, self.owners)), name="owners")
                group.create_task(self._repeat("lookups", partial(self._look_up_and_rest, self.sizes)), name="sizes")
        except ExceptionGroup as problems:
            raise problems.exceptions[0] from problems  # one of them failed, and the others were stopped
        finally:
            await self._stop()

    async def _stop(self) -> None:
        """Give up what is being written: another one may lead from now on."""
        lines = (self.announcer, self.tracker, self.labeller, self.reporter, self.relief, self.gates)
        await asyncio.gather(self.releaser.writes.stop(), *(each.lines.stop() for each in lines))

    async def _repeat(self, what: str, step: Callable[[], Awaitable[None]]) -> None:
        """Again and again; one failure is not the end, many in a row are."""
        failures = 0
        while True:
            try:
                await step()
                failures = 0
            except Exception:
                failures += 1
                self.metrics.errors.labels(what).inc()
                log.exception("failed", what=what, failures=failures)
                if failures >= HOPELESS:
                    raise
                await asyncio.sleep(self.settings.period)

    async def _turn_and_rest(self) -> None:
        began = perf_counter()
        released = await self.turn()
        await self._rest(perf_counter() - began, busy=released > 0)

    async def _maintain_and_rest(self) -> None:
        await self.maintain()
        await asyncio.sleep(MAINTENANCE)

    async def _look_up_and_rest(self, look: OwnerLookup | SizeLookup) -> None:
        """Look up what apps wait for, and let a round follow each answer."""
        await look.run(self.cache, self.news.set)
        await for_news(look.turned, MAINTENANCE)
        look.turned.clear()

    async def turn(self) -> int:
        """One round of releases; returns how many pods were released."""
        began = perf_counter()
        self.owners.turned.set()
        self.sizes.turned.set()
        await self.upkeep.clear()  # a pod's own reservation would keep it from being released again
        released = await self.releaser.round()
        await self.gates.look(self.releaser.result, answered=self.releaser.rooms is not None)
        self._time_starts()
        self.metrics.round.labels("turn").observe(perf_counter() - began)
        self.beat = self.clock()
        return released

    async def maintain(self) -> None:
        """Look after releases under way, use and status. No write is waited for longer than a moment."""
        await self._tell_set_aside()
        await self.upkeep.run()
        await self._look_at_use()
        # Words are writes too: while pods are being released they come less often, and without a new round not at all.
        quiet = self.clock() - self.releaser.writes.last_release >= MAINTENANCE
        result = self.releaser.result
        if result is not None and result is not self._told and (quiet or self.clock() - self._last_words >= WORDS):
            self._told, self._last_words = result, self.clock()
            await self._tell(result)

    async def _tell_set_aside(self) -> None:
        """Count what was set aside, and tell the owner of each pod in an Event on it."""
        unnoted = self.cache.quarantine.unnoted
        if unnoted:
            self.metrics.set_aside.labels("unnoted").inc(unnoted)
        for each in self.cache.quarantine.take():
            self.metrics.set_aside.labels(each.part.value).inc()
            self.announcer.add(each.pod.uid, Happened(Happening.UNREADABLE, each.pod, each.problem))
        await self.announcer.post()  # what waited for its turn, too

    async def _rest(self, took: float, *, busy: bool) -> None:
        """Until there is news, at least a moment, at most the idle period."""
        if busy:
            await asyncio.sleep(0)
            return
        await asyncio.sleep(rest(took, self.settings.period))
        await until_pressing(self.cache, self.news, min(self.settings.period, self._until_due()))
        if self.cache.news:
            return
        self.news.clear()
        await for_news(self.news, self._until_due())

    def _until_due(self) -> float:
        """Releases under way, stalls and refused pods have times of their own; nothing else moves without news."""
        timed = self.cache.in_flight or self.cache.refused or self.cache.paused.active
        limit = MAINTENANCE if timed else self.settings.idle_period
        due = min(self.cache.refused.next, self.cache.paused.next)
        return min(limit, max(LEAST, due - self.clock()))

    async def _look_at_use(self) -> None:
        """Ask what pods use; without an answer nothing is learned or relieved, and the reporter says so."""
        if self.clock() - self._last_use < USE:
            return
        self._last_use = self.clock()
        nodes = self.relief.wanted or self._last_use - self._last_idle >= IDLE
        try:
            usage = await self.releaser.places.usage(nodes=nodes)
        except Unavailable:
            self.reporter.measured = False
            self._usage = Usage()
            return
        self.reporter.measured = True
        if nodes:
            self._usage, self._last_idle = usage, self._last_use
        self.cache.learning.observe(usage.pods)
        await self.relief.run(usage)

    async def _tell(self, result: RoundResult) -> None:
        self.cache.views.refresh()  # what was just released is told as released
        supposed = self.releaser.supposed()
        # Before its owners were looked up nobody can say which app a pod belongs to: nothing is told, nothing written.
        settled = [each for each in self.cache.views.values() if each.settled]
        self._log_starts(result)
        self._judge_forecasts(result)
        accounts = [said for each in settled if (said := self._account(each, result, supposed)) is not None]
        self._announce(accounts)
        await self._stall(result)
        await self.announcer.post()
        await self._track(accounts, result)
        await self.labeller.write(self.cache, accounts, self.releaser.writes.last_release)
        await self.reporter.report(result, self.forecastlog)
        measure(self.metrics, self.cache, accounts, result)
        self._idle(result)
        self.metrics.wait_error.set(self.forecastlog.error or 0.0)

    def _idle(self, result: RoundResult) -> None:
        """Once for each look at use: which cores are idle, and why."""
        if self._usage is not None:
            tell_idle(self.metrics, self.cache, result, self._usage)
            self._usage = None

    @contextmanager
    def _set_aside(self, app: str) -> Iterator[None]:
        """One app about which nothing can be said, or written, is left out; the others go on."""
        try:
            yield
        except Exception:
            self.metrics.errors.labels("status").inc()
            log.exception("app not told", app=app)

    def _account(self, each: AppView, result: RoundResult, supposed: Round | None) -> AppStatus | None:
        verdict = result.round.verdicts.get(each.id)
        no_node = self.releaser.no_node.get(each.id, "")
        with self._set_aside(each.id):
            expected = self.forecastlog.told(each.id, self.clock())
            return account(each, verdict, self.cache, result, no_node, supposed, expected, wall(self.clock))
        return None

    def _announce(self, accounts: list[AppStatus]) -> None:
        for said in accounts:
            each = self.cache.views[said.app]
            lead = self.cache.index.pod(each.lead)
            if lead is not None and self.cache.governing.mode(each.namespace) is Mode.ENFORCE:
                with self._set_aside(each.id):
                    self.announcer.observe(said, lead, started=each.started, problems=each.problems[:1])
        self.announcer.forget(set(self.cache.views))

    async def _track(self, accounts: list[AppStatus], result: RoundResult) -> None:
        """Bring TrackedApps up to date; where not all can be written, those come first that waited longest for it."""
        await self.tracker.sweep(self.cache)
        before, self._tracked = self._tracked, {}
        changed: list[tuple[float, AppStatus]] = []
        for said in accounts:
            each, known = self.cache.views.get(said.app), before.get(said.app)
            # Most apps are as they were a second ago: nothing to compare, nothing to write.
            if known is not None and known[0] is each and known[1] == said:
                self._tracked[said.app] = known
            elif each is not None:
                changed.append((self.tracker.tried(each), said))
        for _, said in sorted(changed, key=lambda one: one[0]):
            namespace = said.app.partition("/")[0]
            self.tracker.lines.add(namespace, partial(self._track_one, said, result))
        await self.tracker.lines.settle()

    async def _track_one(self, said: AppStatus, result: RoundResult) -> None:
        each = self.cache.views.get(said.app)
        if each is None:  # gone while others were written
            return
        settled = True  # one that fails is tried again when it is another one
        with self._set_aside(each.id):
            found = status(each, said, self.cache, result, self.forecastlog.error_of(each.id, self.clock()))
            settled = await self.tracker.write(each, found, said.queue)
        if settled:
            self._tracked[said.app] = (each, said)

    async def _stall(self, result: RoundResult) -> None:
        """Tell of stalls, and end them; an eviction that takes long is told of when it is answered."""
        for action in self.stalls.look(result):
            self.metrics.stalls.labels(action.stall.queue).inc()
            self._tell_stall(action)
            if action.victim is not None and action.eviction is not None:
                evict = partial(self._evict, action.stall.queue, action.victim, action.eviction)
                self.relief.lines.add(action.victim.namespace, evict)
            self.stalls.reset(action.stall.queue)
        await self.relief.lines.settle()

    def _tell_stall(self, action: StallAction) -> None:
        """On the driver of each app that waits, whether or not anything would bring it back."""
        stall = action.stall
        log.error("stall", queue=stall.queue, seconds=stall.seconds, waiting=stall.waiting, why=stall.words)
        for app, driver in action.told:
            self.announcer.add(app, Happened(Happening.STALLED, driver, stall.words))

    async def _evict(self, queue: str, pod: PodRecord, eviction: Eviction) -> None:
        """Ask the pod to leave, once; one that stays is asked again when the stall has lasted as long again."""
        try:
            written = await self.upkeep.writer.evict(pod)
        except Unavailable as problem:
            self._tell_kept(pod, str(problem))
            # It may be carried out all the same; of a driver that stays this says nothing.
            self.cache.gave_up(eviction.blocked, eviction.ahead, self.clock())
            return
        log.warning("pod evicted to end a stall", pod=pod.key, outcome=written.outcome.value)
        if written.done:
            self.cache.gave_up(eviction.blocked, eviction.ahead, self.clock())
            self.metrics.evictions.labels(queue).inc()
        elif written.outcome is WriteOutcome.REFUSED:
            self._tell_kept(pod, written.message)

    def _tell_kept(self, pod: PodRecord, why: str) -> None:
        log.warning("pod not evicted", pod=pod.key, why=why)
        words = f"asked to leave, to end a stall, and not evicted ({why}); while the stall goes on it is asked again"
        self.announcer.add(pod.uid, Happened(Happening.NOT_EVICTED, pod, words))

    def _time_starts(self) -> None:
        """Log starts by the clock of rounds: words are written seconds later where the API server is slow."""
        result = self.releaser.result
        if result is not None and self.clock() - self._last_starts >= STARTS:
            self.cache.views.refresh()  # what was just released has started
            self._log_starts(result)

    def _log_starts(self, result: RoundResult) -> None:
        """Tell the log of starts who waits at which place, and who of them started."""
        now = self._last_starts = self.clock()
        views = [each for each in self.cache.views.values() if each.settled]
        if not self._counting:
            self._counting = True
            self.forecastlog.begin(each.id for each in views if each.started)
        for each in views:
            verdict = result.round.verdicts.get(each.id)
            queue = self.cache.governing.queue_of(each.namespace)
            if each.started:
                self.forecastlog.start(each.id, queue, now)
            elif verdict is not None and verdict.position and not verdict.refused:
                size = result.round.categories.get(each.id)
                self.forecastlog.wait(each.id, queue, size.value if size else "", verdict.position, verdict.wait, now)
        self.forecastlog.keep(self.cache.views)

    def _judge_forecasts(self, result: RoundResult) -> None:
        """Compare what pools forecast with what has ended since, and note what they forecast now."""
        now = self.clock()
        for pool in result.snapshot.pools:
            state, spec = self.cache.queues.pool_states.get(pool.name), self.cache.governing.pools.get(pool.name)
            if state is not None and spec is not None:  # else deleted since the round
                ended = state.ended.total
                state.accuracy.settle(now, ended)
                state.accuracy.predict(now, spec.horizon_seconds, sum(pool.releases.values()), ended)
