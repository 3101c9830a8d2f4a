"""Where the core-hours of a run went: the cores by cause at every look at use, times the seconds since the last one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.audit.idle import Cause, NodeCharges, WaitingPods, split
from slackwater.resources import CPU
from slackwater_simulator.results.outcome import Series

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.worlds.yarn.interface import World

    Floats = NDArray[np.float64]

HOUR = 3600.0
MOST_POINTS = 2000  # kept of the course over time


class CoreHours:
    """Sums over a run. It reads the policy's books and the use, and changes nothing."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._cpu = world.kinds.index(CPU)
        self._last = min((job.submit for job in world.workload.jobs), default=0.0)
        self._spent: dict[Cause, float] = {}  # core-seconds …
        self._after: dict[Cause, float] = {}  # … and those since nobody holds anything: the run may be over
        self._course: list[tuple[float, tuple[float, ...]]] = []
        self._looks, self._stride = 0, 1

    def look(self, elapsed: float, cores: Floats, stored: Floats) -> None:
        """Use was looked at, `elapsed` seconds after the look before. Before that nothing ran, so nobody looked."""
        books = self._world.scheduler.charges()
        if books is None:
            return
        now, ended = self._world.engine.now, self._ended()
        if ended >= self._last:
            self._go_on()
        vacant = now - max(ended, self._last)
        unseen, self._last = max(now - self._last - elapsed, 0.0), now
        cores_there = float(books.table.total[books.table.open, self._cpu].sum())
        self._add(Cause.NOTHING_WAITS, cores_there * unseen, cores_there * max(vacant - elapsed, 0.0))
        waiting = self._waiting(books.ceiling)
        drivers, used = self._drivers() if waiting else (cores, cores)  # while nothing waits nobody asks for them
        use = np.zeros_like(books.table.total)
        use[:, 0], use[:, 1] = cores, stored
        drivers = drivers if books.drivers is None else books.drivers
        parts = split(NodeCharges(books.table, use, books.taken, drivers, used), waiting)
        idle = cores_there - parts[Cause.BUSY]
        share = min(cores_there * min(vacant, elapsed) / idle, elapsed) if idle > 0 else 0.0
        for cause, amount in parts.items():
            self._add(cause, amount * elapsed, 0.0 if cause is Cause.BUSY else amount * share)
        self._remember(now, parts)

    def _ended(self) -> float:
        """When the last container went; now, while there is one."""
        world = self._world
        if world.drivers or world.tasks:
            return world.engine.now
        return world.records.released[-1] if world.records.released else -math.inf

    def _add(self, cause: Cause, core_seconds: float, after: float) -> None:
        """Count core-seconds, and how many of them nobody held anything in to the end."""
        self._spent[cause] = self._spent.get(cause, 0.0) + core_seconds - after
        self._after[cause] = self._after.get(cause, 0.0) + after

    def _go_on(self) -> None:
        """Somebody came after all: the run was not over."""
        for cause, core_seconds in self._after.items():
            self._spent[cause] += core_seconds
        self._after.clear()

    def _remember(self, now: float, parts: Mapping[Cause, float]) -> None:
        """Keep every look, then every second one and so on: a long run keeps as many points as a short one."""
        if self._looks % self._stride == 0:
            self._course.append((now, tuple(parts[cause] for cause in Cause)))
        self._looks += 1
        if len(self._course) > MOST_POINTS:
            del self._course[1::2]
            self._stride *= 2

    def _drivers(self) -> tuple[Floats, Floats]:
        """Cores that drivers declare and use, by node."""
        world = self._world
        declared, used = np.zeros(len(world.capacity)), np.zeros(len(world.capacity))
        uses = world.usage.now()[0] if world.usage is not None else declared
        for app in world.masters.apps.values():
            driver = app.driver
            if driver is not None and driver.status < 0:
                declared[driver.node] += driver.request.shape[self._cpu]
                used[driver.node] += float(uses[driver.slot]) if driver.slot >= 0 else 0.0
        return declared, used

    def _waiting(self, ceiling: tuple[float, ...]) -> list[WaitingPods]:
        """What was asked for and has no node, equal pods together."""
        world, counts = self._world, dict[tuple[tuple[float, ...], bool], int]()
        if not world.pending:
            return []
        for app in world.masters.apps.values():
            if app.pending:
                for request in (app.master, *app.requests):
                    if request is not None and request.pending:
                        key = request.shape, request.driver or not ceiling
                        counts[key] = counts.get(key, 0) + request.pending
        return [
            WaitingPods(count, shape, shape if whole else tuple(d / c for d, c in zip(shape, ceiling, strict=True)))
            for (shape, whole), count in counts.items()
        ]

    def hours(self) -> Mapping[str, float]:
        """Core-hours by cause up to the last container's end, in the order of the causes; empty where nobody looked."""
        return {str(cause): self._spent.get(cause, 0.0) / HOUR for cause in Cause} if self._spent else {}

    def series(self) -> Mapping[str, Series]:
        """Cores by cause over time; empty where nobody looked."""
        if not self._course:
            return {}
        time = np.array([at for at, _ in self._course])
        parts = np.array([each for _, each in self._course])
        return {str(cause): Series(time, parts[:, at]) for at, cause in enumerate(Cause)}
