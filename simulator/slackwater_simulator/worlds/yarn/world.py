"""The resource manager and its nodes: who holds what, and what happens at a heartbeat.

`masters` plays the applications' side. The ideal world replaces three methods: `ends`, `wake` and the phases.
"""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater_simulator.engine import BEAT, SWEEP, Engine
from slackwater_simulator.policies.registry import create
from slackwater_simulator.results.outcome import Outcome, Series
from slackwater_simulator.results.recorder import Recorder
from slackwater_simulator.results.status import DONE
from slackwater_simulator.worlds.fit import needed
from slackwater_simulator.worlds.options import split
from slackwater_simulator.worlds.yarn.applications import Masters
from slackwater_simulator.worlds.yarn.heartbeats import Beats, ascending, phases
from slackwater_simulator.worlds.yarn.model import App, Container, JobTimes, Request
from slackwater_simulator.worlds.yarn.outages import Outages
from slackwater_simulator.worlds.yarn.results import gather
from slackwater_simulator.worlds.yarn.rounding import Rounding
from slackwater_simulator.worlds.yarn.settings import Settings
from slackwater_simulator.worlds.yarn.usage import UsageModel, wanted

if TYPE_CHECKING:
    from slackwater_simulator.policies.base import Scheduler
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Workload

Shape = tuple[float, ...]
Floats = np.typing.NDArray[np.float64]


