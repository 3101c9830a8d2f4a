"""A cluster under a kube-scheduler. Drivers are pods that create the pods of their stages; every task is a pod.

The books, masters and usage model are those of the ideal YARN world: what differs is when a pod that has its node
starts to run, and that the policy works in turns of a loop instead of all at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater_simulator.engine import TICK
from slackwater_simulator.policies.registry import create
from slackwater_simulator.worlds.kubernetes.corehours import CoreHours
from slackwater_simulator.worlds.kubernetes.settings import Pace
from slackwater_simulator.worlds.options import split
from slackwater_simulator.worlds.yarn import settings as yarn
from slackwater_simulator.worlds.yarn.ideal import EXACT, Ideal, IdealMasters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from slackwater_simulator.policies.base import Scheduler
    from slackwater_simulator.results.outcome import Outcome, Series
    from slackwater_simulator.workload.cluster import Cluster
    from slackwater_simulator.workload.workload import Workload
    from slackwater_simulator.worlds.yarn.applications import Masters
    from slackwater_simulator.worlds.yarn.model import Container

    Floats = NDArray[np.float64]

# Use is looked at as often as Prometheus scrapes.
SCRAPED: dict[str, Any] = {"usage_period": 5.0}


class PodMasters(IdealMasters):
    """A bound pod starts after bind and start-up."""

    boxed = False

    def acquired(self, container: Container) -> None:
        """The pod is bound; its container runs a little later."""
        world = self.world
        assert isinstance(world, Kube)  # noqa: S101 - only this world makes these masters
        delay = world.pace.bind + world.pace.startup + world.lag
        self.engine.at(self.engine.now + delay, TICK, self._begin, container)

    def _begin(self, container: Container) -> None:
        if container.status >= 0:
            return  # its node failed meanwhile
        if container.request.driver:
            self._start_driver(container.request.app, container)
        else:
            self.launch(container)


class Kube(Ideal):
    """The Kubernetes world."""

    name = "kubernetes"

    def __init__(
        self,
        workload: Workload,
        cluster: Cluster,
        scheduler: Scheduler,
        seed: int,
        settings: yarn.Settings,
        pace: Pace,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self.pace = pace
        self.lag = 0.0  # what the policy's own writes add before a bind
        super().__init__(workload, cluster, scheduler, seed, settings, progress)
        self._hours = CoreHours(self)

    def looked(self, elapsed: float, cores: Floats, stored: Floats) -> None:
        """Use of all nodes was looked at: count where the cores were."""
        self._hours.look(elapsed, cores, stored)

    def core_hours(self) -> Mapping[str, float]:
        """Core-hours of the run by cause."""
        return self._hours.hours()

    def idle(self) -> Mapping[str, Series]:
        """Cores by cause over time."""
        return self._hours.series()

    def _masters(self, progress: Callable[[float], None] | None) -> Masters:
        return PodMasters(self, progress)


def simulate(
    workload: Workload,
    cluster: Cluster,
    policy: str,
    seed: int,
    progress: Callable[[float], None] | None,
    options: dict[str, Any],
) -> Outcome:
    """Play a workload in the Kubernetes world."""
    pace, rest = split(Pace, options)
    settings, rest = split(yarn.Settings, EXACT | SCRAPED | rest)
    return Kube(workload, cluster, create(policy, Kube.name, rest), seed, settings, pace, progress).play(policy)
