"""Releases that did not become a bind: their nominations are moved or cleared, and in the end they are parked.

The operator owns every nomination: two pods that may not preempt and are nominated to one node with room for one would
block each other for ever.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import structlog

from slackwater.errors import Unavailable
from slackwater_cluster import names
from slackwater_cluster.api.fairslots import FairSlots
from slackwater_cluster.customresources import Mode
from slackwater_cluster.customresources.admissionqueue import Release as Terms
from slackwater_cluster.objects.records import PodRecord
from slackwater_cluster.pods.nodefit import takes
from slackwater_operator.cache.podstate import UNSCHEDULABLE, InFlight, PodState
from slackwater_operator.cache.refusals import Vain
from slackwater_operator.clients.extenderclient import Placement, PlacementWish, Reservation
from slackwater_operator.clients.podwriter import WATCH_DELAY, WriteOutcome, Written
from slackwater_operator.release.batch import moves
from slackwater_operator.release.releasewriter import ReleaseWriter
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

# A pod released for an autoscaler waits for a machine to boot, not for a scheduler.
GROWTH_PATIENCE = 10.0
# Seconds after which a refused pod's own node is looked at: if it has no room any more, there is nothing to wait for.
LOOK_HOME = 1.0
# Nodes with room that the scheduler may refuse before a release has come to nothing: it is not room that is missing.
MOST_NODES = 3
# Nominations that are taken back at once; where writes to some pods take long, releases of others go on beside them.
CLEARED_AT_ONCE = 4
MOMENT, EVERY = 0.1, 1.0  # seconds that a round waits for them, and seconds between two rounds that do


@dataclass
class Nominations:
    """Looks after releases under way, with the writer of releases."""

    writes: ReleaseWriter
    told: Callable[[PodRecord], None] = lambda _: None  # a pod was parked
    _after: int = 0

    def __post_init__(self) -> None:
        writes = self.writes
        self.cache, self.places, self.writer = writes.cache, writes.places, writes.writer
        self.metrics, self.clock = writes.metrics, writes.clock
        self._hands = FairSlots(CLEARED_AT_ONCE)
        self._moving = set[str]()  # pods that are being parked, or get another node
        self._waited = -math.inf  # when a round last waited for them

    async def run(self) -> None:
        """Look once at every release under way."""
        woken = await self._woken()
        late: list[tuple[PodRecord, InFlight]] = []
        stuck: list[tuple[PodRecord, InFlight]] = []
        refused: list[tuple[PodRecord, InFlight]] = []
        for uid, on_its_way in self.cache.in_flight.all():
            pod = self.cache.index.pod(uid)
            if pod is None or not self._ours(pod) or (on_its_way.stranded and uid in self.cache.paused):
                continue
            if uid in self._moving or self.writes.in_line(uid):  # it is being written, or will be
                continue
            if on_its_way.stranded:  # no room is asked for it: nobody counts what it would take
                late.append((pod, on_its_way))
                continue
            stays = self._stuck(pod, on_its_way, woken)
            if self._late(pod, on_its_way) or (stays and _refused(on_its_way) >= MOST_NODES):
                late.append((pod, on_its_way))
                if on_its_way.growth:
                    self.cache.grown_in_vain.add(uid)
            elif stays:
                stuck.append((pod, on_its_way))
            elif on_its_way.node and self._refused_for(pod, on_its_way, LOOK_HOME):
                refused.append((pod, on_its_way))
        self._take_back([pod for pod, _ in late if pod.gated])
        await self._park([each for each in late if not each[0].gated])
        await self._move([*stuck, *await self._homeless(refused)])

    def _take_back(self, pods: Sequence[PodRecord]) -> None:
        """Releases that were not written in time: the pods are held, as the watch shows them.

        A write may still be under way. If it succeeds, the watch shows that too; their room is given back by `clear`.
        """
        for pod in pods:
            log.warning("release not seen in time", pod=pod.key)
            self.cache.end(pod.uid)
            self.cache.nominated_in_vain[pod.uid] = self.clock()

    async def clear(self) -> None:
        """Take back nominations of pods that could not be released: held or parked, they would keep room from others.

        The writes go on beside the rounds; once a second a round waits a moment for them, which is enough for most.
        """
        failed, clearing = self.cache.nominated_in_vain, self.writes.clearing
        for uid in [uid for uid in failed if uid not in clearing]:
            if self._waits(uid):
                clearing[uid] = asyncio.create_task(self._cleared(uid, failed[uid]))
            elif not self._shown_soon(failed[uid]):
                del failed[uid]  # it is on its way again, or bound
        if clearing and self.clock() - self._waited >= EVERY:
            self._waited = self.clock()
            await asyncio.wait(clearing.values(), timeout=MOMENT)
        ended = {uid: clearing.pop(uid) for uid, task in list(clearing.items()) if task.done()}
        await self.writes.unreserve([uid for uid, task in ended.items() if self._given_back(uid, task)])

    async def _cleared(self, uid: str, since: float) -> float | None:
        """When the release failed whose nomination is taken back now; None where it is not.

        There may be no nomination: to clear nothing changes nothing.
        """
        pod = self.cache.index.pod(uid)
        async with self._hands.slot(pod.namespace if pod is not None else ""):
            pod = self.cache.index.pod(uid)
            return since if pod is not None and await self.writes.nominate(pod, "") else None

    def _given_back(self, uid: str, clearing: asyncio.Task[float | None]) -> bool:
        """Whether a pod's room is to be given back, once, after the write that takes its nomination back has ended.

        Not before, because a nomination that was written and not confirmed still takes it; or when the watch has shown
        for a while that none was written.
        """
        failed, pod = self.cache.nominated_in_vain, self.cache.index.pod(uid)
        since = failed.get(uid, math.inf)
        # A release that failed meanwhile may have nominated it again: that is not taken back yet.
        if not clearing.cancelled() and clearing.result() == since:
            failed.pop(uid, None)
        elif pod is not None and (pod.nominated or self._shown_soon(since)):
            return False
        elif uid in failed:
            failed[uid] = math.inf  # it is tried again, without its room
        return since < math.inf and self._waits(uid)

    def _shown_soon(self, since: float) -> bool:
        """Whether what was written then may not have reached the watch yet."""
        return since < math.inf and self.clock() - since < WATCH_DELAY

    def _waits(self, uid: str) -> bool:
        """Whether a pod is held or parked, and not on its way again."""
        pod = self.cache.index.pod(uid)
        return pod is not None and _back(pod) and self.cache.in_flight.get(uid) is None

    async def clean(self) -> int:
        """At take-over: what is held or parked, and nominated or reserved for, keeps room for nobody.

        A dead leader left it. Pods that it released for an autoscaler to see still wait for their machines.
        """
        self.cache.adopt_growth()
        held = [pod for pod in self.cache.index.pods() if _back(pod)]
        left = [pod for pod in held if pod.nominated]
        self.cache.nominated_in_vain.update({pod.uid: self.clock() for pod in left})
        await self.clear()  # what takes long is taken back beside the first rounds, and keeps its room until then
        nominated = self.cache.nominated_in_vain
        # It may have died between place and write.
        await self.writes.unreserve([pod.uid for pod in held if pod.uid not in nominated])
        return len(left)

    def _ours(self, pod: PodRecord) -> bool:
        """Only where pods are held may they be parked or moved."""
        enforced = self.cache.governing.mode(pod.namespace) is Mode.ENFORCE
        return enforced and self.cache.state_of(pod) in (PodState.RELEASED, PodState.STRANDED)

    def _terms(self, pod: PodRecord) -> Terms:
        return self.cache.governing.queue_for(pod.namespace).release

    def _late(self, pod: PodRecord, on_its_way: InFlight) -> bool:
        patience = GROWTH_PATIENCE if on_its_way.growth else 1.0
        return self.clock() - on_its_way.since >= self._terms(pod).timeout_seconds * patience

    def _stuck(self, pod: PodRecord, on_its_way: InFlight, woken: Collection[str]) -> bool:
        if pod.uid in woken:
            return True
        return self._refused_for(pod, on_its_way, self._terms(pod).unschedulable_seconds)

    def _refused_for(self, pod: PodRecord, on_its_way: InFlight, seconds: float) -> bool:
        """Whether the scheduler calls a pod Unschedulable, so long after it was sent to a node that there is."""
        refused = on_its_way.seen and not on_its_way.growth and pod.unscheduled == UNSCHEDULABLE
        return refused and self.clock() >= on_its_way.tried + seconds

    async def _woken(self) -> Collection[str]:
        """Refused pods for which the extender has room now."""
        try:
            self._after, uids = await self.places.wakeups(self._after)
        except Unavailable:
            return ()
        return set(uids)

    async def _park(self, releases: Sequence[tuple[PodRecord, InFlight]], crowded_out: Collection[str] = ()) -> None:
        """Hold pods again. Those whose room others took pause no longer: there is nothing else that keeps them out."""
        namespaces: dict[str, list[tuple[PodRecord, InFlight]]] = {}
        for each in releases:
            namespaces.setdefault(each[0].namespace, []).append(each)
        await self._beside(self._park_some(some, crowded_out) for some in namespaces.values())

    async def _beside(self, writes: Iterable[Coroutine[Any, Any, None]]) -> None:
        """Write, and wait for that a moment: what takes longer goes on beside all else."""
        if tasks := [self.writes.start(each) for each in writes]:
            await asyncio.wait(tasks, timeout=MOMENT)

    async def _park_some(self, releases: Sequence[tuple[PodRecord, InFlight]], crowded_out: Collection[str]) -> None:
        """Park pods of one namespace; the room of each is given back at once, before it can be released again."""
        when = datetime.fromtimestamp(wall(self.clock), UTC).isoformat(timespec="seconds")
        parkings = {
            self.writes.start(self._park_one(*each, when, each[0].uid not in crowded_out)): each[0].uid
            for each in releases
        }
        while parkings:
            ended, _ = await asyncio.wait(parkings, return_when=asyncio.FIRST_COMPLETED)
            await self.writes.unreserve([parkings.pop(each) for each in ended])

    @contextmanager
    def _marked(self, uids: Collection[str]) -> Iterator[None]:
        """Nobody else moves or parks these pods meanwhile."""
        self._moving.update(uids)
        try:
            yield
        finally:
            self._moving.difference_update(uids)

    async def _park_one(self, pod: PodRecord, on_its_way: InFlight, when: str, pausing: bool) -> None:
        try:
            with self._marked([pod.uid]):
                written = await self.writer.park(pod, when, on_its_way.node)
        except Unavailable as problem:
            log.warning("not parked", pod=pod.key, trouble=str(problem))
            self.metrics.errors.labels("park").inc()
            self.cache.nominated_in_vain[pod.uid] = self.clock()  # it may be parked, and nominated all the same
            return
        if not written.done:
            await self._strand(pod, written)
            return
        self.metrics.parkings.inc()
        self.told(pod)
        refused = pausing and (on_its_way.node or on_its_way.nodes > 1)
        if refused and not on_its_way.growth and not self._closed(pod, on_its_way.node):
            self.cache.pause(pod.uid, self.clock(), Vain.UNBOUND)
        self.cache.end(pod.uid)

    async def _strand(self, pod: PodRecord, written: Written) -> None:
        """A pod that may not be parked is left alone for a while; one that is gone is soon told by the watch."""
        self.cache.strand(pod.uid, self.clock())
        if written.outcome is WriteOutcome.REFUSED:
            log.error("the API server refuses to park a pod", pod=pod.key, message=written.message)
            self.metrics.errors.labels("park").inc()
            if pod.nominated:
                await self.writes.nominate(pod, "")

    def _closed(self, pod: PodRecord, name: str) -> bool:
        """Whether the node named for a pod is gone, or takes it no more: nothing else kept the pod out."""
        node = self.cache.node_requests.nodes.get(name)
        return bool(name) and (node is None or not takes(pod.constraints, node))

    async def _move(self, stuck: Sequence[tuple[PodRecord, InFlight]]) -> None:
        """Name another node for each, or none where the scheduler refuses the only one with room: it may search then.

        One that no node has room for is held again, because others took what it was given: it would keep room from all
        others and could use none of it. So is one that came through the open gate, and one whose queue has nodes of
        its own: by itself it would also find those of others. One that waits for machines goes on waiting for them.
        """
        if not stuck:
            return
        wishes = moves(self.cache, ((pod, on_its_way.node) for pod, on_its_way in stuck))
        try:
            answer = await self.places.place(wishes)
            # A pod that the extender does not know was bound a moment ago, or is new to it: the next look will tell.
            refused = {uid for uid, reason in answer.refused.items() if reason != names.UNKNOWN_POD}
            lost = [(pod, way) for pod, way in stuck if pod.uid in refused and not way.growth]
            at_home = await self._served_at_home(lost)
            bound = {wish.uid for wish in wishes if wish.nodes is not None}
            free = [(pod, way) for pod, way in lost if not way.unasked and pod.uid not in bound]
            searching = await self._keep_room(pod for pod, _ in free if pod.uid in at_home)
        except Unavailable:
            return
        crowded_out = {pod.uid for pod, way in lost if way.node and not way.nodes and pod.uid not in at_home}
        await self._park([each for each in lost if each[0].uid not in searching], crowded_out)
        named = {**dict.fromkeys(searching, ""), **answer.placed}
        going = [pod for pod, _ in stuck if pod.uid in named]
        await self._beside(self._renominate(pod, named[pod.uid]) for pod in going)

    async def _homeless(self, refused: Sequence[tuple[PodRecord, InFlight]]) -> list[tuple[PodRecord, InFlight]]:
        """Those whose own node has no room for them any more: while they wait for it, others pass them by elsewhere."""
        try:
            answer = await self._at_home(refused)
        except Unavailable:
            return []
        return [each for each in refused if answer.refused.get(each[0].uid, names.UNKNOWN_POD) != names.UNKNOWN_POD]

    async def _served_at_home(self, lost: Sequence[tuple[PodRecord, InFlight]]) -> Collection[str]:
        """Those whose own node has room for them all the same, so that it is something else that keeps them out."""
        return (await self._at_home(lost)).placed.keys()

    async def _at_home(self, lost: Sequence[tuple[PodRecord, InFlight]]) -> Placement:
        home = [PlacementWish(pod.uid, submitted=pod.created, nodes=(way.node,)) for pod, way in lost if way.node]
        return await self.places.place(home) if home else Placement()

    async def _keep_room(self, searching: Iterable[PodRecord]) -> Collection[str]:
        """They keep as much room as they had, but no node: what they search for is another one."""
        reservations = [Reservation(pod.uid, pod.declared) for pod in searching]
        await self.places.reserve(reservations)
        return {each.uid for each in reservations}

    async def _renominate(self, pod: PodRecord, node: str) -> None:
        self.cache.moved(pod.uid, self.clock(), node)
        with self._marked([pod.uid]):
            if node != pod.nominated and await self.writes.nominate(pod, node):
                self.metrics.moves.labels("moved" if node else "cleared").inc()


def _back(pod: PodRecord) -> bool:
    """Whether the scheduler may not bind a pod: it is behind our gate, or our filter refuses it."""
    return (pod.gated or pod.parked) and not pod.node


def _refused(on_its_way: InFlight) -> int:
    """How many nodes with room the scheduler has refused, with the one that it refuses now."""
    return on_its_way.nodes + bool(on_its_way.node)
