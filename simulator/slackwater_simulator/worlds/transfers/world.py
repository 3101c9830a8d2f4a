"""Task graphs whose edges carry data (paper 003): links are queues, hosts run one task at a time.

A level of a job is placed when the level before it has ended. Its inputs then travel: a pair of hosts sends in order,
and bytes that were on their way before come first; over a link without bandwidth nothing ever arrives. A task runs
when all its inputs are there and its host is free, and holds memory from its placement to its end. Drivers and stages
of several tasks do not exist here: a workload with them is not played. A job with a task that needs more memory than
every host has is refused.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.network.dagplacement import Input, LevelNodes, LevelPlacement, LevelTask
from slackwater.network.transfer import Transfers
from slackwater.ordering.daglevels import levels
from slackwater.resources import Resources, holding
from slackwater.validation import alike, amount
from slackwater_simulator.engine import Action, Engine
from slackwater_simulator.policies.registry import create
from slackwater_simulator.results.outcome import Containers, Jobs, Outcome
from slackwater_simulator.results.status import DONE, FINISHED, REFUSED, UNFINISHED
from slackwater_simulator.workload.generators.network import Fabric, fabric
from slackwater_simulator.worlds.refusals import summary, too_large

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Job, Stage, Workload

    Floats = NDArray[np.float64]

MEMORY = 1
ARRIVE, END, PLACE = 0, 1, 2
MBIT = 100.0


class Siting(Protocol):
    """A policy of this world: where the tasks of a level go."""

    def place(
        self, level: list[LevelTask], hosts: LevelNodes, traffic: Transfers, racks: list[str]
    ) -> list[LevelPlacement]:
        """A site for each task; node None where nothing fits now."""
        ...


class Run:
    """One task from its placement on."""

    __slots__ = ("end", "host", "index", "job", "missing", "placed", "seconds", "stage", "start")

    def __init__(self, job: Graph, index: int, stage: Stage) -> None:
        self.job, self.index, self.stage = job, index, stage
        self.seconds = float(stage.durations[0])
        self.host = -1
        self.missing = 0  # inputs still on their way
        self.placed = 0.0
        self.start = self.end = math.inf


class Graph:
    """One job: its tasks by level, and which level runs."""

    __slots__ = ("end", "first", "left", "level", "levels", "number", "tasks")

    def __init__(self, number: int, job: Job) -> None:
        self.number = number
        self.tasks = {stage.name: Run(self, index, stage) for index, stage in enumerate(job.stages)}
        edges = [(parent, stage.name) for stage in job.stages for parent in stage.parents]
        self.levels = levels(self.tasks, edges)
        self.level = -1
        self.left = 0
        self.first = self.end = float("nan")


class TransferWorld:
    """All hosts and links."""

    name = "transfer"

    def __init__(self, workload: Workload, cluster: Cluster, policy: Siting, net: Fabric) -> None:
        self.workload, self.cluster, self.policy = workload, cluster, policy
        self.engine = Engine()
        self.bandwidth = net.bandwidth
        self.racks = [str(rack) for rack in net.rack]
        self.memory = np.array([[node.capacity[MEMORY]] for node in cluster.nodes])
        self.planned = np.zeros(len(cluster))  # when each host would have done all it was given
        self.running: list[Run | None] = [None] * len(cluster)
        self.ready: list[deque[Run]] = [deque() for _ in cluster.nodes]
        self.traffic = Transfers()
        self.links = np.zeros_like(net.bandwidth)  # when each link is quiet
        self._queue(net)
        self.graphs = [Graph(number, job) for number, job in enumerate(workload.jobs)]
        self.refusals = {row: sentence for row, job in enumerate(workload.jobs) if (sentence := self._too_large(job))}
        self.pending: list[Run] = []
        self.placing = False
        self.done: list[Run] = []
        self.decisions = 0
        self.decision_seconds = 0.0

    def _too_large(self, job: Job) -> str:
        """Why a job could never run, were all hosts empty; memory is all that is counted here."""
        for stage in job.stages:
            demand = stage.request[MEMORY]
            if not holding(self.memory, (demand,)).any():
                return too_large(Resources(memory=demand))
        return ""

    def _queue(self, net: Fabric) -> None:
        """What is on its way when the first job comes."""
        for sender, receiver in np.argwhere(net.queued > 0).tolist():
            size = float(net.queued[sender, receiver])
            self._send(sender, receiver, size)
            self.traffic.begin(sender, receiver, size)

    def _send(self, sender: int, receiver: int, size: float) -> float:
        """Put bytes on a link, behind those already there; the moment they have arrived."""
        begin = max(self.engine.now, float(self.links[sender, receiver]))
        speed = float(self.bandwidth[sender, receiver])
        arrival = begin + size / speed if speed > 0 else math.inf
        self.links[sender, receiver] = arrival
        self._at(arrival, ARRIVE, self._arrived, (sender, receiver, size))
        return arrival

    def _at(self, time: float, priority: int, action: Action, argument: object) -> None:
        """Schedule what is going to happen; what never arrives has no moment."""
        if math.isfinite(time):
            self.engine.at(time, priority, action, argument)

    def _arrived(self, what: tuple[int, int, float]) -> None:
        self.traffic.end(*what)

    # ---- placing --------------------------------------------------------------------------------------------------

    def play(self) -> None:
        """Run to the end."""
        for graph in self.graphs:
            if graph.number not in self.refusals:
                self.engine.at(self.workload.jobs[graph.number].submit, END, self._advance, graph)
        self.engine.run()

    def _advance(self, graph: Graph) -> None:
        """The next level of a job may be placed, together with whatever else may at this moment."""
        graph.level += 1
        if graph.level == len(graph.levels):
            graph.end = self.engine.now
            return
        level = graph.levels[graph.level]
        graph.left = len(level)
        self.pending += [graph.tasks[name] for name in level]
        self._wake()

    def _wake(self) -> None:
        if self.pending and not self.placing:
            self.placing = True
            self.engine.at(self.engine.now, PLACE, self._place)

    def _place(self, _: None) -> None:
        self.placing = False
        self.decisions += 1
        waiting = {f"{run.job.number}/{run.stage.name}": run for run in self.pending}
        tasks = [self._task(name, run) for name, run in waiting.items()]
        free = np.maximum(self.planned, self.engine.now)
        hosts = LevelNodes(self.memory, self.bandwidth, free, serial=True)
        self.pending = []
        began = perf_counter()
        sites = self.policy.place(tasks, hosts, self.traffic, self.racks)
        self.decision_seconds += perf_counter() - began
        for site in sites:
            if site.node is None:
                self.pending.append(waiting[site.task.name])
            else:
                self._settle(waiting[site.task.name], site)

    def _task(self, name: str, run: Run) -> LevelTask:
        sizes = run.stage.transfers or (run.stage.transfer,) * len(run.stage.parents)
        parents = (run.job.tasks[parent] for parent in run.stage.parents)
        inputs = tuple(
            Input(parent.host, size, max(parent.end, self.engine.now))
            for parent, size in zip(parents, sizes, strict=True)
        )
        return LevelTask(name, (run.stage.request[MEMORY],), inputs, seconds=run.seconds)

    def _settle(self, run: Run, site: LevelPlacement) -> None:
        """Hold memory and fetch the inputs."""
        host = site.node
        assert host is not None  # noqa: S101 - asked by the caller
        run.host, run.placed = host, self.engine.now
        self.memory[host] -= site.task.demand
        self.planned[host] = max(self.planned[host], site.start) + run.seconds
        fetched = [source for source in site.task.inputs if source.node != host and source.size > 0]
        run.missing = len(fetched)
        for source in fetched:
            self._at(self._send(source.node, host, source.size), END, self._fetched, run)
        if not fetched:
            self._ready(run)

    # ---- running --------------------------------------------------------------------------------------------------

    def _fetched(self, run: Run) -> None:
        run.missing -= 1
        if run.missing == 0:
            self._ready(run)

    def _ready(self, run: Run) -> None:
        self.ready[run.host].append(run)
        self._next(run.host)

    def _next(self, host: int) -> None:
        """Start the task that has been ready longest, if the host is free."""
        if self.running[host] is None and self.ready[host]:
            run = self.running[host] = self.ready[host].popleft()
            run.start, run.end = self.engine.now, self.engine.now + run.seconds
            run.job.first = min(run.start, run.job.first) if run.job.first == run.job.first else run.start
            self.engine.at(run.end, END, self._ended, run)

    def _ended(self, run: Run) -> None:
        self.running[run.host] = None
        self.memory[run.host] += run.stage.request[MEMORY]
        self.done.append(run)
        self._next(run.host)
        run.job.left -= 1
        if run.job.left == 0:
            self._advance(run.job)
        self._wake()


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    seed: int,
    progress: Callable[[float], None] | None,
    options: dict[str, Any],
) -> Outcome:
    """Play task graphs. Options: `mbit` between any two hosts (100), or a whole `net`; the rest is the policy's."""
    _check(workload)
    given = dict(options)
    mbit = given.pop("mbit", MBIT)
    alike("mbit", mbit, MBIT)
    net = given.pop("net", None) or fabric(amount("mbit", mbit), seed=seed, hosts=len(cluster))
    world = TransferWorld(workload, cluster, create(policy, TransferWorld.name, given), net)
    world.play()
    if progress is not None:
        progress(1.0)
    return _outcome(world, policy, seed)


