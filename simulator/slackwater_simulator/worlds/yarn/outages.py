"""Nodes that fail and come back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from slackwater.errors import UnknownName
from slackwater_simulator.engine import END
from slackwater_simulator.results.status import LOST

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.interface import World


class Outages:
    """Takes nodes away with everything on them, and gives them back empty."""

    def __init__(self, world: World) -> None:
        self.world = world

    def begin(self) -> None:
        """Schedule what the settings say."""
        for name, fails, returns in sorted(self.world.settings.outages, key=lambda each: each[1]):
            if name not in self.world.places:
                raise UnknownName("outages", name, self.world.places)
            node = self.world.places[name]
            self.world.engine.at(fails, END, self._fail, node)
            if math.isfinite(returns):  # else it is gone for good
                self.world.engine.at(returns, END, self._return, node)

    def _fail(self, node: int) -> None:
        world = self.world
        world.up[node] = 0
        on_it = [c for app in world.masters.apps.values() for c in app.held if c.node == node]
        for container in sorted(on_it, key=lambda c: c.request.index != -1):  # drivers first: they take theirs along
            if container.status < 0:
                world.lose(container, LOST)
        for kind, amount in enumerate(world.capacity[node]):
            world.free[kind][node] = -amount  # nothing fits
            world.total[kind] -= amount
        world.beats.open[node] = 0
        world.scheduler.resized()

    def _return(self, node: int) -> None:
        world = self.world
        world.up[node] = 1
        for kind, amount in enumerate(world.capacity[node]):
            world.free[kind][node] = amount
            world.total[kind] += amount
        world.scheduler.resized()
        world.stir()
