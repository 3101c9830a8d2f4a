"""How fast a simulated cluster schedules and starts pods. Every field can be given to `run` by its name."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from slackwater.validation import alike, amount


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


def split(options: dict[str, Any]) -> tuple[Pace, dict[str, Any]]:
    """The pace, and what is left for the world and the policy."""
    own = {field.name: field.default for field in fields(Pace)}
    chosen = {name: value for name, value in options.items() if name in own}
    for name, value in chosen.items():
        alike(name, value, own[name])
    return Pace(**chosen), {name: value for name, value in options.items() if name not in own}
