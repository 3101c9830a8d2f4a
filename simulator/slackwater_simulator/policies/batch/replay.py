"""A schedule somebody else has decided, played as written: each job starts, whole, at the moment the script gives."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING

from slackwater.errors import InvalidInput
from slackwater_simulator.engine import TICK
from slackwater_simulator.policies.batch.gang import Gang

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.model import App


class Replay(Gang):
    """`starts`: job id → second at which all its containers start. A start that does not fit is an error."""

    def __init__(self, *, starts: object) -> None:
        super().__init__()
        if not isinstance(starts, Mapping) or not all(map(_is_moment, starts.values())):
            raise InvalidInput("starts", f"{starts!r} is no schedule", "write {job: second, job: second}")
        self._schedule = {str(job): float(at) for job, at in starts.items()}

    def submitted(self, app: App, /) -> None:
        """Look again at its moment."""
        name = app.job.id
        if name not in self._schedule:
            raise InvalidInput("starts", f"job {name} has no start", "give a second for every job of the workload")
        if self._schedule[name] < self.world.engine.now:
            raise InvalidInput(
                f"starts.{name}", f"{self._schedule[name]:g} s is before its submission", "start it at or after that"
            )
        self.world.engine.at(self._schedule[name], TICK, self._due)

    def _due(self, _: None) -> None:
        self.world.wake()

    def serve(self) -> None:
        """Everything whose moment has come."""
        now = self.world.engine.now
        for request in self.line:
            name = request.app.job.id
            if self._schedule[name] <= now and not self.place(request):
                raise InvalidInput(f"starts.{name}", f"it does not fit at {now:g} s", "write a schedule that fits")


def _is_moment(at: object) -> bool:
    """Whether it is a number of seconds; numpy's are numbers, too."""
    if isinstance(at, bool) or not isinstance(at, Real):
        return False
    return math.isfinite(float(at))
