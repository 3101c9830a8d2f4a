"""HaSTE and HaSTE-A alone (paper 001): a node is filled by fitness and urgency, and at the cold start by a knapsack.

The core chooses (`knapsack`, `nodefill`); here its inputs are read off the world: what is left of the node, what each
stage has assigned, holds and has done.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from slackwater.ordering.fitness import weights
from slackwater.ordering.iterations import alignment, factor
from slackwater.ordering.stageurgency import Stage, stage_urgencies
from slackwater.placement.heartbeatfill import NodeSpace, TaskRequest, WaitingTask, assign
from slackwater.placement.knapsack import MAX_TASKS, knapsack
from slackwater_simulator.policies.base import Queue, Scheduler
from slackwater_simulator.worlds.fit import most

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request


class Haste(Scheduler):
    """`initial`: until something has ended, nodes are filled by knapsack (ITA) instead of by preference (RTA)."""

    def __init__(self, *, initial: bool = True) -> None:
        self.initial = initial
        self.queue = Queue()
        self.tasks: list[WaitingTask] = []  # equal stand-ins: which task a container runs is the request's own affair

    def start(self, world: World) -> None:
        """One task's share of an average node is its size (R in the paper)."""
        super().start(world)
        nodes = max(1, len(world.order))
        self.unit = [nodes / total if total > 0 else 0.0 for total in world.total]
        self.weight = [weights(np.array(capacity)) for capacity in world.capacity]
        self.alpha = self.factor(world)

    def factor(self, _world: World) -> float:
        """HaSTE does not look at iterations."""
        return 0.0

    def asked(self, app: App, /) -> None:
        """Keep the queue to those that wait."""
        self.queue.update(app)

    def released(self, _container: Container, /) -> None:
        """The cold start is over."""
        self.initial = False

    # ---- one node -------------------------------------------------------------------------------------------------

    def beat(self, node: int, /) -> None:
        """Fill the node: masters outright, then by knapsack (cold start) or by preference."""
        if not self.world.roomy(node):
            self.misfit = True
            return
        asks = dict(self._asks(node))
        if not asks:
            return
        if self.initial and not any(request.driver for request, _ in asks.values()):
            placed = self._initial(node, asks)
        else:
            placed = self._preferred(node, asks)
        for request in placed:
            if not request.app.pending:
                self.queue.update(request.app)

    def _asks(self, node: int) -> Iterator[tuple[str, tuple[Request, TaskRequest]]]:
        """Everything that waits and would fit the node as it is now."""
        for app in self.queue.apps:
            urgent = self._urgencies(app)
            aligned = self._alignment(app)
            for request in app.requests if app.registered else (app.master,):
                if request is None or not request.pending or not self.accepts(node, request):
                    continue
                name = f"{app.rank}.{request.index}"
                yield (
                    name,
                    (
                        request,
                        TaskRequest(
                            name,
                            request.shape,
                            self._stand_ins(node, request),
                            submitted=app.rank,
                            urgency=urgent.get(name, 0.0),
                            alignment=aligned,
                            master=request.driver,
                        ),
                    ),
                )

    def _stand_ins(self, node: int, request: Request) -> tuple[WaitingTask, ...]:
        """As many tasks as wait and could at most fit."""
        count = min(most(request.shape, [free[node] for free in self.world.free]), request.pending)
        self.tasks += [WaitingTask(str(number)) for number in range(len(self.tasks), count)]
        return tuple(self.tasks[:count])

    def _preferred(self, node: int, asks: Mapping[str, tuple[Request, TaskRequest]]) -> list[Request]:
        """RTA. Allocating moves A and O of the job, so its urgencies are asked for again after each step."""
        spot = NodeSpace(self._free(node), self.weight[node])
        now = {name: ask.urgency for name, (_, ask) in asks.items()}
        placed: list[Request] = []
        for assigned in assign(spot, [ask for _, ask in asks.values()], alpha=self.alpha, urgencies=lambda _: now):
            request = asks[assigned.request][0]
            if not self.accepts(node, request):
                break  # its data are elsewhere, and it would rather wait for them
            self.world.allocate(request, node)
            placed.append(request)
            now.update(self._urgencies(request.app))
        return placed

    def _initial(self, node: int, asks: Mapping[str, tuple[Request, TaskRequest]]) -> list[Request]:
        """ITA: the fullest set for this node, from everything that waits."""
        rows = [request for request, ask in asks.values() for _ in ask.tasks]
        if len(rows) > MAX_TASKS:
            return self._preferred(node, asks)
        sizes = np.array([request.shape for request in rows])
        found = knapsack(self._free(node), sizes, np.sqrt(self.weight[node]))
        chosen = [rows[row] for row in found.chosen]
        for request in chosen:
            self.world.allocate(request, node)
        return chosen

    def _free(self, node: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return np.array([free[node] for free in self.world.free])

    # ---- where a job stands ---------------------------------------------------------------------------------------

    def _urgencies(self, app: App) -> dict[str, float]:
        """U of each stage of the round the job is in; an ordinary job has one round."""
        stages = [request for request in app.requests if request.stage is not None]
        current = _current(app)
        mine = [request for request in stages if request.stage is not None and request.stage.iteration == current]
        counted = [
            Stage(request.total, request.held + request.done, request.held, self._size(request), request.done)
            for request in mine
        ]
        found = stage_urgencies(counted)
        return {f"{app.rank}.{request.index}": value for request, value in zip(mine, found, strict=True)}

    def _size(self, request: Request) -> float:
        return sum(amount * unit for amount, unit in zip(request.shape, self.unit, strict=True))

    def _alignment(self, _app: App) -> float:
        return 0.0


class HasteA(Haste):
    """HaSTE with alignment of iterative jobs. `alpha` None: chosen from the share of iterative jobs."""

    def __init__(self, *, initial: bool = True, alpha: float | None = None) -> None:
        super().__init__(initial=initial)
        self.given = alpha

    def factor(self, world: World) -> float:
        """alpha_A."""
        if self.given is not None:
            return self.given
        jobs = world.workload.jobs
        return factor(sum(job.iterations > 0 for job in jobs) / len(jobs)) if jobs else 0.0

    def _alignment(self, app: App) -> float:
        job = app.job
        return alignment(iterative=job.iterations > 0, stage=_current(app), stages=job.iterations or None)


def _current(app: App) -> int:
    """The iteration of the job's earliest unfinished stage."""
    for request in app.requests:
        if request.done < request.total and request.stage is not None:
            return request.stage.iteration
    return 0
