"""Why apps are held, looked up now and then while a simulation runs: what the operator writes on a cluster.

The gatekeeper decides on the present snapshot once more and only its verdicts are kept, so a run with reasons is the
same as one without.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from slackwater.cycle.appverdicts import Verdict, WaitReason
from slackwater.cycle.cycle import decide
from slackwater.cycle.podline.driverbars import OWN
from slackwater.pools.forecastlog import NOT_SEEN
from slackwater_simulator.results.outcome import Hold, RoomSeen, StartTold

if TYPE_CHECKING:
    from slackwater.nodetable import NodeTable
    from slackwater_simulator.policies.slackwater.gate import Gate

EVERY = 10.0  # seconds between two looks while nobody passes the gate
NAMED = ("ahead", "claimant")  # numbers of a verdict that are apps
GOING = frozenset({WaitReason.RELEASED, WaitReason.COMPLETE})


@dataclass
class HoldReviews:
    """What the gate says of the apps it holds."""

    gate: Gate
    holds: list[Hold] = field(default_factory=list)
    starts: list[StartTold] = field(default_factory=list)
    rooms: list[RoomSeen] = field(default_factory=list)
    _next: float = 0.0
    _passed: frozenset[int] = frozenset()  # apps past the gate at the last look: nobody waits behind them
    _last: dict[str, str] = field(default_factory=dict)  # the sentence last kept of each app

    def look(self) -> None:
        """Note what is new, where reasons are wanted and it is time or an app has passed the gate or ended."""
        if not self.gate.parts.reasons:
            return
        now, passed = self.gate.world.engine.now, frozenset(self.gate.views.started)
        if now < self._next and passed == self._passed:
            return
        self._next, self._passed = now + EVERY, passed
        snapshot = self.gate.snapshot(now)
        if snapshot.nodes is not None:
            self.rooms.append(self._room(snapshot.nodes, now))
        for verdict in decide(snapshot, explain=True).verdicts.values():
            if verdict.reason not in GOING:
                self._note(self._named(verdict), now)
            if verdict.position and not verdict.refused:
                self._expect(verdict.app, now)

    def refused(self) -> dict[int, str]:
        """Why apps that wait will never run, by their row."""
        verdicts = decide(self.gate.snapshot(self.gate.world.engine.now), explain=True).verdicts.values()
        return {int(verdict.app): verdict.sentence for verdict in verdicts if verdict.refused}

    def _room(self, nodes: NodeTable, now: float) -> RoomSeen:
        """What one more pod may declare on each node, by measurement and by what kube-scheduler counts."""
        counted = nodes.native * np.array(self.gate.books.ceiling)
        return RoomSeen(now, np.minimum(nodes.room, nodes.native), np.minimum(nodes.room, counted))

    def _note(self, verdict: Verdict, now: float) -> None:
        if self._last.get(verdict.app) != (sentence := verdict.sentence):
            self._last[verdict.app] = sentence
            self.holds.append(Hold(now, int(verdict.app), verdict.reason.value, sentence))

    def _expect(self, app: str, now: float) -> None:
        """Note when an app is expected to start, where forecasts are made and one of it is known or known not to be."""
        log = self.gate.forecastlog
        if self.gate.parts.forecasts and (told := log.told(app, now)) != NOT_SEEN:
            self.starts.append(StartTold(now, int(app), told, log.error_of(app, now)))

    def _named(self, verdict: Verdict) -> Verdict:
        """The verdict with apps by the names of their jobs; the gate knows them by their rows."""
        jobs = self.gate.world.workload.jobs
        apps = {key: str(verdict.numbers[key]) for key in NAMED if key in verdict.numbers}
        named = {key: jobs[int(app)].id for key, app in apps.items() if app != OWN}
        return verdict._replace(numbers={**verdict.numbers, **named})
