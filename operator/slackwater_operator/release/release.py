"""One round of the release loop: decide on a snapshot, have nodes named, lift gates, and nominate where that is needed.

1. let go of everything in namespaces that no longer hold
2. ask for room; without the extender hold for the grace time, then go on with declared sums
3. decide, place, release; pods that found no node step aside and the next ones are tried
4. remember the borders of pools, and keep the verdicts for those who tell them
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

import structlog

from slackwater.cycle.cycle import Release, Round, decide
from slackwater.cycle.releaseranks import ranks
from slackwater.cycle.snapshot import Snapshot
from slackwater.errors import Unavailable
from slackwater.placement.declaredsums import DeclaredAsk, declared_sums
from slackwater.placement.knapsack import MAX_TASKS
from slackwater.resources import Resources, total
from slackwater_cluster import names
from slackwater_cluster.pods.nodecolumns import accepting
from slackwater_operator.cache.cache import OperatorCache
from slackwater_operator.cache.quarantine import Part, sentence
from slackwater_operator.cache.refusals import AwaitedRoom
from slackwater_operator.cache.rooms import Rooms
from slackwater_operator.cache.roundresult import RoundResult
from slackwater_operator.cache.snapshot import take_snapshot
from slackwater_operator.clients.extenderclient import (
    DegradedMode,
    Placement,
    PlacementSource,
    PlacementWish,
    Reservation,
    wish,
)
from slackwater_operator.clients.podwriter import WATCH_DELAY, PodWriter
from slackwater_operator.metrics import Metrics
from slackwater_operator.release.batch import (
    GROWN,
    LIFTED,
    NOMINATED,
    STEERED,
    Handover,
    batch,
    beside,
    moves,
    steerable,
)
from slackwater_operator.release.recorder import Recorder
from slackwater_operator.release.releasewriter import ReleaseWriter
from slackwater_operator.settings import Settings
from slackwater_operator.steadyclock import wall

log = structlog.get_logger(__name__)

# Tries per round for those behind pods that found no node.
TRIES = 4
# Seconds by which the extender's watch may be behind ours on an ordinary day.
BEHIND = 0.05
WRITTEN = 5.0  # seconds in which quick writes are written


@dataclass
class Releaser:
    """Runs rounds. `clock` gives Unix seconds."""

    cache: OperatorCache
    places: PlacementSource
    writer: PodWriter
    settings: Settings
    metrics: Metrics
    grace: DegradedMode
    clock: Callable[[], float]
    result: RoundResult | None = None  # of the last round
    no_node: dict[str, str] = field(default_factory=dict)  # app → why its pods found no node
    rooms: Rooms | None = None  # as last asked for
    recorder: Recorder | None = None  # writes down what each round saw and decided
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep
    _instance: str = ""  # of the extender that told the last rooms
    _placing_fails: bool = False  # the last batch got no answer: until one does, rooms that are told say nothing

    def __post_init__(self) -> None:
        self.writes = ReleaseWriter(
            self.cache, self.places, self.writer, self.settings, self.metrics, self.grace, self.clock
        )

    async def round(self) -> int:
        """Run one round; returns how many pods were released."""
        await self.writes.thin()
        released = await self._free()
        self.rooms = rooms = await self._rooms()
        if rooms is None and not self.grace.over:
            self._look(None, holding=self._silence)
            return released
        for _ in range(TRIES):
            result = self._look(rooms)
            await self._seat(result.round.growth_with_room)
            chosen = self.writes.few(batch(result.round.releases, self._batch_size()))
            if not chosen:
                if not self._placing_fails:
                    self._well(rooms)
                break
            done, refused = await self._release(result, chosen)
            released += done
            if not refused:
                break
            if rooms is not None:  # what was just placed and reserved counts there
                self.rooms = rooms = await self._rooms()
                if rooms is None:
                    break
        return released

    def _batch_size(self) -> int:
        """Pods placed together; on an idle cluster as many as the knapsack packs: it must see them all (ITA)."""
        return self.settings.batch if self.cache.busy() else max(self.settings.batch, MAX_TASKS)

    def supposed(self) -> Round | None:
        """What would be decided if namespaces in the modes observe and score were in enforce."""
        if not self.cache.looks_on():
            return None
        found = take_snapshot(self.cache, self.clock(), self.rooms, wall=wall(self.clock), supposed=True)
        return self._decide(found)[1]

    # -- 1. ---------------------------------------------------------------------------------------------------------

    async def _free(self) -> int:
        """Modes observe and score hold nothing, nor does a namespace that opted out."""
        self.cache.views.refresh()
        freed, backed_up = self.cache.freed(self.clock()), self.cache.backed_up
        pods = [pod for pod in freed if pod.namespace not in backed_up][: self.settings.batch]
        if not pods:
            return 0
        try:
            await self.places.reserve([Reservation(pod.uid, pod.declared) for pod in pods])
        except Unavailable as problem:
            self.grace.failed(problem)  # they are let go all the same: holding is what must not happen
        return await self.writes.hand_over([Handover(pod, "", "freed") for pod in pods])

    # -- 2. ---------------------------------------------------------------------------------------------------------

    async def _rooms(self) -> Rooms | None:
        try:
            rooms = await self.places.rooms()
            if await self.writes.settle():  # what was kept for nobody is room
                rooms = await self.places.rooms()
            if self._instance not in ("", rooms.instance):
                rooms = await self._introduced()
        except Unavailable as problem:
            self._failed(problem)
            return None
        self._instance = rooms.instance
        return rooms

    def _well(self, rooms: Rooms | None) -> None:
        """The extender did what a round needs of it. That it tells rooms is not enough: it must also find nodes."""
        self._placing_fails = False
        if rooms is not None:
            self.grace.well()
            self.metrics.without_extender.set(0)

    async def _introduced(self) -> Rooms:
        """Rooms of an extender that answers for the first time: it knows of placements what pods show, and no more.

        So what the one before it placed is written first, and gets the time to reach its watch. What takes long to be
        written is placed again, where it was.
        """
        log.info("another extender answers; what is on its way is written first")
        await self.writes.drain(WRITTEN)
        await self.pause(WATCH_DELAY)
        await self.writes.tell_again()
        return await self.places.rooms()

    @property
    def _silence(self) -> str:
        return f"the extender does not answer ({self.grace.trouble})"

    def _failed(self, problem: Unavailable) -> None:
        if self.grace.since is None:
            log.warning("the extender does not answer; holding", trouble=str(problem), grace=self.grace.patience)
        self.grace.failed(problem)
        self.metrics.errors.labels("extender").inc()
        self.metrics.without_extender.set(self.grace.clock() - (self.grace.since or self.grace.clock()))

    # -- 3. ---------------------------------------------------------------------------------------------------------

    def _look(self, rooms: Rooms | None, holding: str = "") -> RoundResult:
        """The snapshot of this moment, and the decision on it: a pure function, and a matter of milliseconds."""
        began = perf_counter()
        snapshot = take_snapshot(self.cache, self.clock(), rooms, wall=wall(self.clock))
        seen = perf_counter()
        snapshot, decided = self._decide(snapshot)
        self.metrics.round.labels("snapshot").observe(seen - began)
        self.metrics.round.labels("decide").observe(perf_counter() - seen)
        if self.recorder is not None:
            self.recorder.note(snapshot, decided)
        if not holding:
            self.cache.queues.remember(decided)
        self.result = RoundResult(snapshot, decided, holding)
        self.no_node = {app: why for app, why in self.no_node.items() if app in self.cache.views}
        return self.result

    def _decide(self, snapshot: Snapshot) -> tuple[Snapshot, Round]:
        """The decision; apps that make it fail are found by deciding on each alone, and set aside."""
        try:
            return snapshot, decide(snapshot)
        except Exception as problem:
            guilty = {app.id for app in snapshot.apps if _fails(replace(snapshot, apps=(app,)))}
            if not guilty:
                raise
            log.exception("apps set aside", apps=sorted(guilty)[:20])
            for each in [self.cache.views[app] for app in guilty]:
                lead = self.cache.index.pod(each.lead)
                if lead is not None:
                    self.cache.quarantine.add(Part.APP, lead, f"its app cannot be decided on: {sentence(problem)}")
            rest = replace(snapshot, apps=tuple(app for app in snapshot.apps if app.id not in guilty))
            return rest, decide(rest)

    async def _release(self, result: RoundResult, chosen: Sequence[Release]) -> tuple[int, int]:
        """Place and write; returns how many were released and how many found no node."""
        bare = [each.uid for each in chosen if not each.growth and not self._nominates(each.queue)]
        grown = [each.uid for each in chosen if each.growth]
        free, ranked = {*bare, *grown}, ranks(result.snapshot, chosen)
        nodes = functools.cache(self.cache.queue_nodes)
        wishes = [wish(each, nodes(each.queue), ranked[each.uid]) for each in chosen if each.uid not in free]
        placement = await self._place(result, wishes, self._reservations(bare, grown))
        if placement is None:
            return 0, 0
        apps = {each.uid: each.app for each in chosen}
        placement = await self._whole(await self._beside(placement, chosen, wishes), chosen)
        self._step_aside(placement, apps)
        steered = self._steered(result, chosen) if placement.reserved else set[str]()
        for uid in placement.placed:
            self.no_node.pop(apps[uid], None)
        found = [(uid, "", LIFTED) for uid in bare]
        found += [(uid, node, STEERED if uid in steered else NOMINATED) for uid, node in placement.placed.items()]
        found += [(uid, "", GROWN) for uid in grown]
        gangs = {each.uid for each in chosen if each.gang}
        return await self.writes.hand_over(self._handovers(found, gangs)), len(placement.refused)

    async def _seat(self, uids: Sequence[str]) -> None:
        """Growth pods for which a node has room get it before any held pod: they asked for the machine that came."""
        pods = [pod for uid in uids if uid not in self.cache.refused and (pod := self.cache.index.pod(uid)) is not None]
        if not pods or self.rooms is None:
            return
        now = self.clock()
        try:
            placement = await self.places.place(moves(self.cache, ((pod, "") for pod in pods)))
        except Unavailable as problem:
            self._placing_fails = True
            self._failed(problem)
            return
        for uid in placement.refused:
            self.cache.refused.add(uid, now + self.settings.retry)
        for pod in pods:
            if (node := placement.placed.get(pod.uid)) is not None:
                self.cache.moved(pod.uid, now, node)
                self.writes.start(self.writes.nominate(pod, node))

    def _steered(self, result: RoundResult, chosen: Sequence[Release]) -> set[str]:
        """Pods that the extender's filter brings to their nodes: none if the scheduler may leave out nodes."""
        if self.rooms is None or len(self.rooms.table) > self.settings.steer_nodes:
            return set()
        found = steerable(result.snapshot, chosen)
        return found if self.settings.steer_lowered else {uid for uid in found if not self._lowered(uid)}

    def _lowered(self, uid: str) -> bool:
        """Whether a pod asks the scheduler for less than it declares."""
        pod = self.cache.index.pod(uid)
        return pod is None or not pod.declared.fits(pod.native)

    def _handovers(self, found: Iterable[tuple[str, str, str]], gangs: Container[str]) -> list[Handover]:
        pod = self.cache.index.pod
        return [Handover(known, node, how, uid in gangs) for uid, node, how in found if (known := pod(uid))]

    def _nominates(self, queue: str) -> bool:
        """Whether pods of a queue get their node from us; else the gate is all that is written."""
        return self.cache.governing.queue(queue).release.nominate

    def _reservations(self, bare: Sequence[str], grown: Sequence[str]) -> list[Reservation]:
        """Pods that go without a node of ours, by their gate alone or towards nodes to come."""
        pod = self.cache.index.pod
        return [
            Reservation(uid, found.declared, growth)
            for uids, growth in ((bare, False), (grown, True))
            for uid in uids
            if (found := pod(uid)) is not None
        ]

    async def _place(
        self, result: RoundResult, wishes: Sequence[PlacementWish], unplaced: Sequence[Reservation]
    ) -> Placement | None:
        # HaSTE-A's factor of this round, the largest of its queues: where no app iterates it weighs nothing.
        alpha = max(result.round.alphas.values(), default=0.0)
        try:
            await self.places.reserve(unplaced)
            placement = await self.places.place(wishes, cold=not self.cache.busy(), alpha=alpha)
        except Unavailable as problem:
            self._placing_fails = True
            self._failed(problem)
            self.writes.doubt([*(each.uid for each in unplaced), *(each.uid for each in wishes)])
            if self.grace.over:
                return self._alone(wishes)
            self.result = replace(result, holding=self._silence)
            return None
        self._well(self.rooms)
        return placement

    def _alone(self, wishes: Sequence[PlacementWish]) -> Placement:
        """Without the extender: by what pods declare, of what nodes have left by declared sums."""
        node_requests, index = self.cache.node_requests, self.cache.index
        pods = {each.uid: pod for each in wishes if (pod := index.pod(each.uid)) is not None}

        free = {name: node_requests.free(name) for name, node in node_requests.nodes.items() if node.open}
        for uid, on_its_way in self.cache.in_flight.all():
            pod = index.pod(uid)
            if pod is not None and on_its_way.node in free:
                free[on_its_way.node] = free[on_its_way.node] - pod.declared
        asks = [
            DeclaredAsk(each.uid, pods[each.uid].declared, each.nodes, each.avoid)
            for each in wishes
            if each.uid in pods
        ]
        allowed = accepting(node_requests.nodes, {uid: pod.constraints for uid, pod in pods.items()})
        found = declared_sums(asks, free, allowed)
        placed = {uid: node for uid, node in found.items() if node is not None}
        refused = {uid: "no node has the declared amount free" for uid, node in found.items() if node is None}
        return Placement(placed, refused, reserved=False)

    async def _beside(
        self, placement: Placement, chosen: Sequence[Release], wishes: Sequence[PlacementWish]
    ) -> Placement:
        """A gang of which one pod found no node, since others took it first, is tried where the round found room."""
        again = beside(chosen, wishes, placement.refused) if placement.reserved else []
        if not again:
            return placement
        try:
            return placement.revised(await self.places.place(again))
        except Unavailable as problem:
            self._placing_fails = True
            self._failed(problem)
            self.writes.doubt(each.uid for each in again)
            return placement.revised(Placement(refused={each.uid: str(problem) for each in again}))

    async def _whole(self, placement: Placement, chosen: Iterable[Release]) -> Placement:
        """A gang of which one pod found no node keeps none of the others' nodes."""
        gangs = {each.uid: each.app for each in chosen if each.gang}
        broken = {gangs[uid] for uid in placement.refused if uid in gangs}
        back = [uid for uid in placement.placed if gangs.get(uid) in broken]
        if not back:
            return placement
        await self.writes.unreserve(back)
        kept = {uid: node for uid, node in placement.placed.items() if uid not in set(back)}
        alone = dict.fromkeys(back, "a pod of its gang found no node")
        return replace(placement, placed=kept, refused={**placement.refused, **alone})

    def _step_aside(self, placement: Placement, apps: dict[str, str]) -> None:
        now = self.clock()
        left = self._left(placement) if placement.refused else None
        for uid, reason in placement.refused.items():
            if reason == names.UNKNOWN_POD:  # over in a moment
                self.cache.refused.add(uid, now + min(BEHIND, self.settings.period))
                continue
            self.cache.refused.add(uid, now + self.settings.retry)
            self._await_room(uid, placement, left)
            self.no_node[apps.get(uid, "")] = reason

    def _await_room(self, uid: str, placement: Placement, left: Rooms | None) -> None:
        """A pod is asked about again as soon as a node has the room it was refused for: what it needs or declares."""
        pod = self.cache.index.pod(uid)
        if pod is not None and left is not None:
            needs = placement.needs.get(uid) or pod.declared
            self.cache.refused.await_room(uid, AwaitedRoom(needs, pod.constraints), left)

    def _left(self, placement: Placement) -> Rooms | None:
        """What nodes have once this batch is there: pods that were refused found no more than that."""
        if self.rooms is None:
            return None
        given: dict[str, list[Resources]] = {}
        for uid, node in placement.placed.items():
            if (pod := self.cache.index.pod(uid)) is not None:
                given.setdefault(node, []).append(pod.declared)
        return self.rooms.without({node: total(amounts) for node, amounts in given.items()})


def _fails(snapshot: Snapshot) -> bool:
    """Whether nothing can be decided on a snapshot."""
    try:
        decide(snapshot)
    except Exception:  # noqa: BLE001 - whatever it is, the app that causes it is set aside
        return True
    return False
