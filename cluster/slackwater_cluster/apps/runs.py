"""The name that runs of a recurring app share: one rule for what is learned live and for what a report adds up."""

from __future__ import annotations

import re

# What controllers and people append for each run, possibly several:
#   a counter or time    -28912345, -2026-01-31, .7
#   a digest             -6f5e2b7c (at least eight hexadecimal digits)
#   generateName         -x7k2p, and the eight to ten characters of a ReplicaSet; neither has a vowel, 0, 1 or 3
_PART = re.compile(r"\d+|[0-9a-f]{8,}|[bcdfghjklmnpqrstvwxz2456789]{5}|[bcdfghjklmnpqrstvwxz2456789]{8,10}")
_NUMBER = re.compile(r"\d*")
_BREAK = re.compile(r"([-_.])")

# The time of the run, as CronJob (minutes), CronWorkflow (seconds) and ScheduledSparkApplication (nanoseconds) add it.
_SCHEDULE = re.compile(r"-(?:\d{8}|\d{10}|\d{19})$")


def unscheduled(name: str) -> str:
    """The name without the time that a scheduled run has at its end: what the one who wrote the schedule called it."""
    return _SCHEDULE.sub("", name) or name


def series(name: str) -> str:
    """The name without what changes from run to run; a name that is nothing else stays as it is."""
    head, slash, tail = name.rpartition("/")
    return f"{head}{slash}{tail[: _stem(tail)] or tail}"


def _stem(name: str) -> int:
    """How long the name is without its last parts that change from run to run; numbers may have several dashes between.

    Part by part from its end, each looked at once: one expression for all of it tried each way to divide `-1-1-1`.
    """
    parts = _BREAK.split(name)  # what stands between two breaks, with the breaks
    at = left = len(name)
    for index in range(len(parts) - 1, 1, -2):
        part, before = parts[index], parts[index - 2]
        left -= len(part) + 1
        if part and not _PART.fullmatch(part):
            break
        if not part and (parts[index - 1] != "-" or not _NUMBER.fullmatch(before)):
            break
        at = left if part else at
    return at
