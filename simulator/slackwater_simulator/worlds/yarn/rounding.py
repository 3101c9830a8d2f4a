"""Requests are rounded up to the allocation grid before anything is compared with them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slackwater_simulator.worlds.yarn.settings import Settings


class Rounding:
    """max(minimum, ceil(request / step) × step), per kind; remembers what it has rounded."""

    __slots__ = ("known", "least", "steps")

    def __init__(self, settings: Settings, kinds: int) -> None:
        rest = (0.0,) * (kinds - 2)
        self.least = (settings.min_cpu, settings.min_memory, *rest)
        self.steps = (settings.cpu_step, settings.memory_step, *rest)
        self.known: dict[tuple[float, ...], tuple[float, ...]] = {}

    def __call__(self, request: tuple[float, ...]) -> tuple[float, ...]:
        """The request on the grid."""
        rounded = self.known.get(request)
        if rounded is None:
            amounts = request + (0.0,) * (len(self.steps) - len(request))
            rounded = tuple(map(_up, amounts, self.least, self.steps))
            self.known[request] = rounded
        return rounded


def _up(amount: float, least: float, step: float) -> float:
    up = math.ceil(amount / step - 1e-9) * step if step else amount
    return max(least, up)
