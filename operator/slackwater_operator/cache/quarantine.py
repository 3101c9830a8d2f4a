"""What was set aside: objects, or parts of them, that could not be used. Everything else goes on without them.

The cache notes them while it works; maintenance counts them and tells each pod's owner in an Event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from slackwater_cluster.objects.records import PodRecord

# Noted between two turns of maintenance; a flood is cut here, and counted.
MOST = 1000
# Pods that were never read of which it is known what was said: nobody tells when they are gone.
KNOWN = 10_000


class Part(StrEnum):
    """What was set aside."""

    STATEMENT = "statement"  # an annotation or owner reference; the pod counts without it
    POD = "pod"
    APP = "app"
    OWNER = "owner"  # an owner that could not be looked up
    SIZE = "size"  # the framework's object that states an app's size


@dataclass(frozen=True, slots=True)
class SetAside:
    """One thing that was set aside, the pod whose owner should hear of it, and why."""

    part: Part
    pod: PodRecord
    problem: str


@dataclass
class Quarantine:
    """Notes what was set aside, each sentence about a pod once as long as the pod exists."""

    _new: list[SetAside] = field(default_factory=list)
    _known: dict[str, set[str]] = field(default_factory=dict)  # uid → sentences
    _unread: dict[str, set[str]] = field(default_factory=dict)  # the same of pods that could not be read
    unnoted: int = 0  # beyond MOST since the last look

    def add(self, part: Part, pod: PodRecord, problem: str) -> None:
        """Note something about a pod that lives, unless the same was said about it before."""
        self._note(part, pod, problem, self._known)

    def add_unread(self, pod: PodRecord, problem: str) -> None:
        """The same of a pod that could not be read; of too many, those told of longest ago are forgotten."""
        self._note(Part.POD, pod, problem, self._unread)
        while len(self._unread) > KNOWN:
            del self._unread[next(iter(self._unread))]

    def _note(self, part: Part, pod: PodRecord, problem: str, said: dict[str, set[str]]) -> None:
        known = said.setdefault(pod.uid, set())
        if problem in known or len(known) >= 16:
            return
        known.add(problem)
        if len(self._new) >= MOST:
            self.unnoted += 1
            return
        self._new.append(SetAside(part, pod, problem))

    def forget(self, uid: str) -> None:
        """The pod is gone."""
        self._known.pop(uid, None)
        self._unread.pop(uid, None)

    def take(self) -> list[SetAside]:
        """What was noted since the last look."""
        taken, self._new = self._new, []
        self.unnoted = 0
        return taken


def sentence(problem: Exception) -> str:
    """A failure as one sentence: our own errors say what to do, others at least what they are."""
    return f"{type(problem).__name__}: {problem}"[:500]
