"""The few sentences a refusal may show through the scheduler.

They are constant on purpose: a reason that varies (a number in it is enough) changes the pod's status each time, and
every change makes the scheduler try again. Numbers live in `/v1/decisions`, events and TrackedApp.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class FilterReason(StrEnum):
    """Why a node, or a pod as a whole, is refused."""

    CPU = "slackwater: measured cpu room too small"
    MEMORY = "slackwater: measured memory room too small"
    ROOM = "slackwater: measured room too small"
    STALE = "slackwater: samples stale"
    NATIVE = "slackwater: native requests do not fit"
    NOT_READY = "slackwater: node not ready"
    NOT_ALLOWED = "slackwater: node not allowed for this pod"
    UNKNOWN_NODE = "slackwater: node not known yet"
    PARKED = "slackwater: pod is parked"
    DRIVER_BUDGET = "slackwater: driver budget used up"
    POOL_CLOSED = "slackwater: reservation pool closed"

    @property
    def code(self) -> int:
        """The small integer that stands for this reason in arrays; 0 means "fits"."""
        return CODES[self]


CODES: dict[FilterReason, int] = {reason: position for position, reason in enumerate(FilterReason, start=1)}
BY_CODE: dict[int, FilterReason] = {code: reason for reason, code in CODES.items()}


def tallied(counts: Mapping[str, int]) -> str:
    """How many nodes each reason keeps a pod from; "2 × too little" would read as twice too little."""
    return ", ".join(f"{reason} ({count} {'node' if count == 1 else 'nodes'})" for reason, count in counts.items())
