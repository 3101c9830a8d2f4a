"""YARN's CapacityScheduler: a tree of queues with guarantees and maxima, FIFO inside a queue, limits per user.

The DefaultResourceCalculator counts memory only and oversubscribes cores; the Dominant one counts everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from slackwater.errors import UnknownName
from slackwater_simulator.policies.base import Scheduler
from slackwater_simulator.policies.hadoop.calculators import Amounts, Calculator, minus
from slackwater_simulator.policies.hadoop.capacityqueues import CapacityQueue, tree
from slackwater_simulator.policies.hadoop.reservations import Reservations
from slackwater_simulator.worlds.yarn.locality import ANY

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request


class Capacity(Scheduler):
    """Options without a queue's name are the default for every queue."""

    def __init__(
        self,
        *,
        queues: Mapping[str, Mapping[str, Any]] | None = None,
        calculator: str = "default",
        offswitch_per_beat: int = 1,  # per-node-heartbeat.maximum-offswitch-assignments
        assignments_per_beat: int = 100,  # per-node-heartbeat.maximum-container-assignments
        reserve: bool = True,
        **defaults: Any,
    ) -> None:
        self.queues = queues
        self.calculator_name = calculator
        self.offswitch_per_beat = offswitch_per_beat
        self.assignments_per_beat = assignments_per_beat
        self.reserve = reserve
        self.defaults = defaults
        self.reservations = Reservations()

    def start(self, world: World) -> None:
        """Build the tree: as given, else one queue of equal size for each queue the workload names."""
        self.calculator = Calculator(self.calculator_name, world.total, world.rounded.least)
        self.checked = self.calculator.kinds
        super().start(world)
        named = dict.fromkeys(job.queue for job in sorted(world.workload.jobs, key=lambda job: job.submit)) or {
            "default": None
        }
        queues = self.queues or {name: {"capacity": 100.0 / len(named)} for name in named}
        self.root = tree(queues, self.defaults, self.calculator)
        self.leaves = {leaf.path: leaf for leaf in self.root.leaves()}
        for leaf in self.leaves.values():
            leaf.limit = leaf.maximum

    # ---- what happened --------------------------------------------------------------------------------------------

    def submitted(self, app: App, /) -> None:
        """Into its queue; active at once if the drivers' limit allows."""
        if app.job.queue not in self.leaves:
            raise UnknownName(f"job {app.job.id}: queue", app.job.queue, self.leaves)
        leaf = self.leaves[app.job.queue]
        app.queue = leaf
        leaf.inactive.append(app)
        self._activate(leaf)

    def _activate(self, leaf: CapacityQueue) -> None:
        for app in leaf.activate():
            app.extras = True  # active
            self._refresh(app, leaf)
            if app.pending:
                self.world.stir()

    def _refresh(self, app: App, leaf: CapacityQueue) -> None:
        """Keep the leaf's queue, and its users' counts, to applications that are active and wait."""
        if app.extras:
            leaf.user(app.job.user).waiting += leaf.queue.update(app)

    def asked(self, app: App, /) -> None:
        """An application waits for more, or for nothing."""
        self._refresh(app, self._leaf(app))

    def allocated(self, container: Container, /) -> None:
        """Charge queue and user."""
        app = container.request.app
        leaf = self._leaf(app)
        leaf.charge(app.job.user, container.request.shape, 1.0)
        if not app.pending:
            self._refresh(app, leaf)

    def released(self, container: Container, /) -> None:
        """Discharge queue and user."""
        app = container.request.app
        self._leaf(app).charge(app.job.user, container.request.shape, -1.0)

    def finished(self, app: App, /) -> None:
        """Its driver's share is free for the next application."""
        leaf = self._leaf(app)
        if app.extras:
            leaf.leave(app)
        else:
            leaf.inactive.remove(app)
        self._activate(leaf)

    def resized(self) -> None:
        """The cluster grew or shrank."""
        for leaf in self.leaves.values():
            queue: CapacityQueue | None = leaf
            while queue is not None:
                queue.resize()
                queue = queue.parent
            self._activate(leaf)

    @staticmethod
    def _leaf(app: App) -> CapacityQueue:
        assert isinstance(app.queue, CapacityQueue)  # noqa: S101 - set at submission
        return app.queue

    # ---- decisions ------------------------------------------------------------------------------------------------

    def beat(self, node: int, /) -> None:
        """One container after another until the heartbeat's limits, the room or the wishes are used up."""
        offswitch = placed = 0
        while placed < self.assignments_per_beat and offswitch < self.offswitch_per_beat:
            holder = self.reservations.holder(node)
            if holder is not None:
                self._fulfil(node, holder)
                return
            if not self.world.roomy(node):
                self.misfit = True
                return
            level = self._assign(self.root, self.root.maximum, node)
            if level is None:
                return
            placed += 1
            offswitch += level == ANY

    def _fulfil(self, node: int, request: Request) -> None:
        """Only the holder of a reservation may use the node."""
        if self.fits(node, request):
            self.reservations.drop(node)
            self.world.allocate(request, node)

    def _assign(self, queue: CapacityQueue, limit: Amounts, node: int) -> int | None:
        """Place one container somewhere below the queue; how near it is to its data, or None."""
        if not queue.children:
            return self._assign_leaf(queue, limit, node)
        if self.calculator.reaches(queue.used, queue.maximum):
            self.limited = True
            return None
        for child in sorted(queue.children, key=CapacityQueue.pressure) if len(queue.children) > 1 else queue.children:
            level = self._assign(child, queue.child_limit(child, limit), node)
            if level is not None:
                return level
        return None

    def _assign_leaf(self, leaf: CapacityQueue, limit: Amounts, node: int) -> int | None:
        leaf.limit = self.calculator.smaller(limit, leaf.maximum)
        if not leaf.queue.apps:
            return None
        if self.calculator.reaches(leaf.used, leaf.limit):
            self.limited = True
            return None
        headroom = minus(leaf.limit, leaf.used)
        user_limit = leaf.user_limit()
        for app in leaf.queue.apps:
            if self.calculator.over(leaf.user(app.job.user).used, user_limit):
                self.limited = True
                continue
            level = self._assign_app(app, headroom, node)
            if level is not None:
                return level
            if self.reservations.on and node in self.reservations.on:
                return None
        return None

    def _assign_app(self, app: App, headroom: Amounts, node: int) -> int | None:
        for request in app.requests if app.registered else (app.master,):
            if request is None or not request.pending:
                continue
            if not self.calculator.inside(request.shape, headroom):
                self.limited = True
                return None
            if self.accepts(node, request):
                level = self.level
                self.world.allocate(request, node)
                return level
            if self.reserve and self.crowded(node, request) and self.reservations.make(node, request):
                return None
        return None
