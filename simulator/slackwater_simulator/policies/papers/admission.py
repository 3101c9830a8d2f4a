"""Driver admission alone (paper 002), in front of Fair or FIFO: the core says who may start, and what tasks keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater.admission.budget import RunningMeans, WaitingDriver, drain
from slackwater.resources import NOTHING, Resources
from slackwater_simulator.physics.fragmentation import effective
from slackwater_simulator.policies.papers.gated import Gated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slackwater_simulator.worlds.yarn.model import App, Container


class Admission(Gated):
    """`effective`: count only capacity that whole tasks can use (an option of ours; the paper counts all of it)."""

    def __init__(self, *, base: str = "fair", effective: bool = False, **options: Any) -> None:
        super().__init__(base=base, **options)
        self.effective = effective
        self.means = RunningMeans()

    def admitted(self) -> Iterator[App]:
        """From the head of the line until one must wait."""
        line = [(app, self._candidate(app)) for app in self.outside]
        apps = {candidate.name: app for app, candidate in line}
        for candidate, verdict in drain((candidate for _, candidate in line), self.means, self._capacity(line)):
            if verdict.admitted:
                yield apps[candidate.name]

    def _capacity(self, line: list[tuple[App, WaitingDriver]]) -> Resources:
        """Nominal, never the estimate; with `effective`, in whole tasks of the size at the head of the line."""
        if not self.effective or not line:
            return self._amount(self.world.total)
        nodes = (self._amount(capacity) for capacity in self.world.capacity)
        return effective(nodes, line[0][1].task)

    def _candidate(self, app: App) -> WaitingDriver:
        driver = self._amount(app.master.shape) if app.master is not None else NOTHING
        return WaitingDriver(app.job.id, driver, self._task(app))

    def _task(self, app: App) -> Resources:
        """The size of one task: the largest of the job's stages, kind by kind."""
        size = NOTHING
        for request in app.requests:
            size = size.at_least(self._amount(request.shape))
        return size

    def _amount(self, amounts: tuple[float, ...] | list[float]) -> Resources:
        return Resources.from_vector(self.world.kinds, amounts)

    def allocated(self, container: Container, /) -> None:
        """Tasks count in the means from the moment they hold resources; drivers were charged when let in."""
        super().allocated(container)
        if not container.request.driver:
            self.means.start_task(self._amount(container.request.shape))
            self.changed()

    def released(self, container: Container, /) -> None:
        """A task that ended no longer counts."""
        if not container.request.driver:
            self.means.end_task(self._amount(container.request.shape))
        super().released(container)

    def finished(self, app: App, /) -> None:
        """Give back what its driver was charged."""
        if app in self.inside and app.master is not None:
            self.means.end_driver(self._amount(app.master.shape), self._task(app))
        super().finished(app)
