"""What running apps will give back, and when: phases found in starts and ends of their tasks (paper 004)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from slackwater.pools.forecast import Wave, release
from slackwater.pools.phases import PhaseDetector, Window
from slackwater.pools.pools import Category
from slackwater_cluster.watch.records import PodRecord

# A wave is shown to the wait estimate as this many releases: fine enough for seconds, few enough for a sort.
PIECES = 4
# Weight of a new error in the mean error: about the last ten count.
LEARNING = 0.1


@dataclass(frozen=True, slots=True)
class Forecast:
    """Slots each pool gets back within the horizon, and all later releases for the wait estimate."""

    releases: Mapping[Category, float]
    outlook: tuple[tuple[float, float], ...]


@dataclass
class Phases:
    """A phase detector per app, told of starts and ends as the watch shows them."""

    window: Window = field(default_factory=Window)

    def __post_init__(self) -> None:
        self._detectors: dict[str, PhaseDetector] = {}
        self._started: dict[str, str] = {}  # task → app
        self.finished: dict[str, int] = {}  # app → tasks that ended

    def observe(self, app: str, pod: PodRecord, stage: str, now: float) -> None:
        """Look at a task."""
        if pod.started and pod.uid not in self._started and not pod.done:
            self._started[pod.uid] = app
            self._detectors.setdefault(app, PhaseDetector(self.window)).start(pod.started, pod.uid, stage or None)
        if pod.done:
            self.gone(pod, now)

    def gone(self, pod: PodRecord, now: float) -> None:
        """A task ended or vanished."""
        app = self._started.pop(pod.uid, None)
        if app is not None:
            self._detectors[app].finish(pod.finished or now, pod.uid)
            self.finished[app] = self.finished.get(app, 0) + 1

    def waves(self, app: str, now: float) -> list[Wave]:
        """The phases of an app that still run."""
        detector = self._detectors.get(app)
        return detector.waves(now) if detector else []

    def forget(self, app: str) -> None:
        """An app is gone."""
        self._detectors.pop(app, None)
        self.finished.pop(app, None)

    def forecast(self, apps: Iterable[tuple[str, Category, float]], now: float, horizon: float) -> Forecast:
        """F1 and F2 of (app, category, slots per task), and the outlook."""
        sums = dict.fromkeys(Category, 0.0)
        outlook: list[tuple[float, float]] = []
        for app, category, slots in apps:
            for wave in self.waves(app, now):
                sums[category] += release(wave, now, horizon) * slots
                outlook += _pieces(wave, now, slots)
        return Forecast(sums, tuple(sorted(outlook)))


def _pieces(wave: Wave, now: float, slots: float) -> list[tuple[float, float]]:
    if wave.gamma is None or not wave.running:
        return []
    begin = max(0.0, wave.gamma - now)
    length = max(0.0, wave.gamma + wave.spread - now) - begin
    share = wave.running * slots / PIECES
    return [(begin + length * (piece + 1) / PIECES, share) for piece in range(PIECES)]


@dataclass
class Accuracy:
    """How far past estimates were off, on average: predictions with a due time, settled when it comes."""

    mean: float = 0.0
    count: int = 0
    _due: deque[tuple[float, float, float]] = field(default_factory=deque)

    def predict(self, now: float, horizon: float, value: float, base: float) -> None:
        """Note what was expected to be added to `base` within the horizon."""
        if not self._due or now - self._due[-1][0] + horizon >= horizon:
            self._due.append((now + horizon, value, base))

    def settle(self, now: float, base: float) -> None:
        """Compare what is due with what really came."""
        while self._due and self._due[0][0] <= now:
            _, value, before = self._due.popleft()
            self.learn(abs(value - (base - before)))

    def learn(self, error: float) -> None:
        """Take one error into the mean."""
        self.count += 1
        weight = max(LEARNING, 1 / self.count)
        self.mean += weight * (error - self.mean)
