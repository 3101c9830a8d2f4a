"""YARN without time: no heartbeats, no delays. What ends frees at once, what may start starts at once.

Everything that happens at one moment happens first (ends, then submissions, then masters); then the policy is asked
once, over all nodes. A driver placed in that pass asks for its tasks after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater_simulator.engine import END, SWEEP
from slackwater_simulator.policies.registry import create
from slackwater_simulator.worlds.options import split
from slackwater_simulator.worlds.yarn.applications import Masters
from slackwater_simulator.worlds.yarn.settings import Settings
from slackwater_simulator.worlds.yarn.world import YarnWorld

if TYPE_CHECKING:
    from collections.abc import Callable

    from slackwater_simulator.results.outcome import Outcome
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Workload
    from slackwater_simulator.worlds.yarn.model import App, Container

# Nothing is rounded either: the numbers are the trace's.
EXACT: dict[str, Any] = {"min_memory": 0.0, "min_cpu": 0.0, "memory_step": 0.0, "cpu_step": 0.0}


class IdealMasters(Masters):
    """Masters that act the moment they can."""

    def acquired(self, container: Container) -> None:
        """Start at once."""
        if container.request.driver:
            self._start_driver(container.request.app, container)
        else:
            self.launch(container)

    def told(self, container: Container) -> None:
        """News is acted upon at once."""
        app = container.request.app
        self.seen(container)
        self._act(app)

    def _register(self, container: Container) -> None:
        if container.status < 0:
            container.request.app.registered = True
            self._act(container.request.app)

    def _act(self, app: App) -> None:
        if app.waiting:
            self.ask_stages(app)
        self._maybe_leave(app)


class Ideal(YarnWorld):
    """The ideal world."""

    name = "ideal"

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        scheduler: Any,
        seed: int,
        settings: Settings,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.sweeping = False
        super().__init__(workload, cluster, scheduler, seed, settings, progress)

    def _masters(self, progress: Callable[[float], None] | None) -> Masters:
        return IdealMasters(self, progress)

    def _phases(self) -> tuple[list[float], list[int]]:
        count = len(self.cluster.nodes)
        return [0.0] * count, list(range(count))

    def wake(self) -> None:
        """Ask the policy once more at this moment, after everything else."""
        if self.pending and not self.sweeping:
            self.sweeping = True
            self.engine.at(self.engine.now, SWEEP, self._sweep)

    def _sweep(self, _: None) -> None:
        self.sweeping = False
        if self.pending:
            self.scheduler.sweep()

    def ends(self, container: Container) -> None:
        """A container ends exactly when it ends."""
        self.engine.at(max(container.end, self.engine.now), END, self.reported, container)

    def release(self, container: Container, status: int) -> None:
        """As in YARN; whatever waits may now find room."""
        super().release(container, status)
        self.wake()


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    seed: int,
    progress: Callable[[float], None] | None,
    options: dict[str, Any],
) -> Outcome:
    """Play a workload in the ideal world."""
    settings, rest = split(Settings, EXACT | options)
    return Ideal(workload, cluster, create(policy, Ideal.name, rest), seed, settings, progress).play(policy)
