"""Slackwater's gatekeeper over the applications of a simulated world.

What the operator and the extender do on a cluster, this does in virtual time with the same functions of the core: it
keeps the snapshot current, asks `cycle.decide`, and enters every container into the ledger. The worlds decide
only when to ask and where a container physically goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.appsize import AppSizes
from slackwater.cycle.appstarts.poolbuilder import PoolMember, PoolTerms, SlotScale, build_pool
from slackwater.cycle.cycle import Round, decide
from slackwater.cycle.snapshot import App, Pool, PoolScale, Queue, Snapshot
from slackwater.pools.appphases import AppPhases
from slackwater.pools.forecastlog import ForecastLog
from slackwater.pools.pools import Category, balanced_slot, slot_count, slots
from slackwater.resources import NOTHING, Resources, places
from slackwater_simulator.policies.slackwater.ledger import Books
from slackwater_simulator.policies.slackwater.snapshot import QUEUE, Views

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeTable
    from slackwater_simulator.policies.slackwater.options import Parts
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App as YarnApp
    from slackwater_simulator.worlds.yarn.model import Container, Request


class Gate:
    """One world's gatekeeper."""

    def __init__(self, world: World, parts: Parts) -> None:
        self.world, self.parts = world, parts
        self.kinds = world.kinds
        self.books = Books(world, parts)
        self.ledger = self.books.ledger
        self.views = Views(self.kinds, self._slot, self.books.native, world.masters.refusals.cramped)
        self.requests, self.waiting = self.views.requests, self.views.waiting
        self.wishes = self.views.promises.wishes
        self._phases, self._sizes = AppPhases(), AppSizes()
        self._balanced: tuple[Resources, Resources] = (NOTHING, NOTHING)  # median task, and the slot made of it
        self._delta = parts.delta
        self.alpha = 0.0  # HaSTE-A's factor, as the last round chose it
        self.deltas: list[tuple[float, float]] = []
        self.forecastlog = ForecastLog()
        self.seen: Snapshot | None = None  # what the last round was decided on

    # ---- what the world tells ------------------------------------------------------------------------------------

    def submitted(self, app: YarnApp) -> None:
        """An application is there."""
        self.views.apps[app.index] = app

    def changed(self, app: YarnApp) -> None:
        """It asks for more or fewer containers; what it no longer wants is no longer promised."""
        self.views.drop(app.index)
        self.views.waits(app, self.world.engine.now)
        waiting = self.waiting
        for request in [app.master, *app.requests] if waiting else ():
            if request is not None and waiting.get(request.key, 0) > request.pending:
                self.views.promise(request.key, request.pending)

    def allocated(self, container: Container) -> None:
        """A container holds its node from now on."""
        self.books.enter(container)
        app, now = container.request.app, self.world.engine.now
        if container.request.driver:
            self.views.seats[app.index] = (str(container.node),)
            self.views.driver_bound[app.index] = now
        else:
            self.views.served[app.index] = now
        self.views.waits(app, now)
        self.views.drop(app.index)

    def started(self, container: Container) -> None:
        """Its process runs."""
        uid, request = self.books.start(container), container.request
        if uid is not None and not request.driver:
            app, stage = str(request.app.index), str(request.index)
            self._phases.expect(app, stage, request.total)
            self._phases.start(app, uid, self.world.engine.now, stage)

    def released(self, container: Container) -> None:
        """It is gone."""
        uid, request = self.books.leave(container), container.request
        if uid is None:
            return
        app = request.app.index
        if request.driver:
            self.views.seats.pop(app, None)
            self.views.driver_bound.pop(app, None)
        else:
            self._phases.finish(uid, self.world.engine.now)
        self.views.drop(app)

    def finished(self, app: YarnApp) -> None:
        """The application is over."""
        self._phases.forget(str(app.index))
        self.views.forget(app)

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64]) -> bool:
        """The usage model has looked. True if the ledger took the sample."""
        return self.books.sample(cores, stored)

    def resized(self) -> None:
        """A node failed or came back."""
        self.books.resize()

    # ---- what it decides -----------------------------------------------------------------------------------------

    @property
    def held(self) -> int:
        """Containers that wait behind the gate."""
        return self.world.pending - self.views.promises.total

    def roomy(self) -> bool:
        """Whether some node could take the smallest container that is asked for; if not, a round is in vain."""
        return self.books.roomy(self.world.least)

    def round(self) -> Round:
        """One round at the gate; what starts and how the pools move is remembered."""
        now, views = self.world.engine.now, self.views
        self._unstick()
        outcome = decide(self.snapshot(now), explain=self.parts.forecasts, sizes=self._sizes)
        self.alpha = outcome.alphas[QUEUE]
        for name in outcome.started:
            views.started.add(int(name))
            views.drop(int(name))
        for name, category in outcome.categories.items():
            views.categories[int(name)] = category
        for adjustment in outcome.adjustments.values():
            if adjustment.delta != self._delta:
                self._delta = adjustment.delta
                self.deltas.append((now, adjustment.delta))
        if self.parts.forecasts:
            self._forecast(outcome, now)
        return outcome

    def _forecast(self, outcome: Round, now: float) -> None:
        """Tell the log of starts who starts and who waits at which place."""
        for name in outcome.started:
            self.forecastlog.start(name, QUEUE, now)
        for name, verdict in outcome.verdicts.items():
            if verdict.position and not verdict.refused and name not in outcome.started:
                size = outcome.categories[name].value
                self.forecastlog.wait(name, QUEUE, size, verdict.position, verdict.wait, now)

    def snapshot(self, now: float) -> Snapshot:
        """Everything the gatekeeper may know."""
        apps = self.views.all()
        capacity = self.views.named(tuple(self.world.total))
        left = self.books.everywhere(driver=False).sum(axis=0)
        pools = (self._pool(now, apps, capacity, left),) if self.parts.pools and len(self.views.median_task) else ()
        queue = Queue(
            QUEUE,
            capacity if self.parts.admission else capacity * 1e9,
            free=self._free(left),
            total=capacity,
            pool=QUEUE if pools else "",
        )
        nodes = self._nodes(now)
        self.seen = Snapshot(
            now,
            (queue,),
            apps,
            pools,
            window=self.parts.window,
            preference=self.parts.order,
            nodes=nodes,
            reserve=self.parts.admission,
        )
        return self.seen

    def _nodes(self, now: float) -> NodeTable:
        """Every node's room, less what released containers will take that wait for a heartbeat."""
        table = self.ledger.table(now)
        if not self.waiting:
            return table
        room, native = table.room.copy(), table.native.copy()
        for key, count in self.waiting.items():
            request = self.requests[key]
            shape = np.array(request.shape)
            shrunk = np.array(self.books.native(request.shape, request.driver))
            most = np.minimum(places(room, request.shape), places(native, shrunk))
            for row in np.argsort(-room[:, 0]).tolist():
                fitting = min(int(most[row]), count)
                room[row] -= fitting * shape
                native[row] -= fitting * shrunk
                count -= fitting  # noqa: PLW2901 - what is still to be given out
                if count <= 0:
                    break
        return replace(table, room=room, native=native)

    def _free(self, left: NDArray[np.float64]) -> Resources:
        """Σ over open nodes of what is left by measurement and by ceiling, in declared units, less what is promised."""
        free: list[float] = left.tolist()
        for key, count in self.waiting.items():
            free = [have - count * ask for have, ask in zip(free, self.requests[key].shape, strict=True)]
        return Resources.from_vector(self.kinds, [max(have, 0.0) for have in free])

    def _pool(self, now: float, apps: Sequence[App], capacity: Resources, left: NDArray[np.float64]) -> Pool:
        scale, parts = SlotScale(self._slot(), slot_count(capacity, self.views.median_task.current)), self.parts
        terms = PoolTerms(QUEUE, self._delta, parts.theta, parts.delta_minimum)
        counted_in = PoolScale(scale.slot, scale.nominal, parts.theta)
        members = [
            PoolMember(
                app.id,
                self.views.categories.get(int(app.id), Category.LARGE),
                self._sizes.of(app, counted_in).charged,
                slots(app.task_request or scale.slot, scale.slot),
            )
            for app in apps
            if app.started
        ]
        free = Resources.from_vector(self.kinds, left.tolist())
        return build_pool(terms, scale, members, self._phases, free=free, now=now, far=parts.forecasts)

    def _slot(self) -> Resources:
        """What sizes are counted in: a balanced slot of the median task, renewed with it."""
        median = self.views.median_task.current
        if median is not self._balanced[0]:
            whole = Resources.from_vector(self.kinds, self.world.cluster.total)
            self._balanced = median, balanced_slot(whole, median)
        return self._balanced[1]

    # ---- released and waiting for a node (worlds with heartbeats) ------------------------------------------------

    def promise(self, key: str, count: int) -> None:
        """So many containers of the group were released."""
        self.views.promise(key, self.waiting.get(key, 0) + count)

    def kept(self, key: str) -> None:
        """One of them is about to get its node."""
        self.views.promise(key, self.waiting[key] - 1)

    def withdraw(self, key: str) -> int:
        """Take back what no node has taken; how many these were."""
        count = self.waiting.get(key, 0)
        if count:
            self.views.promise(key, 0)
        return count

    def placeable(self, request: Request) -> bool:
        """Whether some node has room for a container of the request."""
        return bool(self.books.takes(request.shape, driver=request.driver).any())

    def stick(self, key: str) -> None:
        """Placement found no node for a pod of this group."""
        if key not in self.views.stuck:
            self.views.stuck.add(key)
            self.views.drop(self.requests[key].app.index)

    def _unstick(self) -> None:
        """Groups for which some node has room again stand in line again."""
        for key in sorted(self.views.stuck):
            request = self.requests.get(key)
            if request is None or self.placeable(request):
                self.views.stuck.discard(key)
                if request is not None:
                    self.views.drop(request.app.index)
