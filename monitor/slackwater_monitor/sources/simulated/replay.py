"""A simulation as a source: its outcome played back, over and over, any number of times as fast as it happened.

Moments are seconds of virtual time. A page may ask for one moment (`t`); else the clock says which it is.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.errors import BadNumber
from slackwater_monitor.sources.explanation import Explanation
from slackwater_monitor.sources.simulated import apps, podpage
from slackwater_monitor.sources.simulated.comparison import compared
from slackwater_monitor.sources.simulated.play import KINDS, Play
from slackwater_monitor.sources.views import (
    Amounts,
    Bar,
    BorderHistory,
    Player,
    SchedulerComparison,
    Snapshot,
    TimeSeries,
)
from slackwater_simulator.results.outcome import Outcome

Floats = NDArray[np.float64]
POINTS = 400  # of the curves
REST = 10.0  # real seconds for which the end is shown before it begins again


class Replay:
    """One outcome; `speed` virtual seconds pass in each real one, from `opening` on."""

    virtual = True

    def __init__(
        self,
        outcome: Outcome,
        *,
        rival: Outcome | None = None,
        speed: float = 60.0,
        opening: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.outcome, self.speed, self._opening, self._clock = outcome, speed, opening, clock
        self._begun = clock()
        self._play = Play(outcome)
        self._rival = Play(rival) if rival is not None else None
        self.plays = [self._play] if self._rival is None else [self._play, self._rival]
        self.begin = min((play.begin for play in self.plays), default=0.0)
        self.end = max(play.end for play in self.plays)
        self.scene, self.scenes = "", dict[str, str]()  # its name among others, and what they are called
        self.moment: float | None = None
        self._courses: list[TimeSeries] = []  # the whole one, once it is made; all moments of the play share it

    @property
    def title(self) -> str:
        """What the scene is called, else workload and policy."""
        if self.scene:
            return self.scenes[self.scene]
        return f"{self.outcome.workload.name} under {self.outcome.policy}"

    @property
    def now(self) -> float:
        """The virtual moment: that which was asked for, else the clock's, which begins again after the end."""
        if self.moment is not None:
            return self.moment
        passed = (self._clock() - self._begun) * self.speed + max(self._opening - self.begin, 0.0)
        return min(self.begin + passed % (self.end - self.begin + REST * self.speed), self.end)

    def at(self, moment: float) -> Replay:
        """The same play, held at one moment: everything a page shows is of that moment."""
        held = copy.copy(self)
        held.moment = min(max(moment, 0.0), self.end)
        return held

    def chosen(self, asked: Mapping[str, str]) -> Replay:
        """The moment `t` in seconds, else the clock's."""
        return self.at(self.now if "t" not in asked else _moment(asked["t"]))

    @property
    def player(self) -> Player:
        """Where the play is, for its buttons and its slider."""
        return Player(self.now, self.begin, self.end, self.speed, self.scene, self.scenes)

    @property
    def races(self) -> bool:
        """Whether the other policy was played too."""
        return self._rival is not None

    def snapshot(self) -> Snapshot:
        """Everything at the virtual moment."""
        now = self.now
        found = apps.apps(self._play, now)
        return Snapshot(
            at=now,
            nodes=self._play.nodes(now),
            apps=found,
            queues=apps.queues(self._play, found, now),
            pools=self._play.pools(now),
            kinds=self.outcome.cluster.kinds,
            idle=self._play.idle(now),
        )

    def history(self) -> TimeSeries:
        """From the beginning to the virtual moment, which is the last point."""
        if not self._courses:
            self._courses.append(self._whole())
        now, course = self.now, self._courses[0]
        upto = int(np.searchsorted(course.time, now))
        last = self._sums(np.array([now]))
        lines = {
            kind: {line: [*values[:upto], *last[kind][line]] for line, values in each.items()}
            for kind, each in course.lines.items()
        }
        return TimeSeries([*course.time[:upto], now], lines)

    def borders(self) -> Sequence[BorderHistory]:
        """How the border moved so far, where the policy has pools."""
        found = self.outcome.series.get("delta")
        if found is None:
            return ()
        upto = int(np.searchsorted(found.time, self.now, side="right"))
        thinned = slice(0, upto, max(upto // POINTS, 1))
        moments = found.time[thinned]
        held = [self._play.sides(float(moment)) for moment in moments]
        small, large = ([pair[side] for pair in held] for side in (0, 1))
        return [BorderHistory("default", moments.tolist(), found.value[thinned].tolist(), small, large)]

    def gantt(self, namespace: str, app: str) -> Sequence[Bar]:
        """The pods of one job, up to the virtual moment."""
        del namespace
        number = next((at for at, job in enumerate(self.outcome.workload.jobs) if job.id == app), None)
        return () if number is None else apps.bars(self._play, number, self.now)

    def comparison(self) -> SchedulerComparison | None:
        """The same work under the other policy, where it was played too."""
        return None if self._rival is None else compared(self._play, self._rival, self.now)

    def used(self, namespace: str) -> Mapping[str, Amounts]:
        """Each app tells its use itself here."""
        del namespace
        return {}

    def explain(self, namespace: str, pod: str) -> Explanation | None:
        """Why a pod waits, or why it is where it is."""
        del namespace
        return podpage.explained(self._play, pod, self.now)

    def ledger(self, node: str) -> dict[str, Any] | None:
        """A node's arithmetic and its pods."""
        return podpage.ledger(self._play, node, self.now)

    def _whole(self) -> TimeSeries:
        moments = np.linspace(0.0, self.end, POINTS)
        return TimeSeries(moments.tolist(), self._sums(moments))

    def _sums(self, moments: Floats) -> dict[str, dict[str, Sequence[float]]]:
        """By the same arrays as the nodes of a snapshot; what was believed only where the policy has estimates."""
        declared, used, believed = np.array([self._play.sums(float(moment)) for moment in moments]).swapaxes(0, 1)
        lines = {
            kind: {
                "allocatable": [self.outcome.cluster.total[k]] * len(moments),
                "requested": declared[:, k].tolist(),
                "used": used[:, k].tolist(),
                "estimated": believed[:, k].tolist(),
            }
            for k, kind in enumerate(KINDS)
        }
        for kind in KINDS:
            if f"estimated_{kind}" not in self.outcome.series:
                del lines[kind]["estimated"]
        return lines


def _moment(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise BadNumber("t", text, "give a moment in seconds, such as 1200")
    return value
