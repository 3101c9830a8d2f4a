"""DRESS alone (paper 004), for the ideal world: two pools of slots, whole jobs, and a border that follows demand.

Every rule is the core's: category, forecast, Algorithm 3 and the launch test. Here it is only kept who waits, who
holds slots, and what the phases of running jobs look like.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import UnknownName
from slackwater.pools.forecast import Variant, Wave, releases
from slackwater.pools.phases import PhaseDetector, Window
from slackwater.pools.pools import (
    DELTA,
    THETA,
    Category,
    Pools,
    Supply,
    adjust,
    classify,
    launch,
    median_slot,
    slot_count,
    slots,
)
from slackwater.resources import Resources
from slackwater.validation import positive
from slackwater_simulator.engine import END, TICK
from slackwater_simulator.policies.batch.gang import Gang
from slackwater_simulator.results.outcome import Series

if TYPE_CHECKING:
    from collections.abc import Mapping

    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import Container, Request

PHASES = ("detected", "true", "none")


@dataclass(slots=True)
class Share:
    """What DRESS knows of one request: its pool, its size, and its phases once it runs."""

    category: Category
    each: float  # slots of one container
    detector: PhaseDetector
    count: int = 0
    running: int = 0
    gamma: float = math.nan  # the true first end …
    spread: float = 0.0  # … and the true Δps
    tasks: dict[Container, str] = field(default_factory=dict)


class Dress(Gang):
    """Options: θ, the first δ, forecast horizon and window in seconds, and where γ and Δps come from."""

    def __init__(
        self,
        *,
        theta: float = THETA,
        delta: float = DELTA,
        floor: float = 0.0,  # δ is never moved below this; the product has none but one slot
        horizon: float = 1.0,  # seconds ahead for which releases count as supply
        heartbeat: float = 1.0,  # seconds between looks at the border while jobs wait
        window: float = 10.0,  # pw
        phases: str = "detected",  # or `true`: as the workload has them; or `none`: no forecast at all
        variant: str = "increment",
        printed: bool = False,  # Algorithm 3 with the paper's arithmetic
        staggered: bool = False,  # durations hold the time a container took to come up; starts are told that much later
    ) -> None:
        super().__init__()
        if phases not in PHASES:
            raise UnknownName("phases", phases, PHASES)
        self.theta, self.delta, self.floor, self.printed = theta, delta, floor, printed
        self.horizon, self.heartbeat = horizon, positive("heartbeat", heartbeat)
        self.window, self.phases, self.variant = Window(window), phases, Variant(variant)
        self.staggered = staggered
        self.running: dict[Request, Share] = {}
        self.occupied = dict.fromkeys(Category, 0.0)
        self.ticking = False
        self.path: list[tuple[float, float]] = []

    def start(self, world: World) -> None:
        """One slot is the median declared task, in kinds that the cluster has."""
        super().start(world)
        there = [kind for kind, total in enumerate(world.total) if total > 0]
        self.slot = median_slot(
            Resources({world.kinds[kind]: stage.request[kind] for kind in there if kind < len(stage.request)})
            for job in world.workload.jobs
            for stage in job.stages
        )
        self.total = slot_count(Resources.from_vector(world.kinds, world.total), self.slot)

    # ---- one round ------------------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Algorithm 3 moves the border; then each pool starts its jobs from the head until one must wait."""
        now = self.world.engine.now
        waiting: dict[Category, list[tuple[float, Request]]] = {kind: [] for kind in Category}
        for request in self.line:
            share = self._share(request)
            waiting[share.category].append((share.each * request.pending, request))
        ascending = self._adjust(waiting, now)
        for kind in Category:
            line = waiting[kind]
            if ascending:
                line = sorted(line, key=lambda entry: (entry[0], entry[1].app.rank))
            self._launch(kind, line)
        self._arm(now)

    def _adjust(self, waiting: Mapping[Category, list[tuple[float, Request]]], now: float) -> bool:
        pools = self._pools()
        supply = {kind: Supply(pools.available(kind), self._released(kind, now)) for kind in Category}
        moved = adjust(
            self.delta,
            self.total,
            supply[Category.SMALL],
            supply[Category.LARGE],
            [demand for demand, _ in waiting[Category.SMALL]],
            [demand for demand, _ in waiting[Category.LARGE]],
            printed=self.printed,
            bounds=(self.floor, 1.0),
        )
        if moved.delta != self.delta or not self.path:
            self.path.append((now, moved.delta))
        self.delta = moved.delta
        return moved.ascending

    def _launch(self, kind: Category, line: list[tuple[float, Request]]) -> None:
        for demand, request in line:
            if not self._may_start(kind, demand) or not self.place(request):
                return

    def _may_start(self, kind: Category, demand: float) -> bool:
        """The launch test; a job as wide as its pool can ever be goes when nothing runs. It would wait for ever."""
        pools, free = self._pools(), self.total - sum(self.occupied.values())
        if launch(demand, kind, pools, free, gang=True).starts:
            return True
        return demand >= pools.largest(kind) and not self.world.tasks

    def _pools(self) -> Pools:
        return Pools(self.delta, self.total, self.occupied[Category.SMALL], self.occupied[Category.LARGE])

    def _arm(self, now: float) -> None:
        """While jobs wait for others to end, look again at the next heartbeat: the forecast moves with time.

        Tasks that wait for others to start have no end: looking on for them would hide a deadlock.
        """
        waits = any(request.pending for request in self.line)
        if waits and self.world.tasks and not self.ticking and not self.world.looks_only():
            self.ticking = True
            beat = (math.floor(now / self.heartbeat + 1e-9) + 1) * self.heartbeat
            self.world.engine.at(beat, TICK, self._tick)

    def _tick(self, _: None) -> None:
        self.ticking = False
        self.world.wake()

    # ---- forecast -------------------------------------------------------------------------------------------------

    def _released(self, kind: Category, now: float) -> float:
        """F_k, in slots."""
        return sum(
            share.each * releases(self._waves(share, now), now, self.horizon, self.variant)
            for share in self.running.values()
            if share.category is kind
        )

    def _waves(self, share: Share, now: float) -> list[Wave]:
        if self.phases == "none" or not share.count:  # one that has not started releases nothing
            return []
        if self.phases == "true":
            return [Wave(share.count, share.running, share.gamma, share.spread)]
        return share.detector.waves(now)

    # ---- who holds what -------------------------------------------------------------------------------------------

    def _share(self, request: Request) -> Share:
        """The job's category is fixed when it is first seen."""
        share = self.running.get(request)
        if share is None:
            each = slots(Resources.from_vector(self.world.kinds, request.shape), self.slot)
            kind = classify(each * request.pending, self.total, self.theta)
            share = self.running[request] = Share(kind, each, PhaseDetector(self.window))
        return share

    def place(self, request: Request) -> bool:
        """Start the whole job, and watch its phases from here."""
        nodes = self.plan(request)
        if nodes is None:
            return False
        share, now = self._share(request), self.world.engine.now
        containers = [self.world.allocate(request, node) for node in nodes]
        request.extras = None
        if request.driver:
            return True  # it is part of no phase: it ends when its tasks have
        lengths = [request.durations[container.task] for container in containers]
        share.gamma, share.spread = now + min(lengths), max(lengths) - min(lengths)
        share.count = len(containers)
        for number, (container, length) in enumerate(zip(containers, lengths, strict=True)):
            share.tasks[container] = str(number)
            offset = length - min(lengths) if self.staggered else 0.0
            self.world.engine.at(now + offset, END, self._started, container)
        return True

    def _started(self, container: Container) -> None:
        if container.status >= 0:
            return  # it took no time, or broke meanwhile
        share = self.running[container.request]
        share.detector.start(self.world.engine.now, share.tasks[container], size=share.count)

    def allocated(self, container: Container, /) -> None:
        """Charge its pool."""
        share = self._share(container.request)
        share.running += 1
        self.occupied[share.category] += share.each

    def released(self, container: Container, /) -> None:
        """Discharge its pool, and tell the phases."""
        share = self.running[container.request]
        share.running -= 1
        self.occupied[share.category] = max(0.0, self.occupied[share.category] - share.each)
        if container in share.tasks:
            share.detector.finish(self.world.engine.now, share.tasks.pop(container))
        if not share.running and not container.request.pending:
            del self.running[container.request]

    def series(self) -> Mapping[str, Series]:
        """δ over time."""
        if not self.path:
            return {}
        time, delta = (np.array(column) for column in zip(*self.path, strict=True))
        return {"delta": Series(time, delta)}
