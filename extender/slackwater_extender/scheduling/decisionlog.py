"""What was decided for whom, and why: the last decisions, with the numbers that the scheduler must not be shown."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import count


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


class DecisionLog:
    """The last decisions. Appending is cheap and safe from any thread."""

    def __init__(self, size: int) -> None:
        self._ring: deque[Decision] = deque(maxlen=size)
        self._ids = count(1)
        self._lock = threading.Lock()

    def next_id(self) -> int:
        """The next decision's number."""
        return next(self._ids)

    def add(self, decision: Decision) -> None:
        """Remember one; the oldest is forgotten."""
        with self._lock:
            self._ring.append(decision)

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
