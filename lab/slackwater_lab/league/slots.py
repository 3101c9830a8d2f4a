"""How long a freed slot stays empty while pods wait for one.

A slot is what a scheduler that goes by requests could give to a pod: on a node whose pods ask for more than it has, the
end of one frees none yet. So schedulers that overcommit and those that do not are asked the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from slackwater_lab.league.audit import PodTimes

CREATED, BOUND, ENDED = range(3)


def slot_waits(pods: Sequence[tuple[PodTimes, float]], cores: float) -> list[float]:
    """Seconds from each freed slot to the next binding on its node; pods come with the CPUs that they ask for.

    A slot counts where the node has room by requests for the smallest pod that waits, and no more slots count than pods
    wait. When nobody waits any more, slots that are still empty are nobody's loss.
    """
    asked: defaultdict[str, float] = defaultdict(float)  # CPUs by node
    waiting: dict[int, float] = {}  # CPUs of pods that are created and not bound
    empty: list[tuple[float, str]] = []  # since when, and where
    found = []
    for at, what, number in sorted(_events([pod for pod, _ in pods])):
        node, cpu = pods[number][0].node, pods[number][1]
        if what == CREATED:
            waiting[number] = cpu
            continue
        still = waiting.pop(number, None)
        if what == BOUND:
            asked[node] += cpu
            since = next((each for each in empty if each[1] == node), None)
            if since is not None:
                empty.remove(since)
                found.append(at - since[0])
        elif still is None:  # it was bound
            asked[node] -= cpu
            if len(empty) < len(waiting) and asked[node] + min(waiting.values()) <= cores + 1e-9:
                empty.append((at, node))
        empty = empty if waiting else []
    return found


def _events(pods: Sequence[PodTimes]) -> Iterator[tuple[float, int, int]]:
    """What happened to which pod."""
    for number, pod in enumerate(pods):
        for what, at in ((CREATED, pod.created), (BOUND, pod.bound), (ENDED, pod.ended)):
            if at is not None:
                yield at, what, number
