"""A fixed reservation for tasks: what paper 002 compares its own with. A driver starts if C − TotalAMC − AMC ≥ R."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater.admission.budget import Budget
from slackwater.resources import CPU, NOTHING, Resources
from slackwater.validation import amount
from slackwater_simulator.policies.papers.gated import Gated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slackwater_simulator.worlds.yarn.model import App


class Static(Gated):
    """`reserve` vcores are kept for tasks, whatever runs; 0 is no control at all."""

    def __init__(self, *, base: str = "fair", reserve: float = 0.0, **options: Any) -> None:
        super().__init__(base=base, **options)
        self.reserve = Resources({CPU: amount("reserve", reserve)})
        self.charged = NOTHING

    def admitted(self) -> Iterator[App]:
        """From the head of the line while drivers leave the reservation alone."""
        capacity = Resources.from_vector(self.world.kinds, self.world.total)
        for app in list(self.outside):
            if not self._driver(app).fits(Budget(capacity, self.reserve, self.charged).left):
                return
            self.charged = self.charged + self._driver(app)
            yield app

    def _driver(self, app: App) -> Resources:
        return NOTHING if app.master is None else Resources.from_vector(self.world.kinds, app.master.shape)

    def finished(self, app: App, /) -> None:
        """Its driver is gone."""
        if app in self.inside:
            self.charged = self.charged - self._driver(app)
        super().finished(app)
