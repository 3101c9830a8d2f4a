"""The nodes on which an app's drivers and tasks compete, and what drivers already hold of them (002, node by node).

A driver is a danger to tasks only on nodes that both can reach. So each app is tested on its own ground:

    ground    the nodes its tasks can reach, if one of them is large enough for a task and for its driver, which can
              land there; else the nodes of its driver alone, where no task is kept out by it
    C         of the ground's nodes (see admission.capacity)
    TotalAMC  of drivers that run on the ground, or are on their way and may land there; not of those that wait for a
              machine that does not exist yet

An app whose task groups reach different nodes has a ground for each of them, and passes the test on all.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.admission.budget import DriverVerdict, RunningMeans
from slackwater.cycle.appsize import AppSize, TaskReach
from slackwater.cycle.drivernodes import DriverNodes
from slackwater.cycle.feasibility import reachable
from slackwater.cycle.snapshot import App, PodGroup, Queue, Snapshot
from slackwater.resources import NOTHING, Resources, holding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


@dataclass(slots=True)
class Ground:
    """One set of nodes: what it is worth to drivers, and what runs there."""

    nodes: Mask | None  # None: all nodes of the queue, which are known by their sum only
    capacity: Resources
    most: Resources  # as much as there would be if every node were open and empty
    means: RunningMeans
    shared: bool = True  # whether tasks of the app run there too
    # By constraints and request: whether such pods can use one of its nodes.
    met: dict[tuple[str, Resources], bool] = field(default_factory=dict)
    # What the budget said to a driver and a task of these sizes, until another driver is let in.
    answers: dict[tuple[Resources, Resources], DriverVerdict] = field(default_factory=dict)


class Grounds:
    """The grounds of one queue in one round, each counted when it is first asked for."""

    def __init__(
        self,
        snapshot: Snapshot,
        queue: Queue,
        running: Sequence[App],
        sizes: Mapping[str, AppSize],
        driver_nodes: DriverNodes,
        growth_with_room: Collection[str] = (),
    ) -> None:
        self._snapshot, self._queue, self._driver_nodes = snapshot, queue, driver_nodes
        self._running, self._sizes = list(running), sizes
        self._arrived = frozenset(growth_with_room)
        self._made: dict[tuple[bytes, bool], Ground] = {}  # by nodes, and whether they are shared
        self._found: dict[tuple[TaskReach, str, Resources], Ground] = {}  # by tasks and driver
        self._enough: dict[tuple[str, Resources], Mask] = {}  # see _holding

    def of(self, app: App) -> list[Ground]:
        """The grounds on which the app's drivers must leave room; one at the least."""
        facts = self._driver_nodes.facts(app)
        driver = facts.driver.request if facts.driver is not None else NOTHING
        return [self._ground(tasks, facts.home, driver) for tasks in facts.reach]

    def whole(self) -> Ground:
        """All nodes of the queue, known by their sum."""
        return self._counted(Ground(None, self._queue.capacity, self._queue.capacity, RunningMeans()))

    def enter(self, app: App) -> None:
        """A driver was let in: it may land on any ground that it can reach."""
        size = self._sizes[app.id]
        self._running.append(app)
        for ground in self._made.values():
            if any(self._lands(group, ground) for group in app.groups if group.driver and not group.ended):
                ground.means.start_driver(size.driver, self._promised(app, ground))
                ground.answers.clear()

    def _ground(self, tasks: TaskReach, home: str, driver: Resources) -> Ground:
        key = (tasks, home, driver)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(tasks, home, driver)
        return found

    def _find(self, tasks: TaskReach, home: str, driver: Resources) -> Ground:
        """Apps of many sizes meet on few grounds, each of which is counted once."""
        if self._queue.shares is None:
            key, nodes, shared = b"", None, True
        else:
            its = self._large_enough(home, driver)
            theirs = [self._holding(tasks.constraints, asked) for asked in tasks.requests]
            # Tasks that no node could take go nowhere else, either: their driver is tested beside them, and refused.
            shared = not its.any() or not any(map(np.any, theirs)) or any((rows & its).any() for rows in theirs)
            nodes = self._rows(tasks.constraints) if shared else its
            key = nodes.tobytes()
        if (key, shared) not in self._made:
            self._made[key, shared] = self.whole() if nodes is None else self._make(nodes, shared=shared)
        return self._made[key, shared]

    def _make(self, nodes: Mask, *, shared: bool) -> Ground:
        assert self._queue.shares is not None  # noqa: S101 - only asked where nodes are known one by one
        capacity = self._queue.shares.capacity(nodes)
        return self._counted(Ground(nodes, capacity, self._most(nodes).at_least(capacity), RunningMeans(), shared))

    def _most(self, nodes: Mask) -> Resources:
        """Σ allocatable: a node that is cordoned or not ready may come back, and what others hold may end."""
        table = self._snapshot.nodes
        return NOTHING if table is None else table.allocatable(nodes)

    def _counted(self, ground: Ground) -> Ground:
        for app in self._running:
            for group in app.groups:
                if group.driver:
                    promised = self._promised(app, ground)
                    for _ in range(self._drivers(group, ground)):
                        ground.means.start_driver(group.request, promised)
                elif group.running and self._lands(group, ground):
                    ground.means.start_task(group.request, group.running)
        return ground

    def _drivers(self, group: PodGroup, ground: Ground) -> int:
        """Drivers of a started app on the ground: by the node of those that run, else by where they may land.

        Those that wait for a machine hold nothing of the nodes there are.
        """
        afar = sum(uid not in self._arrived for uid in group.growing)
        count = max(group.charged - afar, 1 if group.held else 0)
        if ground.nodes is None or not self._lands(group, ground):
            return count if ground.nodes is None else 0
        index = self._snapshot.nodes.index if self._snapshot.nodes else {}
        away = sum(1 for name in group.seats if name in index and not ground.nodes[index[name]])
        return max(0, count - away)

    def _promised(self, app: App, ground: Ground) -> Resources:
        """What one task of the app declares, if it may run on the ground and any node could take it."""
        meant = any(self._may_run(tasks, ground) for tasks in self._driver_nodes.facts(app).reach)
        return self._driver_nodes.promised(app, self._sizes[app.id].task) if meant else NOTHING

    def _may_run(self, tasks: TaskReach, ground: Ground) -> bool:
        return any(self._meets(tasks.constraints, asked, ground) for asked in tasks.requests)

    def _lands(self, group: PodGroup, ground: Ground) -> bool:
        return self._meets(group.constraints, group.request, ground)

    def _meets(self, constraints: str, request: Resources, ground: Ground) -> bool:
        """Whether the ground has a node for such pods."""
        if ground.nodes is None:
            return True
        key = (constraints, request)
        if key not in ground.met:
            ground.met[key] = bool((self._large_enough(constraints, request) & ground.nodes).any())
        return ground.met[key]

    def _large_enough(self, constraints: str, request: Resources) -> Mask:
        """The rows that could take such a pod if they were empty; all that it reaches where none could."""
        found = self._holding(constraints, request)
        return found if found.any() else self._rows(constraints)

    def _holding(self, constraints: str, request: Resources) -> Mask:
        """The rows that could take such a pod if they were empty."""
        key = (constraints, request)
        found = self._enough.get(key)
        if found is None:
            table, rows = self._snapshot.nodes, self._rows(constraints)
            fits = rows if table is None else rows & holding(table.total, request.demand(table.kinds))
            found = self._enough[key] = fits
        return found

    def _rows(self, constraints: str) -> Mask:
        found = reachable(self._snapshot, self._queue, constraints)
        assert found is not None  # noqa: S101 - a queue has shares only where the snapshot has nodes
        return found
