"""Seconds for which this machine was ours: what the host gave to its other guests meanwhile is counted out.

A guest is told how long its processors wanted to run and could not (steal, in /proc/stat). If processes used B seconds
of processors in dt seconds and S more were stolen, (B + S) / dt of them were wanted at a time, and steps that wait for
each other lost at most

    dt · S / max(dt, B + S)

seconds. Waiting for a clock loses nothing, and a machine that is busy with our own programs is no excuse.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

STATISTICS = Path("/proc/stat")  # its first line: the sums of all processors, in ticks
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessorSeconds:
    """What all processors did since the machine was started; `wall` is the time when somebody looked."""

    wall: float
    used: float
    stolen: float


def look() -> ProcessorSeconds:
    """Now; where the system tells nothing of stolen time, none was."""
    try:
        told = STATISTICS.read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    except OSError:
        return ProcessorSeconds(time.monotonic(), 0.0, 0.0)
    user, nice, system, _, _, interrupts, soft, stolen = (int(ticks) / TICKS for ticks in told[:8])
    return ProcessorSeconds(time.monotonic(), user + nice + system + interrupts + soft, stolen)


def ours(before: ProcessorSeconds, now: ProcessorSeconds) -> float:
    """The seconds between two looks, less what was stolen from them."""
    wall = now.wall - before.wall
    stolen = max(0.0, now.stolen - before.stolen)
    wanted = max(wall, now.used - before.used + stolen)
    return wall * (1.0 - stolen / wanted) if wanted > 0 else 0.0


@dataclass
class Stopwatch:
    """Counts seconds of ours from its making; read often, because stolen time comes in bursts."""

    looks: Callable[[], ProcessorSeconds] = look
    _seconds: float = 0.0
    _last: ProcessorSeconds = field(init=False)

    def __post_init__(self) -> None:
        self._last = self.looks()

    @property
    def seconds(self) -> float:
        """How long it runs."""
        now = self.looks()
        self._seconds += ours(self._last, now)
        self._last = now
        return self._seconds
