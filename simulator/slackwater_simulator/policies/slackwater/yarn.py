"""Slackwater whole in the YARN world: the gate releases containers in rounds, heartbeats give them to nodes.

At a beat the node is filled by RTA (paper 001) from what is released, as far as the ledger sees room on it (000). A
container that was released and found no node in time goes back behind the gate, as a pod would be parked.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater.ordering.fitness import weights
from slackwater.placement.heartbeatfill import NodeSpace, TaskRequest, WaitingTask, assign
from slackwater_simulator.engine import SWEEP
from slackwater_simulator.policies.slackwater.policy import Gatekept
from slackwater_simulator.worlds.fit import most

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.cycle.cycle import Release
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import Request

    Floats = NDArray[np.float64]

Shape = tuple[float, ...]


class SlackwaterOnYarn(Gatekept):
    """The whole composition. Options are the parts of `options.Parts`, by name."""

    # Seconds a released container may wait for a node before it goes back: a few heartbeats.
    timeout = 5.0

    def __init__(self, **parts: Any) -> None:
        # The window spares an API server; a resource manager hands out whatever its nodes can take.
        super().__init__(**{"window": 1_000_000} | parts)

    def start(self, world: World) -> None:
        """Nodes are known, no container exists."""
        super().start(world)
        self.weight = [weights(np.array(capacity)) for capacity in world.capacity]
        self.turns: dict[str, Release] = {}  # by group: what was last released of it
        self.since: dict[str, float] = {}  # … and since when some of it waits
        # So many equal stand-ins, by number: which task a container runs is the request's own affair.
        self.tasks: list[tuple[WaitingTask, ...]] = []
        self.asks: dict[
            str, dict[int, TaskRequest]
        ] = {}  # by group and number: what it asks of a node since its last turn

    def sampled(self, cores: Floats, stored: Floats, /) -> None:
        """Use was measured: where the ledger took it in, what is released may fit nodes that were full before."""
        super().sampled(cores, stored)
        if self.gate.waiting and self.gate.books.sampled == self.world.engine.now:
            self._open()

    # ---- rounds ---------------------------------------------------------------------------------------------------

    def round(self) -> None:
        """Decide; what is released waits for the heartbeats of nodes with room."""
        outcome = self.gate.round()
        now = self.world.engine.now
        released: Counter[str] = Counter()
        for release in outcome.releases:
            self.turns[release.group.key] = release
            released[release.group.key] += 1
        for key, count in released.items():
            self.asks.pop(key, None)
            self.since.setdefault(key, now)
            self.gate.promise(key, count)
        if self.gate.waiting:
            self._open()
        if outcome.releases:
            self._again()

    def _again(self) -> None:
        """Look again when a container may have waited too long, even if nothing else happens."""
        self.world.engine.at(self.world.engine.now + self.timeout + self.interval, SWEEP, self._late)

    def _late(self, _: None) -> None:
        if self._park():
            self.stir()

    def _park(self) -> bool:
        """Take back what no node has taken in time."""
        now, gate = self.world.engine.now, self.gate
        late = [key for key, since in self.since.items() if since + self.timeout <= now]
        for key in late:
            del self.since[key]
            if gate.withdraw(key) and not gate.placeable(gate.requests[key]):
                gate.stick(key)
        return bool(late)

    def _open(self) -> None:
        """Nodes with room for something released are worth a visit."""
        self.world.beats.view |= self._taking()
        self.world.wake()

    def _taking(self) -> NDArray[np.bool_]:
        """Which nodes have room for something released."""
        gate = self.gate
        taking = np.zeros(len(self.world.order), np.bool_)
        for shape, driver in gate.wishes:
            taking |= gate.books.takes(shape, driver=driver)
        return taking

    # ---- one node -------------------------------------------------------------------------------------------------

    def beat(self, node: int, /) -> None:
        """Fill the node from what is released: drivers outright, then by preference."""
        gate, before = self.gate, self.world.placed
        self.misfit = True
        if not gate.waiting:
            self.world.beats.view[:] = 0  # no node is worth a visit before the next round
            return
        if any(driver for _, driver in gate.wishes):
            self._drive(node)
        if gate.waiting:
            self._fill(node)
        # What would have fitted is gone: pass other nodes over too, unless this one was visited for what ended on it.
        if self.world.placed == before and self.world.cursor is None:
            self.world.beats.view &= self._taking()

    def _drive(self, node: int) -> None:
        """Give the node the drivers that fit, but for those that the round keeps away because tasks need it."""
        gate, name = self.gate, str(node)
        for key in [key for key in gate.waiting if gate.requests[key].driver]:
            request = gate.requests[key]
            if name not in self.turns[key].avoid and most(request.shape, gate.books.left(node, driver=True)):
                self._place(key, request, node)

    def _fill(self, node: int) -> None:
        """RTA. Several groups compete by preference; a single one needs no contest."""
        gate = self.gate
        left = gate.books.left(node, driver=False)
        fitting = self._fitting(left)
        if len(fitting) == 1:
            [(key, count)] = fitting.items()
            for _ in range(count):
                self._place(key, gate.requests[key], node)
        elif not self._parts.order:
            rank = {key: (gate.requests[key].app.rank, gate.requests[key].index) for key in fitting}
            for key in sorted(fitting, key=rank.__getitem__):
                request, left = gate.requests[key], gate.books.left(node, driver=False)
                for _ in range(min(most(request.shape, left), gate.waiting[key])):
                    self._place(key, request, node)
        elif fitting:
            asks = [self._ask(key, count) for key, count in fitting.items()]
            for assigned in assign(NodeSpace(np.array(left), self.weight[node]), asks, alpha=gate.alpha):
                self._place(assigned.request, gate.requests[assigned.request], node)

    def _fitting(self, left: Shape) -> dict[str, int]:
        """How many tasks of each released group would fit into so much, for those that do."""
        counts = {shape: count for shape, driver in self.gate.wishes if not driver and (count := most(shape, left))}
        fitting: dict[str, int] = {}
        for key, waiting in self.gate.waiting.items() if counts else ():
            request = self.gate.requests[key]
            if request.shape in counts and not request.driver:
                fitting[key] = min(counts[request.shape], waiting)
        return fitting

    def _ask(self, key: str, count: int) -> TaskRequest:
        made = self.asks.setdefault(key, {})
        if count not in made:
            turn, request = self.turns[key], self.gate.requests[key]
            for more in range(len(self.tasks), count + 1):
                self.tasks.append((*self.tasks[-1], WaitingTask(str(more))) if self.tasks else ())
            made[count] = TaskRequest(
                key,
                request.shape,
                self.tasks[count],
                submitted=turn.submitted,
                urgency=turn.urgency,
                alignment=turn.alignment,
            )
        return made[count]

    def _place(self, key: str, request: Request, node: int) -> None:
        self.gate.kept(key)
        if key not in self.gate.waiting:
            self.since.pop(key, None)
            self.asks.pop(key, None)
        self.world.allocate(request, node)
