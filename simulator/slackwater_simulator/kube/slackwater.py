"""Slackwater on Kubernetes: pods are held by a gate, released in rounds, and bound where they were placed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from slackwater.nodes import Ask
from slackwater.placement import Batch, Placement
from slackwater_simulator.gate import Gate, Parts
from slackwater_simulator.outcome import Series
from slackwater_simulator.yarn.order import SWEEP
from slackwater_simulator.yarn.schedulers.base import Scheduler

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.gatekeeping import Release
    from slackwater_simulator.kube.world import Kube
    from slackwater_simulator.yarn.model import App, Container
    from slackwater_simulator.yarn.world import World


class Slackwater(Scheduler):
    """The whole composition. Options are the parts of `gate.Parts`, by name."""

    learns = True
    # Seconds between two rounds, and releases per second: each costs the API server two writes.
    interval = 0.2
    rate = 150.0

    def __init__(self, **parts: Any) -> None:
        self._parts = Parts(**{field.name: parts[field.name] for field in fields(Parts) if field.name in parts})

    def start(self, world: World) -> None:
        """Nodes are known, no pod exists."""
        super().start(world)
        self.world: Kube = world  # type: ignore[assignment]  # policies of this world meet no other
        self.gate = Gate(world, self._parts)
        self.gate.stretch()
        self._dirty = self._waiting = False
        self._last = -np.inf

    def submitted(self, app: App, /) -> None:
        """A new app."""
        self.gate.submitted(app)

    def asked(self, app: App, /) -> None:
        """Its held pods changed."""
        self.gate.changed(app)
        self._dirty = True

    def allocated(self, container: Container, /) -> None:
        """A pod is bound."""
        self.gate.allocated(container)

    def started(self, container: Container, /) -> None:
        """A pod runs."""
        self.gate.started(container)

    def released(self, container: Container, /) -> None:
        """A pod ended: there may be room."""
        self.gate.released(container)
        self._dirty = True

    def finished(self, app: App, /) -> None:
        """An app is over."""
        self.gate.finished(app)

    def resized(self) -> None:
        """Nodes changed."""
        self.gate.resized()
        self._dirty = True

    def sampled(self, cores: NDArray[np.float64], stored: NDArray[np.float64], /) -> None:
        """Use was measured: room changed, so the gate looks again."""
        if self.gate.sampled(cores, stored) and self.world.pending:
            self._dirty = True
            self.world.wake()

    def sweep(self) -> None:
        """Something changed: hold a round, but not more often than every interval."""
        if self._dirty and not self._waiting:
            self._waiting = True
            self.world.engine.at(max(self.world.engine.now, self._last + self.interval), SWEEP, self._round)

    def series(self) -> Mapping[str, Series]:
        """How the pools' border moved."""
        if not self.gate.deltas:
            return {}
        time, value = (np.array(column) for column in zip(*self.gate.deltas, strict=True))
        return {"delta": Series(time, value)}

    def _round(self, _: None) -> None:
        """Decide, place, bind; as long as something goes, look again."""
        self._waiting = self._dirty = False
        self._last = now = self.world.engine.now
        outcome = self.gate.round()
        self.world.decisions += 1
        table = self.gate.ledger.table(now)
        batch = Batch(table, [self._ask(release) for release in outcome.releases])
        groups = {release.uid: release.group.key for release in outcome.releases}
        gone = 0
        while not batch.done:
            for answer in batch.step(64):
                if isinstance(answer, Placement):
                    self.world.lag = gone / self.rate
                    self.world.allocate(self.gate.requests[groups[answer.uid]], int(answer.node))
                    gone += 1
                else:
                    self.gate.stick(groups[answer.uid])
        self.world.lag = 0.0
        if gone and self.world.pending:
            self._dirty = True
            self.sweep()

    def _ask(self, release: Release) -> Ask:
        declared = self.gate.declared(self.gate.requests[release.group.key])
        ceiling = self.gate.ceiling
        native = declared if release.driver else tuple(d / c for d, c in zip(declared, ceiling, strict=True))
        return Ask(
            release.uid,
            declared,
            native,
            driver=release.driver,
            group=release.group.key,
            urgency=release.urgency,
            alignment=release.alignment,
            submitted=release.submitted,
        )
