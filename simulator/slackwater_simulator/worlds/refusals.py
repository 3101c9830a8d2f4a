"""What the cluster could never hold, were it empty: such jobs would wait for ever and are refused, with the numbers."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.verdicts import describe
from slackwater.resources import Resources, places
from slackwater_simulator.policies.base import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Request


class Refusals:
    """Which jobs of a run were refused when they were submitted."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._places: dict[tuple[float, ...], int] = {}  # by shape: containers that the empty nodes hold
        self._count = 0
        self._first = ""

    def refuse(self, app: App) -> bool:
        """Whether a container of the job is larger than every node, or those to be placed at once are too many.

        Those that are placed at once must fit beside the job's own driver.
        """
        for request in app.requests if app.master is None else (app.master, *app.requests):
            found = self._held(request.shape)
            if found and request.total > 1 and app.master is not None and self._world.scheduler.whole(request):
                found -= self._lost(request.shape, app.master.shape)
            if not found or (request.total > found and self._world.scheduler.whole(request)):
                self._count += 1
                self._first = self._first or self._sentence(request, found)
                return True
        return False

    def notes(self) -> tuple[str, ...]:
        """One sentence about all of them."""
        if not self._count:
            return ()
        return (f"{self._first}; refused in all: {self._count}" if self._count > 1 else self._first,)

    def _held(self, shape: tuple[float, ...]) -> int:
        found = self._places.get(shape)
        if found is None:
            kinds = list(self._world.scheduler.kinds)
            asked, capacity = np.array(shape)[kinds], self._capacity[:, kinds]
            rows = _holding(capacity, asked)
            found = self._places[shape] = int(np.maximum(places(capacity[rows], asked), 1.0).sum())
        return found

    @cached_property
    def _capacity(self) -> NDArray[np.float64]:
        """What the policy gives of each node, were it empty."""
        return np.array(self._world.scheduler.most(), np.float64).reshape(-1, len(self._world.kinds))

    def _lost(self, shape: tuple[float, ...], driver: tuple[float, ...]) -> int:
        """Places that a driver takes from the tasks, on the node where it takes fewest."""
        kinds = list(self._world.scheduler.kinds)
        asked, taken = np.array(shape)[kinds], np.array(driver)[kinds]
        nodes = np.unique(self._capacity[:, kinds], axis=0)
        nodes = nodes[_holding(nodes, taken)]
        return int((places(nodes, asked) - places(nodes - taken, asked)).min()) if len(nodes) else 0

    def _sentence(self, request: Request, found: int) -> str:
        size = describe(Resources.from_vector(self._world.kinds, request.shape))
        job = f"job {request.app.job.id} was refused: "
        if not found:
            return f"{job}it asks for a container of {size}, and no node has as much"
        return f"{job}it asks for {request.total} containers at once, each of {size}; the empty nodes hold {found}"


def _holding(nodes: NDArray[np.float64], asked: NDArray[np.float64]) -> NDArray[np.bool_]:
    """The nodes that a policy would place it on: their slack is absolute, and that of `resources` many bytes wide."""
    return np.asarray((nodes + SLACK >= asked).all(axis=1), np.bool_)