def _check(workload: Workload) -> None:
    """Refuse what this world could only play in part: its end would be that of another workload."""
    for job in workload.jobs:
        wide = next((stage for stage in job.stages if stage.tasks != 1), None)
        problem = f"stage {wide.name} of job {job.id} has {wide.tasks} tasks" if wide else ""
        if job.driver is not None:
            problem = f"job {job.id} has a driver, and none runs here"
        if problem:
            remedy = "choose a policy of another world, or a workload in which every task is a stage of its own"
            raise InvalidInput("world transfer", problem, remedy)


def _outcome(world: TransferWorld, policy: str, seed: int) -> Outcome:
    graphs = world.graphs
    status = np.array([_status(world, graph) for graph in graphs], dtype=np.int8)
    start = np.array([graph.first for graph in graphs])
    jobs = Jobs(
        submit=np.array([job.submit for job in world.workload.jobs]),
        driver=start,
        start=start,
        end=np.array([graph.end for graph in graphs]),
        tasks=np.array([len(graph.tasks) for graph in graphs], dtype=np.int64),
        status=status,
    )
    containers, stuck = _rows(world.done), bool((status == UNFINISHED).any())
    placed = [run for graph in graphs for run in graph.tasks.values() if run.host >= 0 and math.isinf(run.end)]
    return Outcome(
        workload=world.workload,
        cluster=world.cluster,
        policy=policy,
        world=TransferWorld.name,
        seed=seed,
        jobs=jobs,
        containers=containers,
        deadlock=stuck,
        events=world.engine.executed,
        decisions=world.decisions,
        decision_seconds=world.decision_seconds,
        peak_drivers=0,
        peak_tasks=_peak(containers),
        stalled_at=world.engine.now if stuck else math.nan,
        held=_rows(placed) if stuck else None,
        one_at_a_time=True,
        notes=summary(world.workload.jobs, world.refusals),
        refusals=world.refusals,
    )


