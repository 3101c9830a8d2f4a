"""The ledger over the nodes of a simulated world: what containers claim, what is measured, what is left.

The world's own books are stretched by the ceiling, so that it lets through whatever the ledger sees room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.ledger.ledger import Ledger
from slackwater.ledger.types import ClaimState, NodeSpec, PodClaim
from slackwater.resources import holding
from slackwater.roles import Role

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeTable
    from slackwater_simulator.policies.slackwater.options import Parts
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import Container, Request

    Floats = NDArray[np.float64]
    Shape = tuple[float, ...]


class Books:
    """One world's ledger."""

    def __init__(self, world: World, parts: Parts) -> None:
        self.world = world
        self.kinds = world.kinds
        self.ceiling = tuple(parts.ceiling(kind) for kind in self.kinds)
        self._whole = (1.0,) * len(self.kinds)  # drivers are not shrunk
        self.ledger = Ledger(parts.terms(self.kinds))
        self._names = [str(index) for index in range(len(world.capacity))]
        for name, capacity in zip(self._names, world.capacity, strict=True):
            self.ledger.upsert_node(NodeSpec(name, capacity, capacity))
        self._heartbeat, self.sampled = parts.heartbeat, -np.inf  # … when the ledger last took a sample
        self._uids: dict[Container, str] = {}
        self._number = 0
        self._natives: dict[tuple[Shape, bool], Shape] = {}
        self._down: set[int] = set()
        self._lefts: dict[bool, tuple[NodeTable, Floats]] = {}  # by driver or not, and of which table
        self._takers: dict[tuple[Shape, bool], tuple[NodeTable, NDArray[np.bool_]]] = {}  # by shape and driver

    # ---- containers -----------------------------------------------------------------------------------------------

    def enter(self, container: Container) -> None:
        """A container holds its node from now on (eq. 2)."""
        request = container.request
        self._number += 1
        uid = self._uids[container] = str(self._number)
        self.ledger.put(self._claim(request, uid, self._names[container.node]))
        if request.driver:
            self._crowd(container, -1)

    def unknown(self, request: Request) -> bool:
        """Whether nobody has seen yet what such a container uses."""
        return self.ledger.unknown(self._claim(request))

    def _claim(self, request: Request, uid: str = "", node: str = "") -> PodClaim:
        role, ceiling = (Role.DRIVER, self._whole) if request.driver else (Role.TASK, self.ceiling)
        app = f"{request.app.job.name or request.app.job.id}/{request.index}"
        native = self.native(request.shape, request.driver)
        return PodClaim(uid, node, request.shape, native, role, app, ClaimState.BOUND, None, ceiling)

    def start(self, container: Container) -> str | None:
        """Its process runs; under which uid, None for a container that is not held."""
        uid = self._uids.get(container)
        if uid is not None:
            self.ledger.start(uid, self.world.engine.now)
            if self.world.usage is not None:
                self.world.usage.mark(container, self.ledger.slot(uid))
        return uid

    def leave(self, container: Container) -> str | None:
        """It is gone: eq. 4 gives back the residue at once."""
        uid = self._uids.pop(container, None)
        if uid is not None:
            self.ledger.remove(uid)
            if container.request.driver:
                self._crowd(container, 1)
        return uid

    def native(self, shape: Shape, driver: bool) -> Shape:
        """What kube-scheduler would count of a container: tasks are shrunk by the ceiling."""
        native = self._natives.get((shape, driver))
        if native is None:
            ceiling = self._whole if driver else self.ceiling
            native = self._natives[shape, driver] = tuple(d / c for d, c in zip(shape, ceiling, strict=True))
        return native

    # ---- nodes ----------------------------------------------------------------------------------------------------

    def sample(self, cores: Floats, stored: Floats) -> bool:
        """The usage model has looked; every heartbeat the ledger sees it too. True if it did."""
        now = self.world.engine.now
        if now < self.sampled + self._heartbeat - 1e-9:
            return False
        self.sampled = now
        used = np.zeros((len(cores), len(self.kinds)))
        used[:, 0], used[:, 1] = cores, stored
        self.ledger.sample_all(now, used, *self._pod_use())
        return True

    def _pod_use(self) -> tuple[NDArray[np.intp], Floats]:
        """What every container uses: slots of the ledger, and kind × container."""
        usage = self.world.usage
        if usage is None:
            return np.zeros(0, np.intp), np.zeros((len(self.kinds), 0))
        uses = np.zeros((len(self.kinds), usage.count))
        uses[0], uses[1] = usage.now()
        return usage.marks, uses

    def resize(self) -> None:
        """A node failed or came back; one that came back is stretched again."""
        for index, capacity in enumerate(self.world.capacity):
            if not self.world.up[index]:
                self._down.add(index)
            elif index in self._down:
                self._down.remove(index)
                self._stretch(index)
            host = NodeSpec(self._names[index], capacity, capacity, ready=bool(self.world.up[index]))
            self.ledger.upsert_node(host)

    def stretch(self) -> None:
        """Σ N ≤ capacity with N = D/c is Σ D ≤ c · capacity: stretch the world's books by the ceiling."""
        for node in range(len(self.world.capacity)):
            self._stretch(node)

    def _stretch(self, node: int) -> None:
        for kind, ceiling in enumerate(self.ceiling):
            self.world.free[kind][node] *= ceiling

    def _crowd(self, driver: Container, sign: int) -> None:
        """A driver, which is not shrunk, takes its whole share of the stretched books."""
        for kind, amount in enumerate(driver.request.shape):
            self.world.free[kind][driver.node] += sign * amount * (self.ceiling[kind] - 1.0)

    # ---- what is left, in declared units --------------------------------------------------------------------------

    def left(self, node: int, *, driver: bool) -> Shape:
        """What one node can still take."""
        found = self.ledger.left(self._names[node], self.world.engine.now)
        if found is None:
            return (0.0,) * len(self.kinds)
        ceiling = self._whole if driver else self.ceiling
        return tuple([min(room, native * most) for room, native, most in zip(*found, ceiling, strict=True)])

    def everywhere(self, *, driver: bool) -> Floats:
        """What every node can still take, node × kind; nothing where it is closed."""
        table = self.ledger.table(self.world.engine.now)
        made = self._lefts.get(driver)
        if made is not None and made[0] is table:
            return made[1]
        left: Floats = table.reachable(self._whole if driver else self.ceiling)
        if not table.open.all():
            left[~table.open] = 0.0
        self._lefts[driver] = table, left
        return left

    def roomy(self, least: Shape) -> bool:
        """Whether some node could take so little."""
        return bool(holding(self.everywhere(driver=False), least).any())

    def takes(self, shape: Shape, *, driver: bool) -> NDArray[np.bool_]:
        """Which nodes could take a container of the shape now; not to be written to."""
        table = self.ledger.table(self.world.engine.now)
        made = self._takers.get((shape, driver))
        if made is None or made[0] is not table:
            made = self._takers[shape, driver] = table, holding(self.everywhere(driver=driver), shape)
        return made[1]
