"""YARN's FairScheduler: queues and applications share by memory, or by dominant share (`ordering="drf"`).

Placing checks memory and cores whatever the ordering. Demand and shares are refreshed by an update thread: what an
application asks for is not served before the next update.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slackwater.errors import UnknownName
from slackwater_simulator.engine import TICK
from slackwater_simulator.policies.base import Scheduler
from slackwater_simulator.policies.hadoop.fairqueues import FairApp, FairQueue, tree
from slackwater_simulator.policies.hadoop.reservations import Reservations
from slackwater_simulator.results.status import DONE

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request

MEMORY = 1
Key = tuple[float, ...]


class Fair(Scheduler):
    """Options without a queue's name (weight, minimum, maximum, max_am_share) are the default for every queue."""

    def __init__(
        self,
        *,
        queues: Mapping[str, Mapping[str, Any]] | None = None,
        ordering: str = "fair",
        update_interval: float = 0.5,  # seconds the update thread sleeps (update-interval-ms)
        update_cost: float = 0.001,  # … and the seconds an update takes, so that it drifts against the heartbeats
        assign_multiple: bool = False,
        dynamic_max_assign: bool = True,  # with assign_multiple: at most half of the node's free room per beat
        max_assign: int = -1,
        size_based_weight: bool = False,
        reservation_multiple: float = 2.0,  # requests of at least this many steps may reserve a node
        reservable_nodes: float = 0.05,  # … and an application at most this share of all nodes, rounded up
        **defaults: Any,
    ) -> None:
        if ordering not in {"fair", "drf"}:
            raise UnknownName("ordering", ordering, ("fair", "drf"))
        self.queues, self.defaults, self.ordering = queues, defaults, ordering
        self.update_interval = update_interval + update_cost if update_interval else 0.0
        self.assign_multiple, self.dynamic_max_assign, self.max_assign = assign_multiple, dynamic_max_assign, max_assign
        self.sized = size_based_weight
        self.reservation_multiple, self.reservable_nodes = reservation_multiple, reservable_nodes
        self.reservations = Reservations()
        self.updating = False
        self.reserving = False  # some application may reserve a node, as of the last update

    def start(self, world: World) -> None:
        """Build the queues: as given, else one for each queue the workload names."""
        super().start(world)
        named = dict.fromkeys(job.queue for job in sorted(world.workload.jobs, key=lambda job: job.submit))
        self.root, self.by_path = tree(self.queues or {name: {} for name in named}, self.defaults, len(world.kinds))
        self.shared = (MEMORY,) if self.ordering == "fair" else tuple(range(len(world.kinds)))
        self.available = list(world.total)
        self.phase = float(world.rng.uniform(0.0, self.update_interval)) if self.update_interval else 0.0

    # ---- the update thread ----------------------------------------------------------------------------------------

    def _changed(self) -> None:
        """Something changed: the next update must look at it. Updates of an unchanged world are not executed."""
        if self.updating:
            return
        self.updating = True
        engine, interval = self.world.engine, self.update_interval
        if interval and self.world.name == "yarn":
            number = math.floor((engine.now - self.phase) / interval) + 1
            engine.at(self.phase + number * interval, TICK, self._update)
        else:
            engine.at(engine.now, TICK, self._update)

    def _update(self, _: None) -> None:
        self.updating = False
        self.root.update_demand(self.sized)
        self.root.share = list(self.world.total)
        self.root.update_shares(self.shared)
        self._count_available()
        if self.world.pending:
            self.reserving = self._may_reserve()
            if self.reserving:  # nodes without any room, too, are asked: they may be reserved
                self.world.visit_all()
            self.world.stir()

    def _may_reserve(self) -> bool:
        """Whether an application would reserve a node that has no room for it."""
        return any(
            request.pending and self._reservable(app, queue, request)
            for queue in self.by_path.values()
            for app in queue.apps
            if app.pending and app.registered
            for request in app.requests
        )

    def _count_available(self) -> None:
        self.available = [total - used for total, used in zip(self.world.total, self.world.used, strict=True)]

    # ---- what happened --------------------------------------------------------------------------------------------

    def submitted(self, app: App, /) -> None:
        """Into its queue."""
        if app.job.queue not in self.by_path:
            raise UnknownName(f"job {app.job.id}: queue", app.job.queue, self.by_path)
        app.queue = self.by_path[app.job.queue]
        app.extras = FairApp()
        self._queue(app).apps[app] = None
        self._changed()

    def asked(self, _app: App, /) -> None:
        """Seen at the next update."""
        self._changed()

    def allocated(self, container: Container, /) -> None:
        """Charge the queues; the first container is the driver."""
        request = container.request
        app = request.app
        queue = self._queue(app)
        queue.charge(request.shape, 1.0)
        notes = self._notes(app)
        if app.master is request:
            notes.driving = True
            queue.drivers = [a + b for a, b in zip(queue.drivers, request.shape, strict=True)]

    def released(self, container: Container, /) -> None:
        """Discharge the queues. What is available is counted anew at once, after placements only as the beat ends.

        A driver that is lost is charged again with its next container; one that is done leaves with its application.
        """
        request = container.request
        self._queue(request.app).charge(request.shape, -1.0)
        if request.driver and container.status != DONE:
            self._park(request.app)
        self._count_available()
        self._changed()

    def finished(self, app: App, /) -> None:
        """Gone, and its driver's share with it."""
        self._park(app)
        del self._queue(app).apps[app]
        self._changed()

    def _park(self, app: App) -> None:
        """Take its driver, if it has one, off the queue's share for drivers."""
        notes, queue = self._notes(app), self._queue(app)
        if app.master is not None and notes.driving:
            notes.driving = False
            queue.drivers = [a - b for a, b in zip(queue.drivers, app.master.shape, strict=True)]

    def resized(self) -> None:
        """Shares are of what there is now."""
        self._changed()

    @staticmethod
    def _queue(app: App) -> FairQueue:
        assert isinstance(app.queue, FairQueue)  # noqa: S101 - set at submission
        return app.queue

    @staticmethod
    def _notes(app: App) -> FairApp:
        assert isinstance(app.extras, FairApp)  # noqa: S101 - set at submission
        return app.extras

    # ---- decisions ------------------------------------------------------------------------------------------------

    def beat(self, node: int, /) -> None:
        """One container, or several with assign_multiple."""
        holder = self.reservations.holder(node)
        if holder is not None:
            if self.fits(node, holder):
                self.reservations.drop(node)
                self.world.allocate(holder, node)
            self._count_available()
            return
        room = [self.world.free[kind][node] * 0.5 for kind in self.kinds]
        given = [0.0] * len(room)
        count = 0
        while node not in self.reservations.on:
            request = self._assign(self.root, node)
            if request is None:
                break
            count += 1
            given = [a + b for a, b in zip(given, request.shape, strict=True)]
            if not self._another(count, given, room):
                break
        self._count_available()

    def _another(self, count: int, given: list[float], room: list[float]) -> bool:
        if not self.assign_multiple:
            return False
        if self.dynamic_max_assign:
            return all(g <= r + 1e-9 for g, r in zip(given, room, strict=True))
        return self.max_assign <= 0 or count < self.max_assign

    def _assign(self, queue: FairQueue, node: int) -> Request | None:
        """Place one container below the queue, the neediest child first."""
        if queue.over():
            self.limited = True
            return None
        if not self.reserving and not self.world.roomy(node):
            self.misfit = True
            return None
        if not queue.children:
            return self._assign_leaf(queue, node)
        for child in sorted(queue.children, key=self._queue_key):
            request = self._assign(child, node)
            if request is not None:
                return request
        return None

    def _assign_leaf(self, queue: FairQueue, node: int) -> Request | None:
        hungry = [(self._app_key(app), app) for app in queue.apps if self._notes(app).demand != app.used[MEMORY]]
        if not hungry:
            return None
        first = min(hungry)  # keys end with the rank, so applications are never compared
        request = self._try(first[1], queue, node)
        if request is not None or node in self.reservations.on:
            return request
        for _, app in sorted(hungry)[1:]:
            request = self._try(app, queue, node)
            if request is not None or node in self.reservations.on:
                return request
        return None

    def _try(self, app: App, queue: FairQueue, node: int) -> Request | None:
        if not app.pending:
            return None
        if app.master is not None and not self._notes(app).driving and not self._may_drive(app, queue):
            self.limited = True
            return None
        for request in app.requests if app.registered else (app.master,):
            if request is None or not request.pending:
                continue
            if not queue.admits(request.shape):
                self.limited = True
            elif self.accepts(node, request):
                self.world.allocate(request, node)
                return request
            elif self._reservable(app, queue, request) and self.crowded(node, request):
                self.reservations.make(node, request)
                return None
        return None

    def _may_drive(self, app: App, queue: FairQueue) -> bool:
        """Whether one more driver stays within the queue's limit for drivers."""
        if queue.settings.max_am_share < 0 or app.master is None:
            return True
        limit = queue.drivers_limit(self.available)
        return all(d + s <= m + 1e-9 for d, s, m in zip(queue.drivers, app.master.shape, limit, strict=True))

    def _reservable(self, app: App, queue: FairQueue, request: Request) -> bool:
        """Large enough, its application is below its fair share and holds no more reservations than it may."""
        most = math.ceil(len(self.world.capacity) * self.reservable_nodes - 1e-9)
        if sum(self.reservations.count.get(each, 0) for each in app.requests) >= most:
            return False
        steps = self.world.rounded.steps
        if not any(
            s and request.shape[k] >= self.reservation_multiple * s for k, s in enumerate(steps) if k in self.shared
        ):
            return False
        weights = sum(self._notes(other).weight for other in queue.apps)
        return app.used[MEMORY] < queue.share[MEMORY] * self._notes(app).weight / weights

    # ---- order ----------------------------------------------------------------------------------------------------

    def _queue_key(self, queue: FairQueue) -> tuple[Any, ...]:
        """Hadoop's comparison: demand, then below minimum share, then use over weight, then name."""
        weight = queue.settings.weight
        wants = 0 if queue.demand[MEMORY] > 0 else 1
        needy, ratio = self._minimum(queue)
        return (wants, needy, ratio, self._size(queue.used) / weight if weight > 0 else math.inf, queue.path)

    def _minimum(self, queue: FairQueue) -> tuple[int, float]:
        for kind in self.shared:
            least = min(queue.least[kind], queue.demand[kind])
            if queue.used[kind] < least and least > 0:  # sums of fractions may be a hair below nothing
                return 0, queue.used[kind] / least
        return 1, 0.0

    def _app_key(self, app: App) -> Key:
        notes = self._notes(app)
        return (0.0 if notes.demand > 0 else 1.0, self._size(app.used) / notes.weight, float(app.rank))

    def _size(self, used: list[float]) -> float:
        """Memory, or the dominant share of the cluster."""
        if self.ordering == "fair":
            return used[MEMORY]
        total = self.world.total
        return max((used[k] / total[k] for k in self.shared if total[k] > 0), default=0.0)
