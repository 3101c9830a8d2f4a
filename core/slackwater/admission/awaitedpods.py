"""How long pods wait for others of their app that have not been made yet: its driver, or the stages before theirs.

On YARN a job is submitted whole. On a cluster a pod is seen before those that it waits for, and nothing tells whether
they will ever come: a PyTorchJob may have workers only, and a label may name a stage that nobody makes. So whoever was
never seen is waited for one grace period. Who was seen once is waited for as long as the app lives: a driver that is
made anew comes back, unless the last one ended well: its work is done.
"""

from __future__ import annotations

# Seconds from the creation of the first pod that waits. Controllers make the pods of an app within a few seconds of
# each other; where many apps come at once, their work queues take some more.
GRACE = 30.0


def awaited(since: float, now: float) -> bool:
    """Whether somebody who was never seen is still waited for by pods that were created at `since`."""
    return now - since < GRACE


def driver_awaited(*, seen: bool, first_task: float | None, now: float) -> bool:
    """Whether tasks wait for a driver that is not there, but that their framework has in most apps.

    `first_task` is when the first task was created; while there is none, nobody waits in vain.
    """
    return seen or first_task is None or awaited(first_task, now)
