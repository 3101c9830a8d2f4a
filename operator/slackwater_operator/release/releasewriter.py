"""The writes of releases: they go on beside the rounds, and what could not be written is taken back."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from time import perf_counter
from typing import Any, NamedTuple

import structlog

from slackwater.cycle.cycle import Release
from slackwater.errors import Unavailable
from slackwater_cluster.api.fairslots import FairSlots
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch.timeslices import slices
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.podstate import PodState
from slackwater_operator.cache.refusals import Vain
from slackwater_operator.clients.extenderclient import DegradedMode, PlacementSource, PlacementWish, Reservation
from slackwater_operator.clients.podwriter import PodWriter, WriteOutcome, Written
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.batch import GROWN, Handover
from slackwater_operator.settings import Settings
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

# Seconds for which a question whose answer was given up may still be worked on.
LATE = 10.0
# … for which a release waits, and after which the places of gangs are asked for again: the extender keeps one for 75,
# and the writes take some of them.
STALE = 40.0
LOOK = 0.1  # seconds between two looks at a backlog: what is written may turn out to be slow
PIECE = 1000  # pods in one request to take reservations back: they are taken back under one lock
# Pods that nobody lets go now: what is kept for them is kept for nobody.
WAITING = (PodState.HELD, PodState.BLOCKED, PodState.PARKED, PodState.STRANDED)


class _Waiting(NamedTuple):
    """A release that waits for its writes to begin."""

    namespace: str
    gang: bool
    task: asyncio.Task[Any] | None
    since: float


@dataclass
class ReleaseWriter:
    """Writes what rounds decided. `clock` gives Unix seconds."""

    cache: OperatorCache
    places: PlacementSource
    writer: PodWriter
    settings: Settings
    metrics: Metrics
    grace: DegradedMode
    clock: Callable[[], float]
    last_release: float = 0.0
    # Pods whose nomination is being taken back, and of which failed release; see Nominations.
    clearing: dict[str, asyncio.Task[float | None]] = field(default_factory=dict)
    _under_way: set[asyncio.Task[object]] = field(default_factory=set)
    _writing: Counter[str] = field(default_factory=Counter)  # releases that are written or wait for that, by namespace
    _line: dict[str, _Waiting] = field(default_factory=dict)  # those among them that wait, by the pod's uid
    _newest: dict[str, Handover] = field(default_factory=dict)  # the last of each pod's releases that go on
    _kept_at: float = 0.0  # when the first gang that is written was placed, or all of them anew
    _doubtful: dict[str, float] = field(default_factory=dict)  # pods that may be reserved for, and asked about until

    def __post_init__(self) -> None:
        # Both writes of a pod go back to back, before the next one's: a nominated pod behind its gate takes room.
        self._hands = FairSlots(self.settings.in_flight)

    async def hand_over(self, handovers: Sequence[Handover]) -> int:
        """Hand over releases to be written; each is charged before its first write. Returns how many.

        The next round need not wait for the last answer of this one: what is on its way counts as released. So writes
        go on while the next ones are decided, and only a backlog holds up the rounds.
        """
        now = self.clock()
        for each in handovers:
            self.cache.begin(each.pod.uid, now, each.node, growth=each.how == GROWN)
        self._writing.update(each.pod.namespace for each in handovers)
        if not self._writes_gangs():
            self._kept_at = now
        self._newest.update({each.pod.uid: each for each in handovers})
        for each in handovers:
            self.start(self._carry(each)).add_done_callback(partial(self._carried, each))
        while self._backlog() > 2 * self.settings.in_flight:
            await asyncio.wait(self._under_way, timeout=LOOK, return_when=asyncio.FIRST_COMPLETED)
        return len(handovers)

    def _backlog(self) -> int:
        """Releases to be written, but for those of namespaces where that takes long: nobody else waits for them."""
        return sum(number for namespace, number in self._writing.items() if not self._hands.slow(namespace))

    def _carried(self, release: Handover, _: object) -> None:
        if self._newest.get(release.pod.uid) is release:
            del self._newest[release.pod.uid]
        namespace = release.pod.namespace
        self._writing[namespace] -= 1
        if not self._writing[namespace]:
            del self._writing[namespace]

    def few(self, releases: Iterable[Release]) -> list[Release]:
        """Of namespaces whose writes take long no more than are written at once; gangs whole."""
        taken, slow = Counter[str](), self._hands.slow
        few: list[Release] = []
        for each in releases:
            namespace = each.app.partition("/")[0]
            taken[namespace] += not each.gang and slow(namespace)
            if each.gang or taken[namespace] <= self.settings.in_flight:
                few.append(each)
        return few

    async def thin(self) -> None:
        """Hold pods again that wait behind slow writes of their namespace: places and room are for others meanwhile.

        Some stay in line, and so does every gang, of which a part may be written. While any wait, no more are released.
        """
        slow = [(uid, each) for uid, each in self._line.items() if self._hands.slow(each.namespace)]
        self.cache.backed_up = frozenset(each.namespace for _, each in slow)
        stay, back = Counter[str](), list[str]()
        for uid, each in slow:
            stay[each.namespace] += not each.gang
            late = stay[each.namespace] > self.settings.in_flight or self.clock() - each.since >= STALE
            if each.gang or each.task is None or not late:
                continue
            each.task.cancel()
            self._begun(uid, each)
            # One that somebody else let go needs its room; so does one that may be nominated, until that is cleared.
            if self.cache.take_back(uid) and uid not in self.cache.nominated_in_vain:
                back.append(uid)
        if back:
            await self.unreserve(back)
        await self._keep_gangs()

    async def _keep_gangs(self) -> None:
        """Have the extender keep the places of gangs that are written for long: what is left of one needs them all."""
        if not self._writes_gangs() or self.clock() - self._kept_at < STALE:
            return
        self._kept_at = self.clock()
        try:
            await self.tell_again(gangs=True)
        except Unavailable as problem:
            self.grace.failed(problem)
            self._kept_at -= STALE / 2  # soon again: two tries more before a place ends

    def _writes_gangs(self) -> bool:
        return any(each.gang for each in self._newest.values())

    def _begun(self, uid: str, waiting: _Waiting) -> None:
        """It waits no more. Another release of the same pod may."""
        if self._line.get(uid) is waiting:
            del self._line[uid]

    def in_line(self, uid: str) -> bool:
        """Whether a pod's release waits for its writes to begin: it is late for nothing."""
        return uid in self._line

    def start(self, writing: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        """Write beside the rounds."""
        task = asyncio.create_task(writing)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def stop(self) -> None:
        """Give up what is under way: nobody leads any more. The next leader finds what is half-written."""
        writes = {*self._under_way, *self.clearing.values()}
        for write in writes:
            write.cancel()
        await asyncio.gather(*writes, return_exceptions=True)

    async def drain(self, seconds: float | None = None) -> None:
        """Wait until everything is written, for so long."""
        if writes := {*self._under_way, *self.clearing.values()}:
            await asyncio.wait(writes, timeout=seconds)

    async def tell_again(self, *, gangs: bool = False) -> None:
        """Have an extender keep the places of releases, or of gangs alone, that are still being written.

        Nothing shows them yet to one that is new, and one that placed them keeps what is placed anew for longer.
        """
        chosen = [uid for uid, each in self._newest.items() if each.gang or not gangs]
        released = ((self.cache.index.pod(uid), self.cache.in_flight.get(uid)) for uid in chosen)
        going = [(pod, way) for pod, way in released if pod is not None and way is not None]
        wishes = [PlacementWish(pod.uid, submitted=pod.created, nodes=(way.node,)) for pod, way in going if way.node]
        placed = (await self.places.place(wishes)).placed
        others = [Reservation(pod.uid, pod.declared, way.growth) for pod, way in going if pod.uid not in placed]
        await self.places.reserve(others)

    async def nominate(self, pod: PodRecord, node: str) -> bool:
        """Write or clear a nomination alone; whether it is written. Where not, the filter still knows the node."""
        try:
            return (await self.writer.nominate(pod, node)).done
        except Unavailable as problem:
            log.warning("nomination not written", pod=pod.key, trouble=str(problem))
            self.metrics.errors.labels("nominate").inc()
            return False

    async def _carry(self, release: Handover) -> None:
        """Write one release; one that could not be written is taken back."""
        pod, nominate = release.pod, release.node if release.nominates else ""
        if (clearing := self.clearing.get(pod.uid)) is not None:
            await self._after(pod.namespace, clearing)  # it would take back what is written now
        waiting = _Waiting(pod.namespace, release.gang, asyncio.current_task(), self.clock())
        self._line[pod.uid] = waiting
        try:
            async with self._hands.slot(pod.namespace):
                self._begun(pod.uid, waiting)
                self.cache.in_flight.restart(pod.uid, self.clock())
                written = await self._write_one(pod, nominate)
        finally:
            self._begun(pod.uid, waiting)
        if written:
            self.last_release = self.clock()
            self.metrics.released.labels(self.cache.governing.queue_of(pod.namespace), release.how).inc()
            return
        # One that was given up in the meantime says nothing of the next one, nor of its room.
        if self._newest.get(pod.uid, release) is not release or not self.cache.take_back(pod.uid):
            return
        if nominate:  # the nomination may be written all the same: its room is kept until it is surely taken back
            self.cache.nominated_in_vain[pod.uid] = self.clock()
        else:
            await self.unreserve([pod.uid])

    async def _after(self, namespace: str, clearing: asyncio.Task[float | None]) -> None:
        """No backlog: others are written meanwhile."""
        self._writing[namespace] -= 1
        try:
            await asyncio.wait([clearing])
        finally:
            self._writing[namespace] += 1

    async def _write_one(self, pod: PodRecord, node: str) -> bool:
        began = perf_counter()
        try:
            await self._resize(pod)
            written = await self._lifted(pod, node)
        except Unavailable as problem:
            log.warning("not released", pod=pod.key, trouble=str(problem))
            self._failed(pod)
            return False
        except Exception:  # or the pod would count as released for ever
            log.exception("not released", pod=pod.key)
            self._failed(pod)
            return False
        self.metrics.release.observe(perf_counter() - began)
        if written.done:
            self._waited(pod)
        elif written.outcome is WriteOutcome.GONE:
            self._step_aside(pod)
        else:
            log.error("the API server refuses a release", pod=pod.key, message=written.message)
            self._failed(pod)
        return written.done

    async def _lifted(self, pod: PodRecord, node: str) -> Written:
        """Both writes of a release, once more where they failed: they are safe to repeat, and most then succeed."""
        write = self.writer.release if pod.gated or not pod.parked else self.writer.unpark
        try:
            return await write(pod, node)
        except Unavailable:
            return await write(pod, node)

    async def _resize(self, pod: PodRecord) -> None:
        """Give a task the requests its forerunners taught us; one that is not given them goes with those it has."""
        wanted = self.cache.learning.wanted(pod)
        if wanted is None:
            return
        try:
            result = (await self.writer.resize(pod, wanted)).outcome.value
        except Unavailable as problem:
            log.warning("not resized", pod=pod.key, trouble=str(problem))
            result = "unavailable"
        self.metrics.resizes.labels(result).inc()

    def _waited(self, pod: PodRecord) -> None:
        member = self.cache.index.member(pod.uid)
        name = member.role if member else "unknown"
        self.metrics.wait.labels(name).observe(max(0.0, wall(self.clock) - pod.created))

    def _failed(self, pod: PodRecord) -> None:
        self.metrics.errors.labels("release").inc()
        self._step_aside(pod)

    def _step_aside(self, pod: PodRecord) -> None:
        """A release was not written, for whatever reason: it is tried again, after those of others."""
        self.cache.pause(pod.uid, self.clock(), Vain.UNWRITTEN)

    async def unreserve(self, uids: Sequence[str]) -> None:
        """Give room back that was kept for pods; where nobody answers, `settle` tries again."""
        left = deque(slices(uids, PIECE))
        try:
            while left:
                await self.places.unreserve(left[0])
                left.popleft()
        except Unavailable as problem:
            self.grace.failed(problem)
            doubtful = dict.fromkeys(chain.from_iterable(left), 0.0) | self._doubtful
            self._doubtful = {uid: doubtful[uid] for uid in doubtful if self.cache.index.pod(uid) is not None}

    def doubt(self, uids: Iterable[str]) -> None:
        """Nobody answered whether these pods got room. They may have it, and it would lapse only after 75 s."""
        self._doubtful.update(dict.fromkeys(uids, self.clock() + LATE))

    async def settle(self) -> bool:
        """Give back room that may be kept for pods which still wait; whether there were any.

        That is repeated until it is answered, and until nobody works on the question any more that had no answer.
        """
        now, waiting = self.clock(), [uid for uid in self._doubtful if self._waits(uid)]
        self._doubtful = {uid: until for uid in waiting if (until := self._doubtful[uid]) > now}
        await self.unreserve(waiting)
        return bool(waiting)

    def _waits(self, uid: str) -> bool:
        """Whether a pod is not on its way. One that may be nominated keeps its room until that is cleared."""
        pod = self.cache.index.pod(uid)
        return pod is not None and self.cache.state_of(pod) in WAITING and uid not in self.cache.nominated_in_vain
