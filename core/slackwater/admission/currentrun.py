"""Which pods of an app belong to its present run, where a name is used again.

A job that runs every night under one name has finished pods of last night beside the new ones. Age, size, start and
category of the old run are none of the new one's. A run ends where all of its pods have, and nothing follows for so
long that it cannot be its next stage or retry; pods that the same object makes are always one run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

# Seconds without any pod of the app after which the next one begins a new run. A Job's last retry comes six minutes
# after the one before it, and it is one run anyway, by its owner.
IDLE = 600.0


class PodLife(NamedTuple):
    """When a pod was created, when it ended (infinite while it lives), and what ties it to others."""

    created: float
    ended: float
    kin: frozenset[str] = frozenset()  # uids of itself and of those who made it


def began(pods: Iterable[PodLife]) -> float:
    """When the first pod of the present run was created; 0 where there is none."""
    lives = sorted(pods, key=lambda each: each.created)
    last = {uid: place for place, pod in enumerate(lives) for uid in pod.kin}
    start = lives[0].created if lives else 0.0
    ended, tied = 0.0, -1  # of all pods so far: the last end, and the place of the last pod that is tied to one of them
    for place, pod in enumerate(lives):
        if place and pod.created - ended > IDLE and tied < place:
            start = pod.created
        ended = max(ended, pod.ended)
        tied = max([tied, *(last[uid] for uid in pod.kin)])
    return start