class YarnWorld:
    """YARN with heartbeats."""

    name = "yarn"

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        scheduler: Scheduler,
        seed: int,
        settings: Settings,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.workload, self.cluster, self.scheduler = workload, cluster, scheduler
        self.seed, self.settings = seed, settings
        self.kinds = cluster.kinds
        self.engine = Engine()
        self.rng = np.random.default_rng(seed)
        drawn, self.order = self._phases()
        self.beats = Beats(drawn, settings.node_heartbeat)
        self._lay_out(cluster)
        self._open_books()
        self.rounded = Rounding(settings, len(self.kinds))
        self.usage = UsageModel(self) if settings.usage_period and wanted(workload) else None
        self.masters = self._masters(progress)
        self.outages = Outages(self)
        scheduler.start(self)

    def _masters(self, progress: Callable[[float], None] | None) -> Masters:
        return Masters(self, progress)

    def _phases(self) -> tuple[list[float], list[int]]:
        period, given = self.settings.node_heartbeat, self.settings.first_beats
        return ascending(phases(len(self.cluster), period, self.rng, given), period)

    def _lay_out(self, cluster: Cluster) -> None:
        """Nodes in the order of their phases: capacity, free amounts (also as numpy views), rack numbers."""
        nodes = [cluster.nodes[index] for index in self.order]
        racks = {name: number for number, name in enumerate(dict.fromkeys(node.rack for node in nodes))}
        self.racks = [racks[node.rack] for node in nodes]
        self.places = {node.name: index for index, node in enumerate(nodes)}
        self.capacity: list[Shape] = [node.capacity for node in nodes]
        self.free = tuple(array("d", [node.capacity[k] for node in nodes]) for k in range(len(self.kinds)))
        self.views = tuple(np.frombuffer(free, dtype=np.float64) for free in self.free)
        self.up = bytearray(b"\1" * len(nodes))

    def _open_books(self) -> None:
        self.total = list(self.cluster.total)
        self.used = [0.0] * len(self.kinds)
        self.due: list[dict[int, list[Container]]] = [{} for _ in self.order]
        self.pending = 0  # containers asked for and not allocated
        self.shapes: dict[Shape, int] = {}  # … by shape
        self.least: Shape = (0.0,) * len(self.kinds)  # the smallest pending amount of each kind
        self.needed = needed(self.least)  # … and what a node must have left for it
        self.alone: Shape | None = None  # the only shape asked for since nodes were last opened for it
        self.cursor: float | None = None  # when the next open node is visited
        self.version = 0
        self.placed = self.decisions = 0
        self.decision_seconds = 0.0
        self.drivers = self.tasks = self.peak_drivers = self.peak_tasks = 0
        self.records = Recorder()
        self.times = JobTimes(len(self.workload.jobs))

    # ---- books ----------------------------------------------------------------------------------------------------

    def ask(self, request: Request, count: int) -> None:
        """A request wants that many more containers (or fewer, if negative)."""
        app = request.app
        request.pending += count
        app.pending += count
        self.pending += count
        fresh = request.shape not in self.shapes
        self._count(request.shape, count)
        self.scheduler.asked(app)
        if count > 0:
            # A closed node had no room for anything that was allowed; only a new shape, or a limit, changes that.
            if self.scheduler.limited or (fresh and request.shape != self.alone):
                self.reopen(request.shape)
            self.alone = request.shape if self.alone in (None, request.shape) and len(self.shapes) == 1 else None
            self.wake()

    def withdraw(self, app: App) -> None:
        """The application wants nothing any more."""
        for request in [app.master, *app.requests]:
            if request is not None and request.pending:
                self.ask(request, -request.pending)

    def _count(self, shape: Shape, change: int) -> None:
        before = self.shapes.get(shape, 0)
        left = before + change
        if left:
            self.shapes[shape] = left
        else:
            del self.shapes[shape]
        if self.shapes and not (before and left):
            self.least = tuple(map(min, zip(*self.shapes, strict=True)))
            self.needed = needed(self.least)

    def allocate(self, request: Request, node: int) -> Container:
        """Give one container of the request to the node. The policy has decided that it should."""
        app, shape = request.app, request.shape
        free, used, held = self.free, self.used, app.used
        for kind, amount in enumerate(shape):
            free[kind][node] -= amount
            used[kind] += amount
            held[kind] += amount
        request.pending -= 1
        app.pending -= 1
        self.pending -= 1
        self._count(shape, -1)
        request.held += 1
        self.placed += 1
        container = Container(request, node, self.engine.now)
        app.held[container] = None
        if request.locality is not None:
            container.task = request.locality.take(node, self.racks)
            request.locality.missed = 0
        self._peaks(request)
        self.scheduler.allocated(container)
        self.masters.acquired(container)
        return container

    def _peaks(self, request: Request) -> None:
        if request.driver:
            self.drivers += 1
            self.peak_drivers = max(self.peak_drivers, self.drivers)
        else:
            self.tasks += 1
            self.peak_tasks = max(self.peak_tasks, self.tasks)

    def release(self, container: Container, status: int) -> None:
        """The container is gone: give its resources back and write its row."""
        request, node = container.request, container.node
        app = request.app
        free, used, held = self.free, self.used, app.used
        for kind, amount in enumerate(request.shape):
            free[kind][node] += amount
            used[kind] -= amount
            held[kind] -= amount
        request.held -= 1
        container.status = status
        del app.held[container]
        if request.driver:
            self.drivers -= 1
        else:
            self.tasks -= 1
        if container.slot >= 0 and self.usage is not None:
            self.usage.remove(container)
        self.records.add(container.row(self.order[node], self.engine.now))
        self.beats.open[node] = self.up[node]
        self.scheduler.released(container)
        if self.scheduler.limited and self.pending:
            self.stir()

    def roomy(self, node: int) -> bool:
        """Whether the node has the smallest pending amount of every kind the policy looks at."""
        least, free = self.needed, self.free
        for kind in self.scheduler.kinds:  # noqa: SIM110 - a plain loop is three times as fast as all()
            if free[kind][node] < least[kind]:
                return False
        return True

    def nearness(self, request: Request, node: int) -> int:
        """How near the node is to the request's data, or WAIT."""
        assert request.locality is not None  # noqa: S101 - asked only for requests that name hosts
        settings = self.settings
        return request.locality.level(
            node, self.racks, settings.node_delay, settings.rack_delay, len(self.order), request.pending
        )

    # ---- heartbeats -----------------------------------------------------------------------------------------------

    def reopen(self, shape: Shape) -> None:
        """Nodes with room for the shape become worth a visit."""
        kinds, least = self.scheduler.kinds, needed(shape)
        mask = self.views[kinds[0]] >= least[kinds[0]]
        for kind in kinds[1:]:
            mask &= self.views[kind] >= least[kind]
        self.beats.view |= mask

    def visit_all(self) -> None:
        """Every node is worth a visit, whatever room it has: it could be reserved."""
        self.beats.view |= np.array(self.up, np.bool_)

    def stir(self) -> None:
        """Something other than a node's room changed: every node with room for the smallest wish is worth a visit."""
        self.scheduler.limited = False
        self.reopen(self.least)
        self.wake()

    def wake(self) -> None:
        """Make sure the next beat of an open node is going to be executed."""
        if not self.pending:
            return
        node, number = self.beats.following(self.engine.now)
        if node < 0:
            return
        time = self.beats.time(node, number)
        if self.cursor is None or time < self.cursor:
            self.version += 1
            self.cursor = time
            self.engine.at(time, BEAT, self._visit, (node, number, self.version))

    def visits_only(self) -> bool:
        """Whether nothing is planned but visits to nodes."""
        return all(action == self._visit for _, _, _, action, _ in self.engine.heap)

    def looks_only(self) -> bool:
        """Whether nothing is planned but looks at use, at which no task ends."""
        return not self.engine.heap if self.usage is None else self.usage.alone()

    def _visit(self, what: tuple[int, int, int]) -> None:
        node, number, version = what
        if version == self.version:  # else an earlier beat became interesting meanwhile
            self.cursor = None
            if self._beat((node, number)):
                self.wake()

    def _due(self, what: tuple[int, int]) -> None:
        """A beat at which something is to be reported. What it placed may leave more for the nodes after it."""
        before = self.placed
        self._beat(what)
        if self.placed > before and self.cursor is None:
            self.wake()

    def _beat(self, what: tuple[int, int]) -> bool:
        """A node's heartbeat: report what ended, then take new containers. False: no node could take anything."""
        node, number = what
        due = self.due[node].pop(number, None)
        if due is not None:
            for container in due:
                self.reported(container)
        if self.beats.last[node] >= number or not self.up[node]:
            return True
        self.beats.last[node] = number
        if not self.pending:
            return False
        return self.offer(node) or self.scheduler.misfit or self.scheduler.waiting

    def offer(self, node: int) -> bool:
        """Let the policy place on the node; True if it did. Closes a node on which nothing fits."""
        scheduler, before = self.scheduler, self.placed
        scheduler.misfit = scheduler.waiting = False
        began = perf_counter()
        scheduler.beat(node)
        self.decided(began)
        if self.placed > before:
            return True
        if scheduler.misfit and not scheduler.waiting:
            self.beats.open[node] = 0
        return False

    @staticmethod
    def clock() -> float:
        """Wall time, only to say what decisions cost."""
        return perf_counter()

    def decided(self, began: float) -> None:
        """A decision that began at that wall time was made."""
        self.decision_seconds += perf_counter() - began
        self.decisions += 1

    def started(self, container: Container) -> None:
        """A container begins to use its node."""
        if self.usage is not None:
            self.usage.add(container)
        self.scheduler.started(container)

    def ends(self, container: Container) -> None:
        """A running task will end; its node reports it at the first beat after that."""
        node = container.node
        number = self.beats.number(node, max(container.end, self.engine.now))
        due = self.due[node]
        if number in due:
            due[number].append(container)
        else:
            due[number] = [container]
            self.engine.at(self.beats.time(node, number), BEAT, self._due, (node, number))

    def reported(self, container: Container) -> None:
        """A node says that a container has ended by itself."""
        if container.status >= 0:
            return  # killed or lost meanwhile
        if self.usage is not None and self.usage.postponed(container):
            return
        app = container.request.app
        self.release(container, DONE)
        if container.request.driver:
            # The news passes through the resource manager's queues: this beat's placements do not know it yet.
            self.engine.at(self.engine.now, SWEEP, self.masters.driver_gone, app)
        else:
            self.masters.completed(container)

    def lose(self, container: Container, status: int) -> None:
        """A container broke: its master hears of it, or, if it was the master, the application starts over."""
        if container.status >= 0:
            return  # it went with its driver, which broke in the same look
        app = container.request.app
        self.release(container, status)
        if container.request.driver:
            self.masters.driver_lost(app)
        else:
            self.masters.lost(container)

    def looked(self, elapsed: float, cores: Floats, stored: Floats) -> None:
        """Use of all nodes was looked at; here nobody keeps it."""

    def core_hours(self) -> Mapping[str, float]:
        """Core-hours of the run by cause; empty where they are not counted."""
        return {}

    def idle(self) -> Mapping[str, Series]:
        """Cores by cause over time; empty where they are not counted."""
        return {}

    # ---- the whole run --------------------------------------------------------------------------------------------

    def series(self) -> Mapping[str, Series]:
        """What the policy and the usage model recorded over time."""
        recorded = dict(self.scheduler.series())
        if self.usage is not None:
            recorded.update(self.usage.series())
        return recorded

    def play(self, policy: str) -> Outcome:
        """Run to the end, or to the deadlock."""
        self.masters.begin()
        self.outages.begin()
        # Applications untie their own knots when they end, so the cyclic collector would only cost time.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self.engine.run()
            while self.masters.preempt_reduces() or (self.usage is not None and self.usage.look_on()):
                self.engine.run()
        finally:
            if collecting:
                gc.enable()
        return gather(self, policy)


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    seed: int,
    progress: Callable[[float], None] | None,
    options: dict[str, Any],
) -> Outcome:
    """Play a workload in the YARN world."""
    settings, rest = split(Settings, options)
    return YarnWorld(workload, cluster, create(policy, YarnWorld.name, rest), seed, settings, progress).play(policy)
