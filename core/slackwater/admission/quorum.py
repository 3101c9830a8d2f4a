"""Gangs of which so many pods at the least start together, while others of the same gang may come later.

    due        of each gang, so many of its held pods as it still lacks:  least − those that run or are on their way
    surplus    its other held pods: once the gang has started they go one by one
    missing    pods that are due and do not exist yet

That is what kube-scheduler makes of a PodGroup with a gang policy (minCount). An app with several such gangs starts
with what is due of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class GangMembers(NamedTuple):
    """The pods of one gang that have not ended."""

    least: int  # so many start together
    held: Sequence[str] = ()  # uids of those that may be released, in order of creation
    charged: int = 0  # those that run or are on their way
    others: int = 0  # those that are there and may not be released now


class Quorum(NamedTuple):
    """What the gangs of an app wait for."""

    starting: bool = False  # a gang has not as many pods under way as it needs
    missing: int = 0
    surplus: frozenset[str] = frozenset()


def quorum(gangs: Iterable[GangMembers]) -> Quorum:
    """What is due of the gangs of one app; where none of them has to start, nothing is set aside."""
    starting, missing = False, 0
    surplus: set[str] = set()
    for each in gangs:
        due = max(0, each.least - each.charged)
        starting = starting or due > 0
        missing += max(0, due - len(each.held) - each.others)
        surplus.update(each.held[due:])
    return Quorum(True, missing, frozenset(surplus)) if starting else Quorum()
