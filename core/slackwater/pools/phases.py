"""Finding the phases of a job from starts and ends of its tasks (paper 004, Algorithms 1 and 2, as events).

A phase opens when more than t_s tasks start within a window of pw seconds and closes after pw seconds without a
start. Its first end, γ, is the earliest of more than t_e ends inside one window, so that a lone early task does not
count. Where pods carry stage labels, the labels say what a phase is and only γ is looked for.

Printed thresholds are "5 s", yet compared with counts: they are taken as 5 tasks. Counts are of starts and ends seen,
not differences of running sets, which completions would hide. "Unset" is None, not 0.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from slackwater.pools.forecast import Wave
from slackwater.validation import finite, positive


@dataclass(frozen=True, slots=True)
class Window:
    """pw in seconds, t_s and t_e in tasks; the paper's values."""

    seconds: float = 10.0
    starts: int = 5
    ends: int = 5

    def __post_init__(self) -> None:
        positive("window seconds", self.seconds)


@dataclass(slots=True, eq=False)  # two phases with equal numbers are still two phases
class Phase:
    """One phase being watched. `size` is how many tasks it will have, where that is known."""

    label: str | None = None
    size: int | None = None
    first: float | None = None  # ps_f
    last: float | None = None  # ps_l: the latest start so far
    closed: float | None = None  # when no more starts were to be expected
    gamma: float | None = None
    count: int = 0  # c
    running: set[str] = field(default_factory=set)
    starts: deque[float] = field(default_factory=deque)
    ends: deque[float] = field(default_factory=deque)

    @property
    def spread(self) -> float | None:
        """Δps = ps_l − ps_f, known once the phase is closed (a labelled phase: at any time, from what was seen)."""
        if self.first is None or self.last is None or (self.closed is None and self.label is None):
            return None
        return self.last - self.first

    def wave(self) -> Wave:
        """What the forecast needs. Until both γ and Δps are known it promises nothing."""
        spread = self.spread
        gamma = self.gamma if spread is not None else None
        return Wave(self.count, len(self.running), gamma, spread or 0.0)

    def threshold(self, limit: int) -> int:
        """min(limit, n − 1): a stage known to be small can then be seen at all."""
        size = self.size
        if size is None and self.label is not None:
            size = self.count
        return limit if size is None else min(limit, max(0, size - 1))


# Phases of one job that are remembered.
MOST_PHASES = 256


