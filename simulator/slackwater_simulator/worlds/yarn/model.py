"""What lives inside the YARN world: applications, their requests, and containers. Slots and counters, no logic.

Tasks are not objects. A request counts how many of its stage's tasks are asked for, running and done; only what holds
resources at this moment is a Container.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from slackwater_simulator.results.recorder import Row
from slackwater_simulator.results.status import ALIVE, DRIVER, UNFINISHED
from slackwater_simulator.worlds.fit import needed

if TYPE_CHECKING:
    from slackwater_simulator.workload.workload import Job, Stage
    from slackwater_simulator.worlds.yarn.locality import Locality

NAN = float("nan")


class Request:
    """What an application wants of one stage (or its driver): equal containers of one shape."""

    __slots__ = (
        "app",
        "asked",
        "barred",
        "children",
        "done",
        "driver",
        "due",
        "durations",
        "extras",
        "held",
        "index",
        "key",
        "last_done",
        "level",
        "locality",
        "needed",
        "next",
        "parents",
        "pending",
        "retries",
        "seen",
        "shape",
        "shuffling",
        "stage",
        "total",
        "tries",
    )

    def __init__(self, app: App, index: int, stage: Stage | None, shape: tuple[float, ...], total: int) -> None:
        self.app = app
        self.index = index  # in Job.stages, or DRIVER
        self.driver = index == DRIVER  # the application master's own container
        self.key = f"{app.index}/{index}"  # its name among all requests of the run
        self.stage = stage
        self.level = 0  # stages before it, on the longest way
        self.shape = shape  # rounded to the allocation grid, in the cluster's order of kinds
        self.needed = needed(shape)  # what a node must have left of each
        self.total = total
        self.asked = 0  # tasks the master has asked for so far
        self.pending = 0  # containers asked for and not yet allocated
        self.held = 0  # containers allocated and not yet released
        self.done = 0  # tasks that ended well on their node
        self.seen = 0  # … and of which the master knows
        self.next = 0  # the next task in trace order
        # Most requests need none of these, and there are many requests: they are made when needed.
        self.retries: list[int] | None = None  # tasks to run again
        self.tries: dict[int, int] | None = None  # task → failed attempts
        self.durations: Sequence[float] = ()  # filled when the stage first asks
        self.parents: Sequence[Request] = ()
        self.children: Sequence[Request] = ()
        self.shuffling: list[Container] | None = None  # started, and waiting for the parents' last output
        self.last_done = 0.0  # when the stage's last task ended
        self.due = NAN  # with a request delay: when the stage may ask
        self.locality: Locality | None = None
        self.barred = False  # preempted for its own parents: asks again once they all have containers
        self.extras: object = None  # a policy's own notes

    def take(self) -> int:
        """The task a new container runs: one to repeat, else the next in trace order."""
        if self.retries:
            return self.retries.pop()
        self.next += 1
        return self.next - 1

    def again(self, task: int) -> None:
        """A task must run once more."""
        if self.locality is not None:
            self.locality.give_back(task)
        elif self.retries is None:
            self.retries = [task]
        else:
            self.retries.append(task)

    def shuffle(self, container: Container) -> None:
        """The container has started before its parents' output is complete."""
        if self.shuffling is None:
            self.shuffling = [container]
        else:
            self.shuffling.append(container)

    def failed(self, task: int) -> int:
        """Count one more failed attempt of the task."""
        if self.tries is None:
            self.tries = {}
        self.tries[task] = self.tries.get(task, 0) + 1
        return self.tries[task]


class Container:
    """Resources held on a node for one task."""

    __slots__ = ("allocated", "end", "launched", "node", "request", "slot", "start", "status", "task")

    def __init__(self, request: Request, node: int, allocated: float) -> None:
        self.request = request
        self.node = node
        self.allocated = allocated
        self.task = -1  # chosen at launch
        self.start = NAN
        self.end = NAN
        self.launched = False
        self.status = ALIVE
        self.slot = -1  # row in the usage model

    def row(self, node: int, now: float) -> Row:
        """What is written down of it when its resources are back, at `now`."""
        job, stage, end = self.request.app.index, self.request.index, min(self.end, now)
        return Row(job, stage, self.task, node, self.allocated, self.start, end, now, self.status)


class App:
    """One application from submission to its end."""

    __slots__ = (
        "box",
        "driver",
        "end",
        "extras",
        "first",
        "held",
        "index",
        "job",
        "left",
        "master",
        "pending",
        "queue",
        "rank",
        "registered",
        "requests",
        "started",
        "status",
        "used",
        "waiting",
    )

    def __init__(self, index: int, rank: int, job: Job, kinds: int) -> None:
        self.index = index  # row in the outcome
        self.rank = rank  # order of submission
        self.job = job
        self.requests: list[Request] = []  # one per stage, in the order in which they are served
        self.master: Request | None = None  # the driver's request
        self.driver: Container | None = None
        self.registered = False
        self.waiting: list[Request] = []  # stages not yet asked for in full
        self.left = 0  # stages with tasks the master has not seen done
        self.pending = 0  # containers asked for and not allocated, the driver's included
        self.used = [0.0] * kinds  # resources held
        self.held: dict[Container, None] = {}  # live containers, in order of allocation
        self.box: dict[int, list[Container]] = {}  # what the master will handle at its n-th tick
        self.started = NAN  # the driver's start
        self.first = NAN  # the first task's start
        self.end = NAN
        self.status = UNFINISHED
        self.queue: object = None  # the scheduler's queue
        self.extras: object = None  # a policy's own notes

    def untie(self) -> None:
        """The application is over: cut the references that go in circles, so that it is freed at once."""
        for request in self.requests:
            request.parents = request.children = ()
        self.requests = []
        self.waiting = []
        self.driver = self.master = self.extras = self.queue = None


class JobTimes:
    """The moments of every job, written when it is over so that the application can be forgotten."""

    __slots__ = ("driver", "end", "first", "status")

    def __init__(self, jobs: int) -> None:
        nan = float("nan")
        self.driver = [nan] * jobs
        self.first = [nan] * jobs
        self.end = [nan] * jobs
        self.status = [UNFINISHED] * jobs

    def note(self, app: App) -> None:
        """Write one job's row."""
        index = app.index
        self.driver[index] = app.started if app.master is not None else app.first
        self.first[index] = app.first
        self.end[index] = app.end
        self.status[index] = app.status
