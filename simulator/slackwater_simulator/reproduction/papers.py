"""The five reproductions by the papers' numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from slackwater.errors import UnknownName
from slackwater_simulator.reproduction.parallel import SeedSpread
from slackwater_simulator.reproduction.study import Study

MODULES = {"000": "estimation", "001": "haste", "002": "admission", "003": "network", "004": "dress"}
ALL = "all"


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper's reproduction; what is heavy is imported when it runs."""

    number: str

    @property
    def _module(self) -> ModuleType:
        return import_module(f"slackwater_simulator.reproduction.{MODULES[self.number]}")

    def reproduce(self, *, full: bool, processes: int, tick: Callable[[float], None] | None = None) -> Study:
        """Play the evaluation."""
        spread = SeedSpread(processes, tick, self._module.expected(full=full))
        study: Study = self._module.reproduce(spread, full=full)
        return study


def chosen(names: list[str]) -> list[Paper]:
    """The papers of a command line: numbers, or `all` (also for none)."""
    for name in names:
        if name not in (*MODULES, ALL):
            raise UnknownName("paper", name, (*MODULES, ALL))
    wanted = MODULES if not names or ALL in names else names
    return [Paper(number) for number in sorted(set(wanted))]
