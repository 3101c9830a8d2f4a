"""Paper 000's own world: seconds tick, tasks follow their usage curves, a node's CPU is shared and its memory breaks.

All containers wait in one strict FIFO from the start. Each second: running tasks advance, some end, memory that does
not fit breaks tasks (they wait in line again), the use of every node is sampled, and the head of the line goes to the
node with the most room until it fits nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import UnknownName
from slackwater_simulator.physics.room import accepts
from slackwater_simulator.physics.sharing import Victims, crash_victims, progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.workload.workload import Usage, Workload
    from slackwater_simulator.worlds.seconds.rooms import Rooms

    Floats = NDArray[np.float64]

CPU, MEMORY = 0, 1
# Where a task that broke waits: in its old place, as a YARN job asks again for it; behind all others; or not at all.
RETRIES = ("first", "last", "never")


@dataclass(frozen=True, slots=True)
class SecondsNodes:
    """Equal nodes: what they have (NC), what of it may be given out (AR), and what the system itself uses."""

    count: int
    capacity: tuple[float, float]
    allowance: tuple[float, float]
    system: tuple[float, float]

    @property
    def allowances(self) -> Floats:
        """AR, a row per node."""
        return np.tile(np.array(self.allowance), (self.count, 1))


@dataclass(frozen=True, slots=True)
class Tasks:
    """All containers in order of creation, a value each."""

    seconds: Floats
    cores: Floats  # mean use
    peak: Floats  # bytes
    requests: Floats  # a row each: cores, bytes
    at: Floats  # the memory curve …
    course: Floats  # … as a share of the peak over the fraction of a life
    noise: float

    def __len__(self) -> int:
        return len(self.seconds)


@dataclass(slots=True)
class Result:
    """What one run came to."""

    seconds: int  # until the last task was done
    failures: int
    tasks: int
    finished: bool
    used: tuple[float, float]  # mean cores and bytes per node
    reserved: tuple[float, float]  # mean requested cores and bytes per node
    series: list[tuple[float, float, float, float, float]] = field(default_factory=list)


def flatten(workload: Workload) -> Tasks:
    """The containers of a workload whose stages all tell their use, job by job, drivers first."""
    rows = [(stage, stage.usage) for job in workload.jobs for stage in job.stages if stage.usage is not None]
    first: Usage = rows[0][1]
    requests = np.concatenate([np.tile(stage.request[:2], (stage.tasks, 1)) for stage, _ in rows])
    return Tasks(
        seconds=np.concatenate([stage.durations for stage, _ in rows]),
        cores=np.concatenate([stage.request[CPU] * usage.cpu for stage, usage in rows]),
        peak=np.concatenate([stage.request[MEMORY] * usage.memory for stage, usage in rows]),
        requests=requests,
        at=np.array(first.at),
        course=np.array(first.memory_shape),
        noise=first.noise,
    )


class SecondsWorld:
    """The state of one run; running tasks are one index array."""

    def __init__(
        self,
        tasks: Tasks,
        machines: SecondsNodes,
        rooms: Rooms,
        rng: np.random.Generator,
        *,
        victims: Victims = Victims.GROWING,
        retry: str = "first",
    ) -> None:
        if retry not in RETRIES:
            raise UnknownName("retry", retry, RETRIES)
        self.tasks, self.machines, self.rooms, self.rng, self.victims = tasks, machines, rooms, rng, victims
        self.again = len(tasks) if retry == "last" else 0
        self.forgiven = retry != "never"
        self.line = [(task, task) for task in range(len(tasks))]  # place in the line, task; sorted, so a heap
        self.running: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.node = np.full(len(tasks), -1, dtype=np.int64)
        self.lived = np.zeros(len(tasks))
        self.held = np.zeros(len(tasks))  # bytes in use now
        self.tries = np.zeros(len(tasks), dtype=np.int64)
        self.done = 0
        self.failures = 0
        self.now = 0
        self.area = np.zeros(4)  # cores and bytes used, cores and bytes reserved
        self.series: list[tuple[float, float, float, float, float]] = []

    def play(self, most: int = 200_000) -> Result:
        """Tick until all is done, or so many seconds have passed: crash loops at α near 1 may never end."""
        self._place()
        while self.done < len(self.tasks) and self.now < most:
            self._tick()
        span = max(1, self.now) * self.machines.count
        cores, stored, asked_cores, asked_bytes = (float(area / span) for area in self.area)
        return Result(
            seconds=self.now,
            failures=self.failures,
            tasks=len(self.tasks),
            finished=self.done == len(self.tasks),
            used=(cores, stored),
            reserved=(asked_cores, asked_bytes),
            series=self.series,
        )

    def _tick(self) -> None:
        self.now += 1
        cores = self._advance()
        self._end()
        self._grow()
        self._sample(cores)
        self._place()

    def _advance(self) -> Floats:
        """Everybody wants its noisy share of CPU and advances by what its node can give; cores used per node."""
        running, machines = self.running, self.machines
        sigma = self.tasks.noise
        wanted = self.tasks.cores[running]
        if sigma:
            wanted = wanted * self.rng.lognormal(-(sigma**2) / 2, sigma, len(running))
        node = self.node[running]
        demand = np.bincount(node, weights=wanted, minlength=machines.count)
        total, system = machines.capacity[CPU], machines.system[CPU]
        factor = np.ones(machines.count)
        for busy in np.flatnonzero(demand > total - system).tolist():
            factor[busy] = progress(total, system, [float(demand[busy])])
        self.lived[running] += factor[node]
        given: Floats = demand * factor
        return given

    def _end(self) -> None:
        over = self.lived[self.running] >= self.tasks.seconds[self.running] - 1e-9
        for task in self.running[over].tolist():
            self.rooms.finish(task)
            self.done += 1
        self.running = self.running[~over]

    def _grow(self) -> None:
        """Memory follows its curve; where a node's no longer fits, those that grew break."""
        running = self.running
        before = self.held[running]
        after = self.tasks.peak[running] * np.interp(
            self.lived[running] / self.tasks.seconds[running], self.tasks.at, self.tasks.course
        )
        self.held[running] = after
        stored = np.bincount(self.node[running], weights=after, minlength=self.machines.count)
        limit = self.machines.capacity[MEMORY] - self.machines.system[MEMORY]
        for full in np.flatnonzero(stored > limit).tolist():
            mine = self.node[running] == full
            self._break(
                dict(zip(running[mine].tolist(), before[mine].tolist(), strict=True)),
                dict(zip(running[mine].tolist(), after[mine].tolist(), strict=True)),
            )

    def _break(self, before: dict[int, float], after: dict[int, float]) -> None:
        capacity, system = self.machines.capacity[MEMORY], self.machines.system[MEMORY]
        for task in crash_victims(capacity, system, before, after, self.victims):
            self.rooms.finish(task)
            self.failures += 1
            self.lived[task] = self.held[task] = 0.0
            self.node[task] = -1
            if self.forgiven:
                # One more round back for each failure: whoever breaks again and again does not hold up the others.
                self.tries[task] += 1
                heappush(self.line, (task + self.again * int(self.tries[task]), task))
            else:
                self.done += 1
        self.running = self.running[self.node[self.running] >= 0]

    def _sample(self, cores: Floats) -> None:
        """What a node agent would see: containers and system together."""
        count, running = self.machines.count, self.running
        stored = np.bincount(self.node[running], weights=self.held[running], minlength=count)
        used = np.column_stack((cores, stored)).astype(np.float64) + np.array(self.machines.system)
        self.rooms.sample(used)
        asked = self.tasks.requests[running].sum(axis=0)
        totals = (*used.sum(axis=0).tolist(), *asked.tolist())
        self.area += totals
        if self.now % 60 == 0:
            self.series.append((float(self.now), totals[0], totals[1], totals[2], totals[3]))

    def _place(self) -> None:
        """Strict FIFO: the head to the node with the most room, until it fits nowhere."""
        started: list[int] = []
        rooms = [self.rooms.room(node) for node in range(self.machines.count)]
        while self.line:
            request = self.tasks.requests[self.line[0][1]]
            node = self._roomiest(rooms, request)
            if node < 0:
                break
            _, task = heappop(self.line)
            self.rooms.start(task, node, request)
            self.node[task] = node
            rooms[node] = self.rooms.room(node)
            started.append(task)
        if started:
            self.running = np.concatenate((self.running, np.array(started, dtype=np.int64)))

    def _roomiest(self, rooms: list[list[float]], request: Floats) -> int:
        """The node with the most room of its scarcer kind, among those that take the request; −1: none does."""
        cores, stored = request.tolist()
        allowed = self.machines.allowance
        best, most = -1, -np.inf
        for node, (free_cores, free_bytes) in enumerate(rooms):
            if free_cores >= cores * 0.999 and free_bytes >= stored * 0.999:  # the core decides the rest
                scarcer = min(free_cores / allowed[CPU], free_bytes / allowed[MEMORY])
                if scarcer > most and accepts(cores, free_cores) and accepts(stored, free_bytes):
                    best, most = node, scarcer
        return best
