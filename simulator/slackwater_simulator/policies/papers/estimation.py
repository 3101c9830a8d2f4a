"""FIFO with estimated room alone (paper 000): the order is YARN's, only what a node seems to have left is measured.

Without a usage model no sample ever comes, and the estimate is the sum of requests: plain reservation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.estimation.mode import ALPHA, Mode
from slackwater.validation import fraction
from slackwater_simulator.physics.room import accepts
from slackwater_simulator.policies.hadoop.fifo import Fifo
from slackwater_simulator.results.samples import Samples
from slackwater_simulator.worlds.seconds.rooms import Estimated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.results.outcome import Series
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import Container, Request

# 28 of 32 GB, as the paper's nodes offer; the rest is left to the system and to what the estimate gets wrong.
ALLOWANCE = 0.875


class Estimation(Fifo):
    """`mode` is `capped` or `printed`; `allowance` is a share, or one per kind.

    Capped, the estimate is at most what is reserved, and what is larger than a node's allowance is placed by
    reservation alone. Printed, such a container is refused: the room never comes to as much.
    """

    learns = True

    def __init__(
        self,
        *,
        alpha: float = ALPHA,
        mode: str = Mode.CAPPED,
        allowance: float | Sequence[float] = ALLOWANCE,
    ) -> None:
        super().__init__(cores=True)
        self.alpha, self.mode, self.allowance = alpha, Mode(mode), allowance
        self.estimates = Samples(("estimated_cpu", "estimated_memory"))

    def start(self, world: World) -> None:
        """The allowance of each node, and what its system uses."""
        super().start(world)
        settings, kinds = world.settings, len(world.kinds)
        given = [self.allowance] * kinds if isinstance(self.allowance, int | float) else [*self.allowance]
        shares = np.array([fraction("allowance", share) for share in (given + [1.0] * kinds)[:kinds]])
        self.system = np.array([settings.system_cpu, settings.system_memory, *[0.0] * (kinds - 2)])
        self.rooms = Estimated(
            np.array(world.capacity) * shares,
            self.system,
            alpha=self.alpha,
            mode=self.mode,
            period=settings.usage_period or 1.0,
        )

    def fits(self, node: int, request: Request) -> bool:
        """Whether the estimate leaves room for one more container of the request."""
        return self._takes(node, request.shape)

    def _takes(self, node: int, shape: Sequence[float]) -> bool:
        room = self.rooms.room(node)
        if all(accepts(asked, left) for asked, left in zip(shape, room, strict=True)) or self._reserves(node, shape):
            return True
        self.misfit = True
        return False

    def _reserves(self, node: int, shape: Sequence[float]) -> bool:
        """Whether it is larger than the allowance, however empty the node is, and fits beside all that is reserved."""
        if self.mode is not Mode.CAPPED or all(map(accepts, shape, self.rooms.allowance[node])):
            return False
        return all(accepts(asked, free[node]) for asked, free in zip(shape, self.world.free, strict=True))

    def most(self) -> Sequence[Sequence[float]]:
        """The allowances as printed, or whole nodes."""
        return self.world.capacity if self.mode is Mode.CAPPED else self.rooms.allowance

    def beat(self, node: int, /) -> None:
        """Fill the node, application by application; reserved room does not count."""
        served = []
        for app in self.queue.apps:
            if not self._takes(node, self.world.least):
                break
            self._serve(app, node)
            if not app.pending:
                served.append(app)
        for app in served:
            self.queue.update(app)

    def allocated(self, container: Container, /) -> None:
        """Eq. 2, at once."""
        self.rooms.start(container, container.node, np.array(container.request.shape))

    def released(self, container: Container, /) -> None:
        """Eq. 4."""
        self.rooms.finish(container)

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64], /) -> None:
        """Eqs 1 and 3; every node may have room now."""
        others = [np.zeros_like(cores)] * (len(self.system) - 2)
        self.rooms.sample(np.column_stack((cores, stored, *others)) + self.system)
        self.estimates.add(self.world.engine.now, self.rooms.estimate.sum(axis=0)[:2].tolist())
        if self.world.pending:
            self.world.beats.view[:] = np.frombuffer(self.world.up, dtype=np.uint8)
            self.world.wake()

    def series(self) -> Mapping[str, Series]:
        """What was believed to be in use."""
        return self.estimates.series()