def _rows(runs: list[Run]) -> Containers:
    """A row for each task; one that waits for ever neither starts nor ends."""
    ends = np.array([run.end for run in runs])
    return Containers(
        job=np.array([run.job.number for run in runs], dtype=np.int32),
        stage=np.array([run.index for run in runs], dtype=np.int16),
        task=np.zeros(len(runs), dtype=np.int32),
        node=np.array([run.host for run in runs], dtype=np.int32),
        allocated=np.array([run.placed for run in runs]),
        start=np.array([run.start for run in runs]),
        end=ends,
        released=ends,
        status=np.full(len(runs), DONE, dtype=np.int8),
    )


def _status(world: TransferWorld, graph: Graph) -> int:
    if graph.number in world.refusals:
        return REFUSED
    return FINISHED if graph.end == graph.end else UNFINISHED


def _peak(rows: Containers) -> int:
    """The most tasks that ran at one moment; an end frees its host before a start takes it."""
    moments = np.concatenate((rows.end, rows.start))
    steps = np.concatenate((np.full(len(rows.end), -1), np.ones(len(rows.start), dtype=np.int64)))
    order = np.lexsort((steps, moments))
    return int(np.cumsum(steps[order]).max(initial=0))


def utilisation(outcome: Outcome) -> float:
    """Share of all hosts' time, up to the last end, in which a task ran."""
    rows = outcome.containers
    return float((rows.end - rows.start).sum() / (len(outcome.cluster) * rows.end.max()))
