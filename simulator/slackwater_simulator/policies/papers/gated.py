"""A gate in front of any YARN scheduler: applications wait outside, first come first served, until they are let in.

The scheduler behind the gate never hears of an application before that; its policy is untouched, as in paper 002.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slackwater_simulator.engine import TICK
from slackwater_simulator.policies.base import Scheduler
from slackwater_simulator.policies.registry import create

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from slackwater_simulator.results.outcome import Hold, RoomSeen, Series, StartTold
    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request


class Gated(Scheduler):
    """Options that are not the gate's own go to the scheduler behind it (`base`)."""

    def __init__(self, *, base: str = "fair", **options: Any) -> None:
        self.inner: Scheduler = create(base, "yarn", options)
        self.learns = self.inner.learns
        self.outside: list[App] = []
        self.inside: set[App] = set()
        self.reviewing = False

    def start(self, world: World) -> None:
        """The gate sees the same world, and checks the kinds that the scheduler behind it checks."""
        super().start(world)
        self.inner.start(world)
        self.kinds = self.inner.kinds

    # ---- the gate -------------------------------------------------------------------------------------------------

    def admitted(self) -> Iterable[App]:
        """Which of those outside come in now, in order."""
        raise AssertionError(f"{type(self).__name__} lets nobody in")

    def changed(self) -> None:
        """Something that the gate looks at has changed: look again before this moment is over."""
        if self.outside and not self.reviewing:
            self.reviewing = True
            self.world.engine.at(self.world.engine.now, TICK, self._review)

    def _review(self, _: None) -> None:
        self.reviewing = False
        entering = list(self.admitted())
        for app in entering:
            self.outside.remove(app)
            self.inside.add(app)
            self.inner.submitted(app)
            self.inner.asked(app)
        if entering:
            self.world.stir()

    # ---- what happened --------------------------------------------------------------------------------------------

    def submitted(self, app: App, /) -> None:
        """Wait outside; a job without a driver has nothing to wait for."""
        if app.master is None:
            self.inside.add(app)
            self.inner.submitted(app)
        else:
            self.outside.append(app)
            self.changed()

    def asked(self, app: App, /) -> None:
        """Heard only from inside."""
        if app in self.inside:
            self.inner.asked(app)

    def allocated(self, container: Container, /) -> None:
        """Passed on."""
        self.inner.allocated(container)

    def started(self, container: Container, /) -> None:
        """Passed on."""
        self.inner.started(container)

    def released(self, container: Container, /) -> None:
        """Passed on."""
        self.inner.released(container)
        self.changed()

    def finished(self, app: App, /) -> None:
        """One place inside is free."""
        self.inside.discard(app)
        self.inner.finished(app)
        self.changed()

    def resized(self) -> None:
        """There is more or less of the cluster now."""
        self.inner.resized()
        self.changed()

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64], /) -> None:
        """Passed on."""
        self.inner.sampled(cores, stored)

    def most(self) -> Sequence[Sequence[float]]:
        """What the scheduler behind the gate gives."""
        return self.inner.most()

    def whole(self, request: Request, /) -> bool:
        """As the scheduler behind the gate has it."""
        return self.inner.whole(request)

    def refused(self) -> Mapping[int, str]:
        """As the scheduler behind the gate has it."""
        return self.inner.refused()

    def series(self) -> Mapping[str, Series]:
        """Those of the scheduler behind the gate."""
        return self.inner.series()

    def holds(self) -> tuple[Hold, ...]:
        """Those of the scheduler behind the gate."""
        return self.inner.holds()

    def starts(self) -> tuple[StartTold, ...]:
        """Those of the scheduler behind the gate."""
        return self.inner.starts()

    def seen_rooms(self) -> tuple[RoomSeen, ...]:
        """Those of the scheduler behind the gate."""
        return self.inner.seen_rooms()

    def beat(self, node: int, /) -> None:
        """The scheduler behind the gate decides; the world reads its flags here."""
        inner = self.inner
        inner.misfit = inner.waiting = False
        inner.limited = self.limited
        inner.beat(node)
        self.misfit, self.waiting, self.limited = inner.misfit, inner.waiting, inner.limited
