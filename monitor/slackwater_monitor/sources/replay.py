"""A simulation as a source: its outcome played back, any number of times as fast as it happened.

Moments are seconds of virtual time. After the end the last picture stays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from slackwater.ledger.types import LedgerConfig
from slackwater_monitor.sources.comparison import compared
from slackwater_monitor.sources.usage import Wants
from slackwater_monitor.sources.views import (
    Amounts,
    App,
    Bar,
    BorderHistory,
    Node,
    Pool,
    Queue,
    SchedulerComparison,
    Side,
    Snapshot,
    TimeSeries,
)
from slackwater_simulator.results.metrics import requests, small_jobs
from slackwater_simulator.results.outcome import Outcome
from slackwater_simulator.results.status import DRIVER

Floats = NDArray[np.float64]
POINTS = 400  # of the curves
NAMESPACE = "simulated"
KINDS = ("cpu", "memory")
ALLOWANCE = LedgerConfig().allowance  # what the policy may fill of a node


class Replay:
    """One outcome; `speed` virtual seconds pass in each real one."""

    virtual = True

    def __init__(
        self,
        outcome: Outcome,
        *,
        rival: Outcome | None = None,
        speed: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.outcome, self.rival, self.speed, self._clock = outcome, rival, speed, clock
        self._begun = clock()
        rows = outcome.containers
        self._requests = requests(outcome)
        self._held = rows.allocated, rows.released
        plays = [outcome] if rival is None else [outcome, rival]
        self.end = max(float(np.nanmax(play.containers.released, initial=0.0)) for play in plays)
        self._usage = Wants(outcome)
        self._small = small_jobs(outcome)
        self._efficiency = self._efficiencies()
        self._course: TimeSeries | None = None

    @property
    def title(self) -> str:
        """Workload and policy."""
        return f"{self.outcome.workload.name} under {self.outcome.policy}"

    @property
    def now(self) -> float:
        """The virtual moment."""
        return min((self._clock() - self._begun) * self.speed, self.end)

    def snapshot(self) -> Snapshot:
        """Everything at the virtual moment."""
        now = self.now
        apps = self._apps(now)
        return Snapshot(
            at=now,
            nodes=self._nodes(now),
            apps=apps,
            queues=self._queues(apps, now),
            pools=self._pools(now),
            kinds=self.outcome.cluster.kinds,
        )

    def history(self) -> TimeSeries:
        """From the beginning to the virtual moment."""
        if self._course is None:
            self._course = self._whole()
        upto = int(np.searchsorted(self._course.time, self.now, side="right"))
        lines = {
            kind: {line: values[:upto] for line, values in each.items()} for kind, each in self._course.lines.items()
        }
        return TimeSeries(self._course.time[:upto], lines)

    def borders(self) -> Sequence[BorderHistory]:
        """How the border moved so far, where the policy has pools."""
        found = self.outcome.series.get("delta")
        if found is None:
            return ()
        upto = int(np.searchsorted(found.time, self.now, side="right"))
        thinned = slice(0, upto, max(upto // POINTS, 1))
        time = found.time[thinned]
        held = [self._sides(float(moment)) for moment in time]
        small, large = ([pair[side] for pair in held] for side in (0, 1))
        return [BorderHistory("default", time.tolist(), found.value[thinned].tolist(), small, large)]

    def _sides(self, now: float) -> tuple[float, float]:
        """Containers held by small and by large jobs."""
        active = self._active(now)
        small = float((self._small[self.outcome.containers.job] & active).sum())
        return small, float(active.sum()) - small

    def gantt(self, namespace: str, app: str) -> Sequence[Bar]:
        """The containers of one job, up to the virtual moment."""
        del namespace
        now, rows, jobs = self.now, self.outcome.containers, self.outcome.workload.jobs
        number = next((at for at, job in enumerate(jobs) if job.id == app), None)
        if number is None:
            return ()
        chosen = np.flatnonzero((rows.job == number) & (rows.allocated <= now))
        return [self._bar(int(row), now) for row in chosen]

    def comparison(self) -> SchedulerComparison | None:
        """The same work under the other policy, where it was played too."""
        return None if self.rival is None else compared(self.outcome, self.rival, self.now)

    def used(self, namespace: str) -> Mapping[str, Amounts]:
        """Pods of different jobs share names here; their use is part of each app's efficiency."""
        del namespace
        return {}

    # -- at one moment ----------------------------------------------------------------------------------------------

    def _active(self, now: float) -> NDArray[np.bool_]:
        return np.asarray((self._held[0] <= now) & (now < self._held[1]))

    def _per_node(self, values: Floats, active: NDArray[np.bool_]) -> Floats:
        node, count = self.outcome.containers.node[active], len(self.outcome.cluster)
        columns = [np.bincount(node, values[active, k], count) for k in range(values.shape[1])]
        return np.array(columns, dtype=np.float64).T.reshape(count, values.shape[1])

    def _per_job(self, values: Floats, active: NDArray[np.bool_]) -> list[dict[str, float]]:
        job, count = self.outcome.containers.job[active], len(self.outcome.workload.jobs)
        sums = [np.bincount(job, values[active, k], count).tolist() for k in range(2)]
        return [{"cpu": cpu, "memory": memory} for cpu, memory in zip(*sums, strict=True)]

    def _nodes(self, now: float) -> list[Node]:
        active, kinds = self._active(now), self.outcome.cluster.kinds
        overcommits = self.outcome.policy == "slackwater"
        declared = self._per_node(self._requests, active)
        used = self._per_node(self._usage.at(now), active)
        believed = np.column_stack(
            [self._believed(kind, used[:, k], declared[:, k], now) for k, kind in enumerate(KINDS)]
        )
        pods = np.bincount(self.outcome.containers.node[active], minlength=len(self.outcome.cluster))
        made = []
        for at, node in enumerate(self.outcome.cluster.nodes):
            size = dict(zip(kinds, node.capacity, strict=True))
            spent = dict(zip(kinds, used[at].tolist(), strict=False))
            asked = dict(zip(kinds, declared[at].tolist(), strict=True))
            allowed = {kind: size[kind] * (ALLOWANCE if overcommits else 1.0) for kind in kinds}
            guess = dict(zip(kinds, believed[at].tolist(), strict=False))
            taken = {kind: guess.get(kind, asked[kind]) if overcommits else asked[kind] for kind in kinds}
            room = {kind: max(allowed[kind] - taken[kind], 0.0) for kind in kinds}
            made.append(Node(node.name, size, allowed, asked, spent, guess, room, pods=int(pods[at])))
        return made

    def _believed(self, kind: str, used: Floats, declared: Floats, now: float) -> Floats:
        """The ledger's estimate of each node: its sum is known, what exceeds use lies where requests exceed it."""
        found = self.outcome.series.get(f"estimated_{kind}")
        if found is None:
            return used
        total, spent = float(np.interp(now, found.time, found.value)), float(used.sum())
        slack = np.maximum(declared - used, 0.0)
        if total >= spent:
            return np.asarray(used + (total - spent) * slack / max(float(slack.sum()), 1e-9))
        return np.asarray(used * total / max(spent, 1e-9))

    def _apps(self, now: float) -> list[App]:
        jobs = self.outcome.jobs
        rows = self.outcome.containers
        begun = np.bincount(rows.job[rows.allocated <= now], minlength=len(jobs.submit))
        active = self._active(now)
        running = np.bincount(rows.job[active], minlength=len(jobs.submit))
        asked, spent = self._per_job(self._requests, active), self._per_job(self._usage.at(now), active)
        asking = self._asking(now)
        line = 0
        made = []
        for at in np.flatnonzero(jobs.submit <= now).tolist():
            job = self.outcome.workload.jobs[at]
            waits = begun[at] == 0
            line += int(waits)
            held = asking[at] if not waits else 1 if job.driver is not None else len(job.stages[0].durations)
            pods = {"held": held, "bound": int(running[at]), "finished": int(begun[at] - running[at])}
            made.append(
                App(
                    namespace=NAMESPACE,
                    name=job.id,
                    phase=self._phase(at, now, waits),
                    queue=job.queue,
                    category="small" if self._small[at] else "large",
                    position=line if waits else None,
                    message=_why(waits, line, held),
                    wait=float(jobs.driver[at] - now) if waits and np.isfinite(jobs.driver[at]) else None,
                    pods={state: max(count, 0) for state, count in pods.items()},
                    declared=asked[at] if running[at] else {},
                    used=spent[at] if running[at] else {},
                    efficiency=None if np.isnan(self._efficiency[at]) else float(self._efficiency[at]),
                    submitted=float(jobs.submit[at]),
                )
            )
        return made

    def _asking(self, now: float) -> list[int]:
        """Tasks of each job that wait though others of their stage have begun; later stages have not asked yet."""
        rows, jobs = self.outcome.containers, self.outcome.workload.jobs
        there = (rows.allocated <= now) & (rows.stage != DRIVER)
        waiting = [0] * len(jobs)
        pairs, counts = np.unique(np.stack((rows.job[there], rows.stage[there])), axis=1, return_counts=True)
        for job, stage, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
            waiting[job] += max(len(jobs[job].stages[stage].durations) - count, 0)
        return waiting

    def _phase(self, at: int, now: float, waits: bool) -> str:
        jobs = self.outcome.jobs
        if waits:
            return "Waiting"
        if np.isfinite(jobs.end[at]) and jobs.end[at] <= now:
            return "Finished"
        return "Running" if jobs.start[at] <= now else "Started"

    def _efficiencies(self) -> Floats:
        """Mean CPU level of each job's containers, weighted by request and time; NaN where nothing was held."""
        jobs, count = self.outcome.containers.job, len(self.outcome.workload.jobs)
        held = (self._held[1] - self._held[0]) * self._requests[:, 0]
        used, reserved = np.bincount(jobs, held * self._usage.levels[:, 0], count), np.bincount(jobs, held, count)
        shares: Floats = np.divide(used, reserved, out=np.full(count, np.nan), where=reserved > 0)
        return shares

    def _queues(self, apps: Sequence[App], now: float) -> list[Queue]:
        names = sorted({app.queue for app in apps}) or ["default"]
        total = dict(zip(self.outcome.cluster.kinds, self.outcome.cluster.total, strict=True))
        active = self._active(now) & (self.outcome.containers.stage == DRIVER)
        running = dict.fromkeys(names, 0)
        for job in self.outcome.containers.job[active].tolist():
            queue = self.outcome.workload.jobs[job].queue
            running[queue] = running.get(queue, 0) + 1
        return [
            Queue(
                name,
                capacity=total,
                drivers_running=running[name],
                drivers_waiting=sum(1 for app in apps if app.queue == name and app.phase == "Waiting"),
                held=sum(app.pods["held"] for app in apps if app.queue == name),
            )
            for name in names
        ]

    def _pools(self, now: float) -> list[Pool]:
        found = self.outcome.series.get("delta")
        if found is None or not len(found.time):
            return []
        at = max(int(np.searchsorted(found.time, now, side="right")) - 1, 0)
        small, large = self._sides(now)
        return [Pool("default", "default", float(found.value[at]), small + large, Side(small), Side(large))]

    # -- over time --------------------------------------------------------------------------------------------------

    def _whole(self) -> TimeSeries:
        moments = np.linspace(0.0, self.end, POINTS)
        declared, used = np.zeros((POINTS, 2)), np.zeros((POINTS, 2))
        for at, moment in enumerate(moments):
            active = self._active(float(moment))
            declared[at] = self._requests[active, :2].sum(axis=0)
            used[at] = self._usage.at(float(moment))[active].sum(axis=0)
        total = self.outcome.cluster.total
        lines = {
            kind: {
                "allocatable": [total[k]] * POINTS,
                "requested": declared[:, k].tolist(),
                "used": used[:, k].tolist(),
            }
            | self._series("used", kind, moments)
            | self._series("estimated", kind, moments)
            for k, kind in enumerate(KINDS)
        }
        return TimeSeries(moments.tolist(), lines)

    def _series(self, line: str, kind: str, moments: Floats) -> dict[str, Sequence[float]]:
        """What the world measured, or the policy's ledger believed, where it was kept."""
        found = self.outcome.series.get(f"{line}_{kind}")
        return {} if found is None else {line: np.interp(moments, found.time, found.value).tolist()}

    def _asked(self, job: int, stage: int) -> float:
        """When a pod was asked for: a driver at submission, first tasks by it, later ones when the first began."""
        rows, jobs, found = self.outcome.containers, self.outcome.jobs, self.outcome.workload.jobs[job]
        if stage == DRIVER or (found.driver is None and not found.stages[stage].parents):
            return float(jobs.submit[job])
        begun = float(np.min(rows.allocated[(rows.job == job) & (rows.stage == stage)]))
        if found.driver is None or found.stages[stage].parents:
            return begun
        return min(float(jobs.driver[job]) + found.driver.startup + found.stages[stage].delay, begun)

    def _bar(self, row: int, now: float) -> Bar:
        rows, jobs = self.outcome.containers, self.outcome.workload.jobs
        job, stage = jobs[rows.job[row]], int(rows.stage[row])
        driver = stage == DRIVER
        name = "driver" if driver else job.stages[stage].name
        start, end = float(rows.start[row]), float(rows.end[row])
        return Bar(
            pod=f"{name}-{int(rows.task[row])}" if not driver else "driver",
            role="driver" if driver else "task",
            stage=name,
            node=self.outcome.cluster.nodes[int(rows.node[row])].name,
            created=self._asked(int(rows.job[row]), stage),
            start=start if start <= now else None,
            end=end if end <= now else None,
            phase="Running" if end > now else "Succeeded",
        )


def _why(waits: bool, line: int, held: int) -> str:
    """What is known of a play-back: its gate's reasons are not kept."""
    if waits:
        return f"number {line} in line for its first container"
    return f"{held} tasks of a stage that has begun wait for room" if held > 0 else ""
