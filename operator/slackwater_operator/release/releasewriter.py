"""The writes of releases: they go on beside the rounds, and what could not be written is taken back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from time import perf_counter
from typing import Any

import structlog

from slackwater.errors import Unavailable
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.watch.timeslices import slices
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.podstate import PodState
from slackwater_operator.cache.refusals import Vain
from slackwater_operator.clients.extenderclient import DegradedMode, PlacementSource
from slackwater_operator.clients.podwriter import PodWriter, WriteOutcome, Written
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.batch import GROWN, Handover
from slackwater_operator.settings import Settings
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

# Seconds for which a question whose answer was given up may still be worked on.
LATE = 10.0
PIECE = 1000  # pods in one request to take reservations back: they are taken back under one lock
# Pods that nobody lets go now: what is kept for them is kept for nobody.
WAITING = (PodState.HELD, PodState.BLOCKED, PodState.PARKED, PodState.STRANDED)


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
    _behind: int = 0  # those among them that wait for a nomination to be taken back: no backlog
    _doubtful: dict[str, float] = field(default_factory=dict)  # pods that may be reserved for, and asked about until

    def __post_init__(self) -> None:
        # Both writes of a pod go back to back, before the next one's: a nominated pod behind its gate takes room.
        self._hands = asyncio.Semaphore(self.settings.in_flight)

    async def hand_over(self, handovers: Sequence[Handover]) -> int:
        """Hand over releases to be written; each is charged before its first write. Returns how many.

        The next round need not wait for the last answer of this one: what is on its way counts as released. So writes
        go on while the next ones are decided, and only a backlog holds up the rounds.
        """
        now = self.clock()
        for each in handovers:
            self.cache.begin(each.pod.uid, now, each.node, growth=each.how == GROWN)
        for each in handovers:
            self.start(self._carry(each))
        while len(self._under_way) - self._behind > 2 * self.settings.in_flight:
            await asyncio.wait(self._under_way, return_when=asyncio.FIRST_COMPLETED)
        return len(handovers)

    def start(self, writing: Coroutine[Any, Any, object]) -> None:
        """Write beside the rounds."""
        task = asyncio.create_task(writing)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def drain(self) -> None:
        """Wait until everything is written."""
        if writes := {*self._under_way, *self.clearing.values()}:
            await asyncio.wait(writes)

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
            await self._after(clearing)  # it would take back what is written now
        async with self._hands:
            written = await self._write_one(pod, nominate)
        if written:
            self.last_release = self.clock()
            self.metrics.released.labels(release.how).inc()
            return
        if not self.cache.take_back(pod.uid):
            return
        if nominate:  # the nomination may be written all the same: its room is kept until it is surely taken back
            self.cache.nominated_in_vain[pod.uid] = self.clock()
        else:
            await self.unreserve([pod.uid])

    async def _after(self, clearing: asyncio.Task[float | None]) -> None:
        self._behind += 1
        try:
            await asyncio.wait([clearing])
        finally:
            self._behind -= 1

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
