"""What is to be played: jobs of a driver and stages of tasks, in plain numbers. Seconds, cores and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slackwater.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Size:
    """What a pod asks for, and what it really uses; a negative use is not simulated."""

    cpu: float
    memory: float
    used_cpu: float = -1.0
    used_memory: float = -1.0


@dataclass(frozen=True, slots=True)
class Part:
    """A stage: equal tasks that are asked for once enough tasks of the parents are done."""

    name: str
    size: Size
    durations: tuple[float, ...]
    parents: tuple[str, ...] = ()
    start_after: float = 1.0  # share of the parents' tasks that must be done
    delay: float = 0.0


@dataclass(frozen=True, slots=True)
class Play:
    """A job. Without a driver its first tasks are asked for at once."""

    id: str
    submit: float
    parts: tuple[Part, ...]
    driver: Size | None = None
    startup: float = 0.0  # seconds from the driver's start until it asks
    strict: bool = False
    gang: bool = False
    priority: str = ""  # the PriorityClass of its pods

    @property
    def tasks(self) -> int:
        """How many tasks it has."""
        return sum(len(part.durations) for part in self.parts)


def checked(plays: Sequence[Play]) -> Sequence[Play]:
    """Refuse what could never be played: two jobs of one name, or parents that do not exist."""
    names = [play.id for play in plays]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput("workload", f"two jobs are called {twice}", "give each job a name of its own")
    for play in plays:
        parts = {part.name for part in play.parts}
        for part in play.parts:
            if absent := set(part.parents) - parts:
                raise InvalidInput(
                    "workload", f"stage {part.name} of {play.id} waits for {min(absent)}", "name stages of the same job"
                )
    return plays
