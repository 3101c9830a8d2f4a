"""What must hold of every outcome, judged from its rows and from the world, and not from what the policy says.

over capacity   what containers of a node are charged never exceeds it (for slackwater: native requests)
bound           the makespan is not below the bound of workload and cluster
refused         a job is refused if, and only if, the cluster could never run it, and a note says so
unfinished      what is left over is called a deadlock; slackwater leaves nothing over
driver          a driver leaves with its job: in YARN at its node's next heartbeat, elsewhere at once
used            no more is used of a cluster than it has
crash           an oracle breaks nothing; memory breaks nothing of tasks that use no more than they ask for
causes          core-hours by cause add up to the cores of the cluster, from the first submission to the end of the last
                container, or to the last look where some never end
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from slackwater_simulator.policies.registry import create, variant
from slackwater_simulator.reports.causes import lower_bound
from slackwater_simulator.results.metrics import measure
from slackwater_simulator.results.outcome import Containers, Outcome
from slackwater_simulator.results.status import CRASHED, DONE, DRIVER, FAILED, FINISHED, REFUSED, UNFINISHED
from slackwater_simulator.workload.workload import Job
from slackwater_simulator.worlds.yarn.rounding import Rounding
from slackwater_simulator.worlds.yarn.settings import Settings
from support.simsearch.world import KINDS, SmallWorld

Fault = tuple[str, float, str]
Floats = NDArray[np.float64]
SLACK = 1e-6
PERIOD = {"kubernetes": 5.0}  # seconds between two looks; 1 elsewhere
CEILING = np.array([2.0, 1.5, 1.0])
WHOLE = ("fcfs", "small-first-backfill", "easy", "dress")
BELIEVING = ("estimation", "oracle", "network", "nearest")  # charge something else than requests


def faults(world: SmallWorld, outcome: Outcome) -> Iterator[Fault]:
    """Everything that is wrong with an outcome."""
    judge = Judge(world, outcome)
    yield from judge.refusals()
    yield from judge.leftovers()
    yield from judge.drivers()
    yield from judge.overfull()
    yield from judge.bound()
    yield from judge.used()
    yield from judge.causes()


class Judge:
    """One outcome."""

    def __init__(self, world: SmallWorld, outcome: Outcome) -> None:
        self.world, self.outcome = world, outcome
        self.name, options = variant(outcome.policy)
        self.ours = self.name == "slackwater"
        self.counted = _counted(self.name, outcome.world, options)
        self.rounded = Rounding(Settings(), len(KINDS)) if outcome.world == "yarn" else tuple
        self.capacity = np.array([host.capacity for host in world.hosts])
        self.status = outcome.jobs.status.tolist()
        self.greedy = any(greedy(job) for job in world.jobs)

    # ---- who ends ---------------------------------------------------------------------------------------------------

    def refusals(self) -> Iterator[Fault]:
        """Refused is what could never run, and nothing else."""
        for job, status in zip(self.world.jobs, self.status, strict=True):
            possible = self.possible(job)
            if possible and status == REFUSED:
                yield "refused", job.submit, f"{job.id} could run: {' '.join(self.outcome.notes)}"
            if not possible and status == FINISHED:
                yield "finished", job.submit, f"{job.id} cannot run"
            if not possible and status != REFUSED and (self.ours or self.outcome.world == "transfer"):
                yield "not refused", job.submit, f"{job.id} cannot run"
        if REFUSED in self.status and not any("refused" in note for note in self.outcome.notes):
            yield "silent", 0.0, "jobs were refused, and no note says so"

    def leftovers(self) -> Iterator[Fault]:
        """Only drivers that are in each other's way leave something over, and only to others than slackwater."""
        left = [job.id for job, status in zip(self.world.jobs, self.status, strict=True) if status == UNFINISHED]
        if bool(left) != self.outcome.deadlock:
            yield "deadlock", 0.0, f"left over are {left}, and a deadlock is {self.outcome.deadlock}"
        # A driver that uses twice what it asked for may leave nothing of its node for the tasks it waits for.
        if left and not self.greedy and (self.ours or not any(job.driver for job in self.world.jobs)):
            yield "unfinished", 0.0, f"{', '.join(left)} never ended"
        failed = [job.id for job, status in zip(self.world.jobs, self.status, strict=True) if status == FAILED]
        if failed and not self.greedy:
            yield "failed", 0.0, f"{', '.join(failed)} failed"
        crashed = int((self.outcome.containers.status == CRASHED).sum())
        if crashed and self.name == "oracle" and not self.greedy:
            yield "crash", 0.0, f"{crashed} containers broke"

    def drivers(self) -> Iterator[Fault]:
        """No driver keeps its room after its job."""
        rows, ends = self.outcome.containers, self.outcome.jobs.end
        mine = np.flatnonzero((rows.stage == DRIVER) & (rows.status == DONE))
        beat = Settings().node_heartbeat if self.outcome.world == "yarn" else 0.0
        for row in mine[rows.released[mine] > ends[rows.job[mine]] + beat + SLACK].tolist():
            job, left = rows.job[row], float(rows.released[row])
            name = self.outcome.workload.jobs[job].id
            yield "driver", left, f"{name} ended at {ends[job]:g} s, its driver at {left:g} s"

    def possible(self, job: Job) -> bool:
        """Whether the empty cluster could run the job: one container after the other, or all at once."""
        sizes = [(self._size(stage.request), stage.tasks) for stage in job.stages if stage.tasks]
        at_once = self.name in WHOLE or (self.ours and job.gang)
        homes = self._beside(job)
        return any(all(_places(left, size) >= (tasks if at_once else 1) for size, tasks in sizes) for left in homes)

    def _beside(self, job: Job) -> list[Floats]:
        """What is left of the nodes beside the job's driver, wherever it may be; others than slackwater ask less."""
        if job.driver is None:
            return [self.capacity]
        size = self._size(job.driver.request)
        homes = [row for row in range(len(self.capacity)) if _places(self.capacity[row : row + 1], size) >= 1]
        taken = size if self.ours or self.name in WHOLE else np.zeros_like(size)
        return [self.capacity - np.outer(np.arange(len(self.capacity)) == row, taken) for row in homes]

    def _size(self, request: tuple[float, ...]) -> Floats:
        size = np.array(self.rounded(request))
        return np.where(self.counted, size, 0.0)

    # ---- what nodes hold --------------------------------------------------------------------------------------------

    def overfull(self) -> Iterator[Fault]:
        """No node is charged more than it has, at any moment."""
        if self.name in BELIEVING:
            return
        parts = [self._events(rows) for rows in (self.outcome.containers, self.outcome.held) if rows is not None]
        sizes = np.concatenate([part[0] for part in parts])
        nodes, times = (np.concatenate([part[at] for part in parts]) for at in (1, 2))
        order = np.lexsort((sizes[:, :2].sum(axis=1) > 0, times.round(9)))
        for node, capacity in enumerate(self.capacity):
            mine = order[nodes[order] == node]
            most = np.cumsum(sizes[mine], axis=0).max(axis=0, initial=0.0)
            for kind in np.flatnonzero(self.counted & (most > capacity * (1 + SLACK))).tolist():
                yield "over capacity", 0.0, f"n{node} holds {most[kind]:g} of {capacity[kind]:g} {KINDS[kind]}"

    def _events(self, rows: Containers) -> tuple[Floats, NDArray[np.int32], Floats]:
        sizes = np.array([self._charge(*row) for row in zip(rows.job.tolist(), rows.stage.tolist(), strict=True)])
        sizes = sizes.reshape(-1, len(KINDS))
        return (
            np.concatenate((sizes, -sizes)),
            np.concatenate((rows.node, rows.node)),
            np.concatenate((rows.allocated, rows.released)),
        )

    def _charge(self, row: int, stage: int) -> Floats:
        job = self.outcome.workload.jobs[row]
        if stage == DRIVER:
            assert job.driver is not None
            return self._size(job.driver.request)
        size = self._size(job.stages[stage].request)
        return size / CEILING if self.ours else size

    # ---- numbers ----------------------------------------------------------------------------------------------------

    def bound(self) -> Iterator[Fault]:
        """No makespan is below the bound; a look may be late by its period."""
        least, made = lower_bound(self.outcome), measure(self.outcome).makespan
        if least is not None and self.counted[2] and made < least - SLACK:
            yield "bound", made, f"the makespan is {made:g} s, its bound {least:g} s"

    def used(self) -> Iterator[Fault]:
        """What is used over a run is a share of the cluster."""
        for kind, share in zip(KINDS, self.outcome.used, strict=False):
            if share > 1 + SLACK:
                yield "used", 0.0, f"{share:.1%} of all {kind}"

    def causes(self) -> Iterator[Fault]:
        """Core-hours by cause are all core-hours."""
        hours = self.outcome.core_hours
        if not hours or self.world.outages:
            return
        if min(hours.values()) < -SLACK:
            yield "causes", 0.0, f"less than nothing: {dict(hours)}"
        stuck = self.outcome.held is not None and len(self.outcome.held.job) > 0
        looked = float(next(iter(self.outcome.idle.values())).time[-1])
        last = looked if stuck else float(self.outcome.containers.released.max(initial=0.0))
        whole = self.capacity[:, 0].sum() * (last - min(job.submit for job in self.world.jobs)) / 3600
        if not math.isclose(sum(hours.values()), whole, rel_tol=1e-6, abs_tol=1e-9):
            yield "causes", last, f"{sum(hours.values()):g} core-hours of {whole:g}"


def _counted(name: str, place: str, options: dict[str, object]) -> NDArray[np.bool_]:
    """Which kinds the policy counts."""
    if place == "transfer":
        return np.array([False, True, False])
    if name == "capacity":
        return np.array([False, True, False]) | (options.get("calculator") == "dominant")
    made = create(name, place, dict(options))
    checked = getattr(made, "inner", made).checked
    return np.array([checked is None or kind in checked for kind in range(len(KINDS))])


def _places(nodes: Floats, size: Floats) -> int:
    """How many containers of a size the nodes hold."""
    asked = size > 0
    if not asked.any():
        return 1 << 30
    most = ((nodes[:, asked] + SLACK * nodes[:, asked].clip(min=1e-3)) // size[asked]).min(axis=1)
    return int(most.clip(min=0).sum())


def greedy(job: Job) -> bool:
    """Whether something of it uses more memory than it asks for."""
    uses = [stage.usage for stage in job.stages] + [job.driver.usage if job.driver else None]
    return any(use is not None and float(use.memory.max(initial=0.0)) > 1.0 for use in uses)
