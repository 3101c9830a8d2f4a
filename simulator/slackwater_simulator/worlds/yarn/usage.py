"""What tasks really use, looked at once per period: CPU is shared and slows tasks down, memory breaks them.

A task's use of a kind is request × level × shape(life fraction). On a node whose tasks want more CPU than it has, all
of them advance by the factor of `sharing.progress` and their ends move back by what they lost: no work vanishes. On
a node whose tasks want more memory than it has, `sharing.crash_victims` says who breaks.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import BadNumber
from slackwater_simulator.engine import END
from slackwater_simulator.physics.sharing import Victims, crash_victims
from slackwater_simulator.results.outcome import Series
from slackwater_simulator.results.status import CRASHED
from slackwater_simulator.workload.workload import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from slackwater_simulator.workload.workload import Workload
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import Container

CPU, MEMORY = 0, 1
# A driver has no life span of its own; its curve is over after this many seconds.
DRIVER_LIFE = 60.0
# Seconds in which nothing but looking happened, after which nothing else will.
STANDSTILL = 600.0
# Points kept of a series; beyond this every second one is dropped.
MOST_POINTS = 4096

# Cores wanted and bytes by row.
Uses = tuple[NDArray[np.float64], NDArray[np.float64]]
# Cores wanted and bytes by node; cores really given and bytes in all.
Seen = tuple[NDArray[np.float64], NDArray[np.float64], float, float]
Curve = tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]
FLAT: Curve = ((0.0, 1.0), (1.0, 1.0), (1.0, 1.0))


def wanted(workload: Workload) -> bool:
    """Whether the workload says what its tasks use."""
    return any(stage.usage is not None for job in workload.jobs for stage in job.stages) or any(
        job.driver is not None and job.driver.usage is not None for job in workload.jobs
    )


def shaky(workload: Workload) -> bool:
    """Whether some of its tasks use CPU unevenly from second to second."""
    return any(stage.usage is not None and stage.usage.noise > 0 for job in workload.jobs for stage in job.stages)


def _check_system(system: tuple[float, float], capacity: Sequence[Sequence[float]]) -> None:
    """Refuse a system that leaves tasks nothing of some node: they would never end there."""
    for kind, name in enumerate(("system_cpu", "system_memory")):
        least = min((node[kind] for node in capacity), default=math.inf)
        if 0 < system[kind] >= least:
            raise BadNumber(name, system[kind], f"give less than the smallest node has, {least:g}")


class UsageModel:
    """Live containers with a usage curve, as rows of arrays that are kept without gaps."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.period = world.settings.usage_period
        self.count = 0
        self.rows: list[Container] = []
        self._columns(np.zeros((3, 64), dtype=np.intp), np.zeros((10, 64)))
        self.rng = np.random.default_rng((world.seed, 2)) if shaky(world.workload) else None
        self.late = 0  # rows that owe work
        self.curves: dict[Curve, int] = {}
        self.bent: list[tuple[int, NDArray[np.float64]]] = []  # those that are not flat: number, and the curve's rows
        self.system = (world.settings.system_cpu, world.settings.system_memory)
        _check_system(self.system, world.capacity)
        self.cores = np.array([capacity[CPU] - self.system[CPU] for capacity in world.capacity])
        self.brim = np.array([(capacity[MEMORY] - self.system[MEMORY]) * (1 + 1e-12) for capacity in world.capacity])
        self.victims = Victims(world.settings.victims)
        self.area = [0.0, 0.0]
        self.ticking = False
        self.idle = 0
        self.placed = 0  # containers, as of the last look
        self.fading = -1  # as many were placed when looking went on though nobody ran
        self.last = 0.0
        self.points: list[tuple[float, float, float]] = []
        self.stride, self.skipped = 1, 0
        self._seen: tuple[Uses, Seen] | None = None  # at the last look; None when rows came or went since
        self.moved = False  # rows came or went since the last look …
        self.gone = np.zeros((2, len(world.capacity)))  # … core-seconds and byte-seconds of those that went, by node
        self.left = 0.0  # when the last of them went

    # ---- rows -----------------------------------------------------------------------------------------------------

    def add(self, container: Container) -> None:
        """A container starts; without a curve it uses what it asked for."""
        request = container.request
        job = request.app.job
        if request.driver:
            usage, asked, life = (
                job.driver.usage if job.driver else None,
                job.driver.request if job.driver else (0.0, 0.0),
                DRIVER_LIFE,
            )
        else:
            stage = job.stages[request.index]
            usage, asked = stage.usage, stage.request
            life = request.durations[container.task] + stage.shuffle
        cpu, memory, sigma = asked[CPU], asked[MEMORY], 0.0
        if usage is not None:
            cpu *= usage.cpu[container.task % len(usage.cpu)]
            memory *= usage.memory[container.task % len(usage.memory)]
            sigma = usage.noise
        self._seen = None
        row = self._row(container)
        self._whole[:, row] = container.node, self._curve(usage), -1
        self._real[:, row] = cpu, memory, max(life, 1e-3), 0.0, 0.0, 0.0, 0.0, sigma, 1.0, self.world.engine.now
        self.moved = True
        if not self.ticking:
            self._begin()

    def mark(self, container: Container, number: int) -> None:
        """Note a policy's own number for a container that has started."""
        if container.slot >= 0:
            self._mark[container.slot] = number

    @property
    def marks(self) -> NDArray[np.intp]:
        """The policy's numbers, row by row; −1 where it gave none."""
        marks: NDArray[np.intp] = self._mark[: self.count]
        return marks

    def _row(self, container: Container) -> int:
        if self.count == len(self.node):
            self._columns(np.concatenate([self._whole] * 2, axis=1), np.concatenate([self._real] * 2, axis=1))
        container.slot = self.count
        self.rows.append(container)
        self.count += 1
        return container.slot

    def _curve(self, usage: Usage | None) -> int:
        key: Curve = FLAT if usage is None else (usage.at, usage.cpu_shape, usage.memory_shape)
        number = self.curves.get(key)
        if number is None:
            number = self.curves[key] = len(self.curves)
            if key != FLAT:
                self.bent.append((number, np.array(key)))
        return number

    def remove(self, container: Container) -> None:
        """A container is gone: the last row takes its place."""
        self._seen = None
        row, last = container.slot, self.count - 1
        self._leave(row)
        container.slot = -1
        self.late -= self.owed[row] > 0
        moved = self.rows.pop()
        if moved is not container:
            self.rows[row] = moved
            moved.slot = row
            self._whole[:, row] = self._whole[:, last]
            self._real[:, row] = self._real[:, last]
        self.count = last
        if last and not self.ticking:  # a standstill was broken from outside: estimates must be able to fall again
            self.idle = 0
            self._begin()

    def _leave(self, row: int) -> None:
        """A row goes: what it has used since the last look counts at the next one."""
        lived = self.world.engine.now - max(self.last, float(self.since[row]))
        if not self.ticking or lived <= 0:
            return
        self.moved, self.left = True, self.world.engine.now
        use = np.array([self.cpu[row] * self.shake[row], self.memory[row]])
        for number, (at, *shapes) in self.bent:
            if number == self.curve[row]:
                moment = min((self.lived[row] + lived / 2) / self.life[row], 1.0)
                use *= [np.interp(moment, at, shape) for shape in shapes]
        self.gone[:, self.node[row]] += use * lived

    def _columns(self, whole: NDArray[np.intp], real: NDArray[np.float64]) -> None:
        """Name the columns of the two tables, which hold a container per row, or rather per position."""
        self._whole, self._real = whole, real
        # Its node, its curve, and a policy's own number for it.
        self.node, self.curve, self._mark = whole
        # Peak cores, peak bytes, life in seconds, life lived, bytes at the last look, seconds lost to sharing, and, for
        # tasks past the end they would have had, seconds of work still owed.
        self.cpu, self.memory, self.life, self.lived, self.before, self.lost, self.owed = real[:7]
        # Sigma of its log-normal factor on CPU (mean 1), the factor as drawn at the last look, and when it started.
        self.sigma, self.shake, self.since = real[7:]

    def postponed(self, container: Container) -> bool:
        """Whether CPU sharing has moved the container's end beyond now. If so, a later look will find its end.

        A driver has no work of its own that others could delay: it ends with its job.
        """
        row = container.slot
        if row < 0 or container.request.driver or not self.lost[row]:
            return False
        owed = container.end + float(self.lost[row]) - self.last  # seconds of work left at the last look
        self.lost[row] = 0.0
        if owed <= self.world.engine.now - self.last + 1e-9:
            container.end = min(self.last + owed, self.world.engine.now)
            return False
        self.owed[row] = owed
        self.late += 1
        return True

    # ---- looking --------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.ticking = True
        self.last = self.world.engine.now
        self.gone[:] = 0.0
        self.world.engine.at(self.last + self.period, END, self._look)

    def _look(self, _: None) -> None:
        now = self.world.engine.now
        quiet = self._quiet()  # before the policy hears of the sample and makes plans that may be in vain
        elapsed, self.last = now - self.last, now
        if self.rng is not None:
            self._shake(self.rng)
        uses, seen = self._see()
        memory, cores, stored = uses[MEMORY], *seen[:2]
        mean = self._mean(now, elapsed, uses) if self.moved and elapsed > 0 else seen
        self.world.looked(elapsed, *mean[:2])
        self._advance(elapsed, cores)
        if self.late:
            self._finish(now)
        self._note(now, elapsed, *mean[2:])
        self._break(memory, stored)
        self.before[: self.count] = self.now()[MEMORY] if self.count != len(memory) else memory
        self.world.scheduler.sampled(cores, stored)
        self.ticking = (bool(self.count) or self.fading == self.world.placed) and not self._stuck(quiet)
        if self.ticking:
            self.world.engine.at(now + self.period, END, self._look)

    def look_on(self) -> bool:
        """All stands still and nobody runs: look on for a policy that learns, until its estimates have fallen.

        False where looking would change nothing, or was in vain already.
        """
        world = self.world
        if self.count or not world.pending or not world.scheduler.learns or self.fading == world.placed:
            return False
        self.fading, self.idle = world.placed, 0
        self._begin()
        return True

    def _see(self) -> tuple[Uses, Seen]:
        """What rows and nodes use. While use is flat and nobody came or went, it is what it was."""
        if self._seen is None or self.bent or self.rng is not None:
            uses = self.now()
            node, nodes = self.node[: self.count], len(self.world.order)
            cores, stored = (
                np.bincount(node, weights=use, minlength=nodes).astype(np.float64, copy=False) for use in uses
            )
            self._seen = uses, (cores, stored, *self._sums(cores, stored))
        return self._seen

    def _mean(self, now: float, elapsed: float, uses: Uses) -> Seen:
        """What nodes used since the last look, by the second: tasks came or went in between."""
        share = np.minimum(now - self.since[: self.count], elapsed) / elapsed
        node, nodes = self.node[: self.count], len(self.world.order)
        cores, stored = (
            np.bincount(node, weights=use * share, minlength=nodes) + gone / elapsed
            for use, gone in zip(uses, self.gone, strict=True)
        )
        self.gone[:], self.moved = 0.0, False
        if not self.count:  # nodes gave what they have until the last one went, and nothing since
            cores = np.minimum(cores, self.cores * max(self.left - now + elapsed, 0.0) / elapsed)
        return cores, stored, *self._sums(cores, stored)

    def _sums(self, cores: NDArray[np.float64], stored: NDArray[np.float64]) -> tuple[float, float]:
        return float(np.minimum(cores, self.cores).sum()), float(stored.sum())

    def _shake(self, rng: np.random.Generator) -> None:
        """Draw everybody's factor on CPU until the next look: log-normal, of mean 1 (paper 000)."""
        sigma = self.sigma[: self.count]
        self.shake[: self.count] = np.exp(sigma * rng.standard_normal(self.count) - sigma * sigma / 2)

    def _quiet(self) -> bool:
        """Whether nothing is planned; for a policy that learns, nothing but visits like those that placed nothing.

        It visits nodes after each look, so where looks are more frequent than heartbeats some visit is always planned.
        """
        world, before = self.world, self.placed
        self.placed = world.placed
        return not world.engine.heap or (world.scheduler.learns and before == world.placed and world.visits_only())

    def alone(self) -> bool:
        """Whether nothing is planned but the next look, and no slowed task has its end found by looking."""
        return not self.late and all(action == self._look for _, _, _, action, _ in self.world.engine.heap)

    def _stuck(self, quiet: bool) -> bool:
        """Nothing else is going to happen: looking on would hide a deadlock.

        A policy that learns may still place after some looks, when its estimates have fallen; the ends of slowed tasks
        are found by looking.
        """
        self.idle = self.idle + 1 if quiet and not self.late else 0
        return self.idle * self.period > (STANDSTILL if self.world.scheduler.learns else 0.0)

    def now(self) -> Uses:
        """What each row uses at this moment: cores and bytes."""
        count = self.count
        cpu, memory = self.cpu[:count].copy(), self.memory[:count].copy()
        alone = len(self.curves) == 1
        for number, (at, cpu_shape, memory_shape) in self.bent:
            mine = slice(None) if alone else (self.curve[:count] == number).nonzero()[0]
            moments = np.minimum(self.lived[:count][mine] / self.life[:count][mine], 1.0)
            if moments.size:
                cpu[mine] *= np.interp(moments, at, cpu_shape)
                memory[mine] *= np.interp(moments, at, memory_shape)
        if self.rng is not None:
            cpu *= self.shake[:count]
        return cpu, memory

    def _advance(self, elapsed: float, cores: NDArray[np.float64]) -> None:
        """Everybody lives on by the elapsed time; on an overloaded node only by its share of it."""
        overloaded = cores > self.cores
        crowded = bool(overloaded.any())
        if not (crowded or self.late or self.bent):
            return  # a life without a curve need not be followed
        # core.sharing.progress for all nodes at once: min(1, (NC − system) / Σ demand).
        share = np.divide(self.cores, cores, out=np.ones_like(cores), where=overloaded)
        done = elapsed * share[self.node[: self.count]]
        if crowded:
            self.lost[: self.count] += elapsed - done
        if self.bent:
            self.lived[: self.count] += done
        if self.late:
            owing = (self.owed[: self.count] > 0).nonzero()[0]
            left = self.owed[owing] - done[owing]
            self.owed[owing] = np.where(left == 0.0, -1e-12, left)  # 0 means: owes nothing and is not late

    def _finish(self, now: float) -> None:
        """Tasks that owed work and have done it: their end lies between the last look and this one."""
        for row in np.flatnonzero(self.owed[: self.count] < 0).tolist():
            container = self.rows[row]
            container.end = now + float(self.owed[row])
            self.owed[row] = self.lost[row] = 0.0
            self.late -= 1
            self.world.ends(container)

    def _break(self, memory: NDArray[np.float64], stored: NDArray[np.float64]) -> None:
        """On nodes whose memory has run out, end whoever the rule names."""
        for full in (stored > self.brim).nonzero()[0].tolist():
            rows = np.flatnonzero(self.node[: len(memory)] == full).tolist()
            before = {self.rows[row]: float(self.before[row]) for row in rows}
            after = {self.rows[row]: float(memory[row]) for row in rows}
            capacity = self.world.capacity[full][MEMORY]
            for container in crash_victims(capacity, self.system[MEMORY], before, after, self.victims):
                self.world.lose(container, CRASHED)
            memory = self.now()[MEMORY]

    # ---- what is kept ---------------------------------------------------------------------------------------------

    def _note(self, now: float, elapsed: float, cores: float, stored: float) -> None:
        self.area[CPU] += cores * elapsed
        self.area[MEMORY] += stored * elapsed
        self.skipped += 1
        if self.skipped >= self.stride:
            self.skipped = 0
            self.points.append((now, cores, stored))
        if len(self.points) > MOST_POINTS:
            self.points = self.points[1::2]
            self.stride *= 2

    def shares(self, span: float) -> tuple[float, ...]:
        """Mean use as a share of the cluster over so many seconds; NaN where there are none."""
        total = self.world.cluster.total
        return tuple(area / (span * total[k]) if span > 0 else math.nan for k, area in enumerate(self.area))

    def series(self) -> Mapping[str, Series]:
        """Use over time."""
        if not self.points:
            return {}
        time, cpu, memory = (np.array(column) for column in zip(*self.points, strict=True))
        return {"used_cpu": Series(time, cpu), "used_memory": Series(time, memory)}
