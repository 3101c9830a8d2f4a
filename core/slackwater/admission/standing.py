"""What an app's standing in its queue rests on. Every pod is its owner's own word: no small one speaks for large ones.

    priority     the lowest of the pods that wait; where none waits, the lowest of all
    backed       a driver passed the gate, or what passed is worth half of the largest pod that waits, in every kind

An app that is not backed is as old as the pods that wait, and has not started: one pod of 10m that never ends would
else keep a name at the front of the queue for ever.
"""

from __future__ import annotations

from collections.abc import Iterable

from slackwater.resources import Resources, largest, total

# What has passed must be worth this part of the largest pod that waits: stages of one app differ in size.
SHARE = 0.5


def priority(waiting: Iterable[int], others: Iterable[int]) -> int:
    """The app's priority among apps: a class that only some of its pods may use is not the app's."""
    return min(waiting, default=min(others, default=0))


def backed(waiting: Iterable[Resources], passed: Iterable[tuple[Resources, int]]) -> bool:
    """Whether what passed the gate, as sizes and their numbers, speaks for tasks of these sizes that wait."""
    return (largest(waiting) * SHARE).fits(total(request * count for request, count in passed))