class PhaseDetector:
    """The phases of one job. Tell it of starts and ends; windows are looked at then, and when the waves are asked for.

    Every event costs O(active phases), usually one or two; each time enters and leaves its window once.
    """

    __slots__ = ("_active", "_labelled", "_phase_of", "_window", "alpha", "beta", "phases")

    def __init__(self, window: Window | None = None) -> None:
        self._window = window or Window()
        self._phase_of: dict[str, Phase] = {}
        self._labelled: dict[str, Phase] = {}
        self._active: list[Phase] = []
        self.phases: list[Phase] = []
        self.alpha: float | None = None  # first start of the job
        self.beta: float | None = None  # its end

    def start(self, t: float, task: str, stage: str | None = None, size: int | None = None) -> None:
        """A task began to run; `stage` and `size` are its stage label and how many tasks that stage has, if known."""
        finite("t", t)
        if task in self._phase_of:
            return  # watch events may be told twice
        if stage is None:
            self.tick(t)  # a phase that ended in silence must close before this start could join it
        if self.alpha is None:
            self.alpha = t
        phase = self._current(size) if stage is None else self._stage(stage, size)
        _add(phase, task, t)
        self._phase_of[task] = phase
        self.tick(t)

    def expect(self, stage: str | None, size: int) -> None:
        """How many tasks a stage has in all, or the open phase of an app without stages, became known."""
        phase = self._labelled.get(stage) if stage is not None else self._latest()
        if phase is not None and phase.closed is None:
            phase.size = size

    def finish(self, t: float, task: str) -> None:
        """A task ended; one that was never seen to start says nothing about any phase."""
        finite("t", t)
        phase = self._phase_of.pop(task, None)
        if phase is None:
            return
        phase.running.discard(task)
        phase.ends.append(t)
        self.tick(t)

    def tick(self, t: float) -> None:
        """Look at the windows (t − pw, t] of all phases that can still change."""
        since = finite("t", t) - self._window.seconds
        for phase in tuple(self._active):
            _trim(phase.starts, since)
            _trim(phase.ends, since)
            self._algorithm1(phase, t)
            self._algorithm2(phase, t)
            if phase.closed is not None and not phase.running:
                self._active.remove(phase)

    def end(self, t: float, *, pending: int, driver_done: bool) -> bool:
        """Note β when nothing runs, nothing waits and the driver is done: idle between phases is not finished."""
        if self.beta is None and not self._phase_of and pending == 0 and driver_done:
            self.beta = finite("t", t)
        return self.beta is not None

    @property
    def ending(self) -> bool:
        """Whether the first ends of some phase that still runs were seen; before that nothing is forecast."""
        return any(phase.running and (phase.gamma is not None or phase.ends) for phase in self._active)

    def waves(self, t: float) -> list[Wave]:
        """The phases that still run at t, for the forecast."""
        self.tick(t)
        return [phase.wave() for phase in self._active if phase.running]

    def _algorithm1(self, phase: Phase, t: float) -> None:
        """Open and close an unlabelled phase; a labelled one is open from its first start."""
        if phase.closed is not None:
            return
        if phase.label is not None:
            self._close_stage(phase, t)
        elif phase.first is None:
            if len(phase.starts) > phase.threshold(self._window.starts):
                phase.first = min(phase.starts)
        elif not phase.starts and phase.last is not None:
            phase.closed = phase.last + self._window.seconds  # whenever this is noticed

    def _close_stage(self, phase: Phase, t: float) -> None:
        """A labelled stage is over once all its tasks were seen, or nothing of it starts or runs any more."""
        complete = phase.size is not None and phase.count >= phase.size
        if complete or not (phase.starts or phase.running):
            phase.closed = t

    def _algorithm2(self, phase: Phase, t: float) -> None:
        """Find γ among the ends inside the window; hand tasks that trail far behind to the next phase.

        Stragglers of a labelled stage stay in it, but its promise is over: they are counted anew, and γ is looked for
        among their own ends.
        """
        if phase.gamma is None:
            if len(phase.ends) > phase.threshold(self._window.ends):
                phase.gamma = min(phase.ends)
        elif phase.ends or not phase.running:
            return
        elif phase.label is not None:
            if t > phase.gamma + (phase.spread or 0.0):
                phase.gamma, phase.count = None, len(phase.running)
        elif phase.closed is not None:
            self._trail(phase)

    def _trail(self, phase: Phase) -> None:
        """c[j+1] += running; c[j] −= running; the tasks move along."""
        later = self._after(phase)
        for task in phase.running:
            self._phase_of[task] = later
        later.count += len(phase.running)
        phase.count -= len(phase.running)
        later.running |= phase.running
        phase.running = set()
        if later not in self._active:
            self._active.append(later)

    def _after(self, phase: Phase) -> Phase:
        for later in self.phases[self.phases.index(phase) + 1 :]:
            if later.label is None:
                return later
        return self._open(Phase())

    def _current(self, size: int | None) -> Phase:
        """The open unlabelled phase, or a new one."""
        phase = self._latest()
        if phase is None or phase.closed is not None:
            return self._open(Phase(size=size))
        phase.size = size if size is not None else phase.size
        return phase

    def _latest(self) -> Phase | None:
        return next((known for known in reversed(self.phases) if known.label is None), None)

    def _stage(self, label: str, size: int | None) -> Phase:
        phase = self._labelled.get(label)
        if phase is None:
            phase = self._labelled[label] = self._open(Phase(label=label, size=size))
        elif size is not None:
            phase.size = size
        if phase.closed is not None:  # a task of a finished stage runs again
            phase.closed = None
            if phase not in self._active:
                self._active.append(phase)
        return phase

    def _open(self, phase: Phase) -> Phase:
        if len(self.phases) >= MOST_PHASES:
            self._forget()
        self.phases.append(phase)
        self._active.append(phase)
        return phase

    def _forget(self) -> None:
        """Keep the younger half and what still runs: a session that lives for weeks has a phase for every burst."""
        half = len(self.phases) // 2
        old = [known for known in self.phases[:half] if known.closed is None or known.running]
        self.phases = [*old, *self.phases[half:]]
        kept = set(map(id, self.phases))
        self._labelled = {label: known for label, known in self._labelled.items() if id(known) in kept}


def _add(phase: Phase, task: str, t: float) -> None:
    phase.count += 1
    phase.running.add(task)
    phase.starts.append(t)
    phase.last = t if phase.last is None else max(phase.last, t)
    if phase.label is not None:
        phase.first = t if phase.first is None else min(phase.first, t)


def _trim(times: deque[float], since: float) -> None:
    """Forget what lies before the window; times come in order, up to the jitter of watch events."""
    while times and times[0] <= since:
        times.popleft()
