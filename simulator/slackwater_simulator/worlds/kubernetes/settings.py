"""How fast a simulated cluster schedules and starts pods. Every field can be given to `run` by its name."""

from __future__ import annotations

from dataclasses import dataclass, fields

from slackwater.validation import amount


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds, measured on a small real control plane where a measurement exists."""

    # One turn of the scheduler's loop; 300 pods/s were measured with a few thousand nodes.
    cycle: float = 1 / 300
    # From the scheduler's decision until the kubelet knows.
    bind: float = 0.05
    # From the bind until the container runs, its image being there.
    startup: float = 1.0
    # First and longest wait before a refused pod is tried again.
    backoff: float = 1.0
    longest_backoff: float = 10.0

    def __post_init__(self) -> None:
        for field in fields(self):
            amount(field.name, getattr(self, field.name))
