"""A policy that knows what every task will use: the mark that a policy which measures can be held against.

It packs by true peak use instead of requests, in order of submission, each pod onto the node with most left, without
rounds, gates or reserves. It is greedy, so it is no optimum: a lower bound on the makespan stands beside it
(`results.bounds`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from slackwater.resources import holding
from slackwater_simulator.policies.base import Scheduler
from slackwater_simulator.policies.charges import Charges, by_free
from slackwater_simulator.worlds.fit import needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.workload.workload import Job, Usage
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request

MEASURED = 2  # cpu and memory have a true use; any other kind counts as requested


class Oracle(Scheduler):
    """Clairvoyant and greedy."""

    def start(self, world: World) -> None:
        """Nodes are known, no pod exists."""
        super().start(world)
        self.capacity: NDArray[np.float64] = np.array(world.capacity)
        self.left = self.capacity.copy()
        self.scale = np.where(self.capacity > 0, self.capacity, np.inf)  # of a kind that a node has none of, no share
        self.apps: dict[int, App] = {}
        self.taken: dict[Container, NDArray[np.float64]] = {}
        self.coming: dict[str, int] = {}  # by request: bound and not launched yet, so their task has no number

    def submitted(self, app: App, /) -> None:
        """A new app."""
        self.apps[app.index] = app

    def finished(self, app: App, /) -> None:
        """An app is over."""
        self.apps.pop(app.index, None)

    def started(self, container: Container, /) -> None:
        """A container runs: its task has its number."""
        key = container.request.key
        if self.coming.get(key):
            self.coming[key] -= 1

    def released(self, container: Container, /) -> None:
        """A container ended."""
        taken = self.taken.pop(container, None)
        if taken is not None:
            self.left[container.node] += taken
        if not container.launched and self.coming.get(container.request.key):
            self.coming[container.request.key] -= 1

    def charges(self) -> Charges:
        """By what pods come to use at most."""
        return by_free(self.world, self.capacity, self.left)

    def resized(self) -> None:
        """A node failed or came back: what is down takes nothing."""
        for node, up in enumerate(self.world.up):
            held = sum(
                (amount for container, amount in self.taken.items() if container.node == node),
                np.zeros(self.capacity.shape[1]),
            )
            self.left[node] = self.capacity[node] - held if up else -np.inf

    def sweep(self) -> None:
        """Place whatever fits, in order of submission."""
        for app in sorted((app for app in self.apps.values() if app.pending), key=lambda app: app.rank):
            for request in [app.master, *app.requests]:
                if request is not None and not any(parent.pending for parent in request.parents):
                    self._place(request)

    def _place(self, request: Request) -> None:
        while request.pending:
            use = self._use(request)
            left = self.left - use
            fitting = np.flatnonzero((self.left >= needed(tuple(use.tolist()))).all(axis=1))
            if not fitting.size:
                return
            node = int(fitting[np.argmax((left[fitting] / self.scale[fitting]).sum(axis=1))])
            container = self.world.allocate(request, node)
            self.taken[container] = use
            self.left[node] -= use
            if not container.launched:
                self.coming[request.key] = self.coming.get(request.key, 0) + 1

    def _use(self, request: Request) -> NDArray[np.float64]:
        """The most that the request's next pod comes to use."""
        asked = np.array(request.shape)
        usage = _usage(request.app.job, request)
        if usage is None:
            return asked
        task = request.retries[-1] if request.retries else request.next + self.coming.get(request.key, 0)
        used = asked.copy()
        peaks = (1.0, max(usage.memory_shape, default=1.0))  # CPU is compressible: its mean counts
        levels = (usage.cpu[task % len(usage.cpu)], usage.memory[task % len(usage.memory)])
        for kind in range(min(MEASURED, len(asked))):
            used[kind] *= levels[kind] * peaks[kind]
        # What no node has is not waited for: CPU is shared, and memory breaks the task wherever it runs.
        return used if holding(self.capacity, used).any() else np.minimum(used, asked)

    def beat(self, node: int, /) -> None:
        """Nothing is placed by heartbeats."""
        del node
        self.misfit = True


def _usage(job: Job, request: Request) -> Usage | None:
    if request.driver:
        return job.driver.usage if job.driver is not None else None
    return job.stages[request.index].usage
