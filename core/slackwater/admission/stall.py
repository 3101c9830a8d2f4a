"""The true stall (paper 002): drivers hold everything, tasks wait, and nothing will ever end by itself.

Admission prevents it among apps that pass our gate. It can still come from outside: lost nodes, drivers that grew,
unmanaged pods. So it is watched for, reported, and on request one pod is given up.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slackwater.validation import amount, finite

# Shorter pauses are ordinary: a stage ends, the next one is not there yet.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class StallWatch:
    """Since when nothing moves; None while something does."""

    since: float | None = None


@dataclass(frozen=True, slots=True)
class RunningPod:
    """A driver or task that may be asked to leave. `controlled`: something would bring it back."""

    uid: str
    started: float
    controlled: bool


def observe(watch: StallWatch, now: float, *, running: int, pending: int, fits: bool) -> StallWatch:
    """Look once. Stuck means: no task that could end runs, some wait, and none of those that wait fits anywhere."""
    finite("now", now)
    stuck = running == 0 and pending > 0 and not fits
    if not stuck:
        return StallWatch()
    # A clock that was set back must not make a stall look younger than it is now.
    return StallWatch(now if watch.since is None else min(watch.since, now))


def stalled(watch: StallWatch, now: float, patience: float = PATIENCE_SECONDS) -> bool:
    """Whether it has lasted long enough to be called a stall."""
    return watch.since is not None and finite("now", now) - watch.since >= amount("patience", patience)


def victim(pods: Iterable[RunningPod]) -> RunningPod | None:
    """The youngest pod with a controller, which loses the least work; never a bare pod, nobody would restart it."""
    return max((pod for pod in pods if pod.controlled), key=lambda pod: (pod.started, pod.uid), default=None)
