"""What the watch shows of tasks, told to the phases of the core; and how far past forecasts were off (paper 004)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from slackwater.pools.appphases import AppPhases
from slackwater.pools.phases import Window
from slackwater_cluster.customresources import ReservationPoolSpec
from slackwater_cluster.objects.records import PodRecord
from slackwater_operator.cache.apps.appview import AppView

# Weight of a new error in the mean error: about the last ten count.
LEARNING = 0.1


def observe(phases: AppPhases, app: str, pod: PodRecord, stage: str, window: Window, now: float) -> None:
    """Tell of a task as the watch shows it."""
    if pod.started and not pod.done:
        phases.start(app, pod.uid, pod.started, stage, window)
    if pod.done:
        gone(phases, pod, now)


def gone(phases: AppPhases, pod: PodRecord, now: float) -> None:
    """A task ended or vanished."""
    phases.finish(pod.uid, pod.finished or now)


def window(spec: ReservationPoolSpec) -> Window:
    """How phases are told apart in a queue, as the owner of its pool wrote."""
    terms = spec.phases
    return Window(terms.window_seconds, terms.start_threshold, terms.end_threshold)


def sizes(each: AppView) -> dict[str, int]:
    """Tasks of each stage of an app, "" where it has none: those that exist, or more where it announced more."""
    found: dict[str, int] = {}
    for group in each.groups:
        if not group.driver:
            found[group.stage] = found.get(group.stage, 0) + group.total
    if each.size is not None and len(found) == 1:
        found = {stage: max(count, each.size.tasks) for stage, count in found.items()}
    return found


@dataclass
class EndedSlots:
    """Slots that tasks of some apps gave back since we look; those of apps that are gone stay counted."""

    total: float = 0.0
    _slots: dict[str, float] = field(default_factory=dict)  # app → slots of one task
    _finished: dict[str, int] = field(default_factory=dict)  # any app → tasks that had ended the last time

    def count(self, tasks: Iterable[tuple[str, float]], finished: Mapping[str, int]) -> None:
        """Add what ended since the last time, given each app with the slots of one task; 0 where none is left.

        `finished` tells of apps elsewhere too: what one ended before it came here is none of ours.
        """
        self._slots = {app: slots or self._slots.get(app, 0.0) for app, slots in tasks}
        for app, size in self._slots.items():
            self.total += max(0, finished.get(app, 0) - self._finished.get(app, 0)) * size
        self._finished = dict(finished)


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
        """Compare what is due with what really came; that nothing was said and nothing came tells nothing."""
        while self._due and self._due[0][0] <= now:
            _, value, before = self._due.popleft()
            if value or base != before:
                self.learn(abs(value - (base - before)))

    def learn(self, error: float) -> None:
        """Take one error into the mean."""
        self.count += 1
        weight = max(LEARNING, 1 / self.count)
        self.mean += weight * (error - self.mean)
