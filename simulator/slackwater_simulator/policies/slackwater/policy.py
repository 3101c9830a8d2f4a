"""A policy whose containers pass Slackwater's gate: what the world tells is passed on, and rounds are held in time.

Both worlds share this. They differ in how a released container comes to its node: in the Kubernetes world it is placed
and bound in the round itself, in the YARN world it waits for the heartbeat of a node with room.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater.errors import UnknownName
from slackwater.resources import CPU
from slackwater.validation import alike, probability
from slackwater_simulator.engine import SWEEP
from slackwater_simulator.policies.base import Scheduler
from slackwater_simulator.policies.charges import Charges
from slackwater_simulator.policies.slackwater.gate import Gate
from slackwater_simulator.policies.slackwater.options import Parts
from slackwater_simulator.policies.slackwater.reviews import HoldReviews
from slackwater_simulator.results.outcome import Hold, RoomSeen, Series, StartTold
from slackwater_simulator.results.samples import Samples
from slackwater_simulator.results.startforecasts import written

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater_simulator.worlds.yarn.interface import World
    from slackwater_simulator.worlds.yarn.model import App, Container, Request


class Gatekept(Scheduler):
    """Options are the parts of `options.Parts`, by name. Subclasses say what a round does."""

    learns = True
    interval = 1.0  # seconds between two rounds, at the least

    def __init__(self, **parts: Any) -> None:
        known = {field.name: field.default for field in fields(Parts)}
        if isinstance(stated := parts.get("risk"), str):
            parts["risk"] = probability("risk", stated)
        for name, value in parts.items():
            if name not in known:
                raise UnknownName("option", name, known)
            alike(name, value, known[name])
        self._parts = Parts(**parts)

    def start(self, world: World) -> None:
        """Nodes are known, no container exists."""
        super().start(world)
        self.gate, self.reserves = Gate(world, self._parts), self._parts.admission
        self.gate.books.stretch()
        self.reviews = HoldReviews(self.gate)
        self._waiting = False
        self._last = -np.inf
        self._estimates = Samples(("estimated_cpu", "estimated_memory"))

    # ---- what happened --------------------------------------------------------------------------------------------

    def submitted(self, app: App, /) -> None:
        """A new app."""
        self.gate.submitted(app)

    def asked(self, app: App, /) -> None:
        """Its held containers changed."""
        self.gate.changed(app)
        self.stir()

    def allocated(self, container: Container, /) -> None:
        """A container has its node."""
        self.gate.allocated(container)

    def started(self, container: Container, /) -> None:
        """A container runs."""
        self.gate.started(container)

    def released(self, container: Container, /) -> None:
        """A container ended: there may be room."""
        self.gate.released(container)
        self.stir()

    def finished(self, app: App, /) -> None:
        """An app is over."""
        self.gate.finished(app)
        self.stir()

    def resized(self) -> None:
        """Nodes changed."""
        self.gate.resized()
        self.stir()

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64], /) -> None:
        """Use was measured: room changed, so the gate looks again if anybody waits."""
        if not self.gate.sampled(cores, stored):
            return
        now = self.world.engine.now
        self._estimates.add(now, self.gate.ledger.taken(now)[:2].tolist() if self._estimates.due else ())
        if self.world.pending:
            self.reviews.look()
            self.stir()

    def whole(self, request: Request, /) -> bool:
        """The tasks of a gang are."""
        return request.app.job.gang and not request.driver

    def charges(self) -> Charges:
        """By the ledger."""
        cpu, survey = self.gate.kinds.index(CPU), self.gate.ledger.survey(self.world.engine.now)
        taken = survey.estimate + survey.drivers
        return Charges(survey.table, taken, survey.drivers[:, cpu], self.gate.books.ceiling)

    def series(self) -> Mapping[str, Series]:
        """What was believed to be in use, how the pools' border moved, and when starts were forecast."""
        found = dict(self._estimates.series())
        if self.gate.deltas:
            time, value = (np.array(column) for column in zip(*self.gate.deltas, strict=True))
            found["delta"] = Series(time, value)
        return found | written(self.gate.forecastlog.judged)

    def refused(self) -> Mapping[int, str]:
        """What the gate says of those that waiting does not help."""
        return self.reviews.refused()

    def holds(self) -> tuple[Hold, ...]:
        """Why apps were held."""
        return tuple(self.reviews.holds)

    def starts(self) -> tuple[StartTold, ...]:
        """When they were expected to start."""
        return tuple(self.reviews.starts)

    def seen_rooms(self) -> tuple[RoomSeen, ...]:
        """What was free when apps were held."""
        return tuple(self.reviews.rooms)

    # ---- rounds ---------------------------------------------------------------------------------------------------

    def stir(self) -> None:
        """Something changed: hold a round if anybody waits behind the gate, but not more often than every interval."""
        if not self._waiting and self.gate.held:
            self._waiting = True
            self.world.engine.at(max(self.world.engine.now, self._last + self.interval), SWEEP, self._round)

    def _round(self, _: None) -> None:
        self._waiting = False
        if not self.gate.held or not self.gate.roomy():
            return  # nobody waits behind the gate, or no node could take anybody: the next change stirs again
        self._last = self.world.engine.now
        began = self.world.clock()
        self.round()
        self.world.decided(began)
        self.reviews.look()

    def round(self) -> None:
        """Decide, and carry out what was decided."""
        raise AssertionError(f"{type(self).__name__} holds no rounds")
