"""What was decided for whom, and why: the last decisions, with the numbers that the scheduler must not be shown."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count
from typing import TypedDict, Unpack

from slackwater_cluster.objects.records import PodRecord


class Result(StrEnum):
    """How a decision ended."""

    PLACED = "placed"  # a node was chosen, or nodes were left to choose from
    REFUSED = "refused"
    OBSERVED = "observed"  # nothing was changed; `reason` and `node` say what would have been done
    UNTOUCHED = "untouched"  # not ours
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision about one pod."""

    id: int
    at: float  # Unix seconds
    verb: str
    namespace: str
    pod: str
    uid: str
    mode: str
    result: Result
    node: str = ""  # the best node, entered in the ledger unless the mode forbids it
    reason: str = ""  # the commonest refusal, or why the pod as a whole is refused
    asked: int = 0  # nodes asked about
    fitting: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)  # refused nodes by reason
    declared: Mapping[str, float] = field(default_factory=dict)
    room: Mapping[str, float] = field(default_factory=dict)  # of the best node, before this pod
    own: str = ""  # mode observe: the node that a score of your own would have chosen


class Numbers(TypedDict, total=False):
    """What came out and what decided, as far as there is something to say."""

    node: str
    reason: str
    asked: int
    fitting: int
    counts: Mapping[str, int]
    room: Mapping[str, float]
    own: str


class DecisionLog:
    """The last decisions. Appending is cheap and safe from any thread. `wall` is Unix time."""

    def __init__(self, size: int, wall: Callable[[], float]) -> None:
        self._ring: deque[Decision] = deque(maxlen=size)
        self._ids = count(1)
        self._wall = wall
        self._lock = threading.Lock()

    def note(self, verb: str, pod: PodRecord, mode: str, result: Result, **numbers: Unpack[Numbers]) -> Decision:
        """Remember a decision; the oldest is forgotten. Pods of others would only push ours out."""
        decision = Decision(
            id=next(self._ids),
            at=self._wall(),
            verb=verb,
            namespace=pod.namespace,
            pod=pod.name,
            uid=pod.uid,
            mode=mode,
            result=result,
            declared=dict(pod.declared),
            **numbers,
        )
        if result is not Result.UNTOUCHED:
            with self._lock:
                self._ring.append(decision)
        return decision

    def latest(self, *, namespace: str = "", pod: str = "", result: str = "", limit: int = 100) -> list[Decision]:
        """The newest first, of one pod or namespace or result where asked."""
        with self._lock:
            newest = list(reversed(self._ring))
        chosen = (
            each
            for each in newest
            if (not namespace or each.namespace == namespace)
            and (not pod or each.pod == pod)
            and (not result or each.result == result)
        )
        return list(_first(chosen, limit))

    def __len__(self) -> int:
        return len(self._ring)


def _first(items: Iterator[Decision], limit: int) -> Iterator[Decision]:
    for _, item in zip(range(limit), items, strict=False):
        yield item
