"""What may go wrong between a program and the API server. The cluster in memory and the proxy play by these rules."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Generic, TypeVar

T = TypeVar("T")


class Fault(StrEnum):
    """What happens at a request."""

    KILLED = "killed right after it"
    LOST = "written, and the answer is lost"
    CONFLICT = "409"
    EXPIRED = "410"
    BUSY = "429"
    BROKEN = "500"
    SILENT = "not written, no answer"


STATUS = {Fault.CONFLICT: 409, Fault.EXPIRED: 410, Fault.BUSY: 429, Fault.BROKEN: 500}


class Watch(StrEnum):
    """What a watch makes of an event."""

    PROMPT = "prompt"
    LATE = "late by three steps"
    TWICE = "told twice"
    SHUFFLED = "late by up to three steps, objects in any order"
    LOSSY = "every third is lost until the next list"


class Reading(StrEnum):
    """What becomes of every answer to whoever only reads."""

    GOOD = "good"
    REFUSED = "503"
    LATE = "late by two seconds"
    HALF = "broken off in the middle"
    WRONG = "something else"


LATENESS = 3  # steps


@dataclass
class FaultPlan:
    """One fault, at the request of a given number; requests of different kinds are counted apart."""

    fault: Fault | None = None
    at: int = 0  # from 1
    kind: str = ""
    counts: Counter[str] = field(default_factory=Counter)

    def strikes(self, kind: str = "") -> Fault | None:
        """Count a request; the fault, if it is its turn."""
        self.counts[kind] += 1
        due = self.fault is not None and kind == self.kind and self.counts[kind] == self.at
        return self.fault if due else None


@dataclass
class FaultRound:
    """Every second request of each kind meets the next of these faults."""

    kinds: tuple[str, ...]
    faults: tuple[Fault, ...]
    counts: Counter[str] = field(default_factory=Counter)

    def strikes(self, kind: str = "") -> Fault | None:
        """Count a request; the fault, if it is its turn. Each kind begins with another one."""
        self.counts[kind] += 1
        if kind not in self.kinds or self.counts[kind] % 2:
            return None
        return self.faults[(self.counts[kind] // 2 + self.kinds.index(kind)) % len(self.faults)]


@dataclass
class Deliveries(Generic[T]):
    """What one watch tells, and when. Events of one object keep their order, as in a watch; others need not."""

    watch: Watch = Watch.PROMPT
    rng: Random = field(default_factory=Random)
    step: float = 1.0  # how long a step is, in the unit of `now`
    _told: int = 0
    _waiting: list[tuple[float, int, str, T]] = field(default_factory=list)  # due, number, object, event

    def take(self, now: float, about: str, event: T) -> list[T]:
        """An event of an object comes in; returns what is told of it at once."""
        self._told += 1
        if self.watch is Watch.LOSSY and self._told % 3 == 0:
            return []
        if self.watch in (Watch.LATE, Watch.SHUFFLED):
            self._waiting.append((self._due(now, about), self._told, about, event))
            return []
        return [event] * (2 if self.watch is Watch.TWICE else 1)

    def due(self, now: float) -> list[T]:
        """What is to be told by now."""
        ready = sorted((each for each in self._waiting if each[0] <= now), key=lambda each: each[:2])
        self._waiting = [each for each in self._waiting if each[0] > now]
        return [event for *_, event in ready]

    def rest(self) -> list[T]:
        """Everything that was not told yet; nothing is kept."""
        return self.due(float("inf"))

    def _due(self, now: float, about: str) -> float:
        late = self.rng.randint(0, LATENESS) if self.watch is Watch.SHUFFLED else LATENESS
        before = max((due for due, _, other, _ in self._waiting if other == about), default=now)
        return max(before, now + late * self.step)
