"""Unix time that does not jump: a step of the machine's clock is followed slowly, so that nothing looks an hour late.

    now ← now + passed + clamp(wall − now − passed, ±passed ÷ 10)    passed: by the monotonic clock

How long something takes that we began ourselves goes by it. After a step, or a sleep of the machine, it is wrong for
ten times as long as that lasted; so what others wrote a time on (pods, samples) is compared with `wall`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

# How fast a difference to the machine's clock is made up for: a tenth of the time that passes.
FOLLOWED = 0.1


@dataclass
class SteadyClock:
    """Call it for Unix seconds."""

    wall: Callable[[], float] = time.time
    monotonic: Callable[[], float] = time.monotonic
    _now: float = field(init=False)
    _last: float = field(init=False)

    def __post_init__(self) -> None:
        self._now, self._last = self.wall(), self.monotonic()

    def __call__(self) -> float:
        """Unix seconds, never backwards."""
        last, self._last = self._last, self.monotonic()
        passed = max(0.0, self._last - last)
        behind = self.wall() - self._now - passed
        self._now += passed + min(max(behind, -FOLLOWED * passed), FOLLOWED * passed)
        return self._now


def wall(clock: Callable[[], float]) -> float:
    """The machine's own time: to compare with times that the API server wrote, and to write down for others."""
    return clock.wall() if isinstance(clock, SteadyClock) else clock()


def latest(clock: Callable[[], float]) -> float:
    """The later of both: whatever steps, nothing that was measured before it counts as measured after."""
    return max(clock(), wall(clock))
