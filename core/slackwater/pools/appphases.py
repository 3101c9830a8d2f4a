"""The phases of many apps and what they will give back: the one place where starts and ends become a forecast.

The operator and the simulator tell it of the same events; both take the pools' F1, F2 and the wait estimate from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from slackwater.pools.forecast import Wave, outlook, release
from slackwater.pools.phases import PhaseDetector, Window
from slackwater.pools.pools import Category

MOST = 200_000  # events kept unsorted


@dataclass(frozen=True, slots=True)
class Forecast:
    """Slots each pool gets back within the horizon, and all later releases for the wait estimate."""

    releases: Mapping[Category, float]
    outlook: tuple[tuple[float, float], ...]


class _Event(NamedTuple):
    """A start or an end, not told to its detector yet. Starts come before ends of the same moment."""

    at: float
    end: bool
    number: int
    app: str
    task: str
    stage: str | None


class AppPhases:
    """A phase detector per app. Events may come in any order until somebody asks: they are told in order of time.

    A relist after a restart shows running tasks by name, not by start: told in that order, phases would be merged.
    """

    def __init__(self, window: Window | None = None) -> None:
        self._window = window
        self._detectors: dict[str, PhaseDetector] = {}
        self._apps: dict[str, str] = {}  # running task → app
        self._events: list[_Event] = []
        self._sizes: dict[str, dict[str | None, int]] = {}  # app → stage → tasks
        self._count = 0
        self.finished: dict[str, int] = {}  # app → tasks that ended

    def start(self, app: str, task: str, at: float, stage: str = "", window: Window | None = None) -> None:
        """A task (never a driver) began to run; `window` is how phases of this app are told apart."""
        if task in self._apps:
            return  # watch events may be told twice
        self._apps[task] = app
        if app not in self._detectors:
            self._detectors[app] = PhaseDetector(window or self._window)
        self._note(at, app, task, stage or None, end=False)

    def finish(self, task: str, at: float) -> None:
        """A task ended or vanished; one that was never seen to start says nothing."""
        app = self._apps.pop(task, None)
        if app is None:
            return
        self.finished[app] = self.finished.get(app, 0) + 1
        if app in self._detectors:
            self._note(at, app, task, None, end=True)

    def expect(self, app: str, stage: str, size: int) -> None:
        """How many tasks a stage has in all ("" for an app without stages), as far as is known now."""
        known = self._sizes.setdefault(app, {})
        if known.get(stage or None) != size:
            known[stage or None] = size
            if app in self._detectors:
                self._detectors[app].expect(stage or None, size)

    def forget(self, app: str) -> None:
        """An app is gone."""
        self._detectors.pop(app, None)
        self.finished.pop(app, None)
        self._sizes.pop(app, None)

    def waves(self, app: str, now: float) -> list[Wave]:
        """The phases of an app that still run."""
        self._settle()
        detector = self._detectors.get(app)
        return detector.waves(now) if detector is not None and detector.ending else []

    def forecast(
        self, apps: Iterable[tuple[str, Category, float]], now: float, horizon: float = 1.0, *, far: bool = True
    ) -> Forecast:
        """F1 and F2 of (app, category, slots per task); `far`: and the outlook, where somebody reads it."""
        sums = dict.fromkeys(Category, 0.0)
        later: list[tuple[float, float]] = []
        for app, category, slots in apps:
            for wave in self.waves(app, now):
                sums[category] += release(wave, now, horizon) * slots
                if far:
                    later += [(seconds, count * slots) for seconds, count in outlook(wave, now)]
        return Forecast(sums, tuple(sorted(later)))

    def _note(self, at: float, app: str, task: str, stage: str | None, *, end: bool) -> None:
        self._count += 1
        self._events.append(_Event(at, end, self._count, app, task, stage))
        if len(self._events) >= MOST:  # nobody asks, as where there are no pools
            self._settle()

    def _settle(self) -> None:
        """Tell the detectors what happened, in order of time."""
        if not self._events:
            return
        events, self._events = sorted(self._events), []
        for event in events:
            detector = self._detectors.get(event.app)
            if detector is None:
                continue
            if event.end:
                detector.finish(event.at, event.task)
            else:
                detector.start(event.at, event.task, event.stage, self._sizes.get(event.app, {}).get(event.stage))
