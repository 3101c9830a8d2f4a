"""How much a queue may count on (002's C): nominal, never the estimate.

    C = Σ over Ready, selected nodes of max(0, allocatable − requests of pods that are not this queue's)

Elastic room would admit drivers that deadlock later, when the estimate rises (conflict 000 × 002). On nodes that
several queues share, the pods of the other queues count as taken.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slackwater.resources import NOTHING, Resources, total


@dataclass(frozen=True, slots=True)
class NodeShare:
    """One node as a queue sees it."""

    allocatable: Resources
    foreign: Resources = NOTHING  # requests of pods on it that are not this queue's
    ready: bool = True


def nominal(nodes: Iterable[NodeShare]) -> Resources:
    """C of a queue over its selected nodes."""
    return total((node.allocatable - node.foreign).at_least(NOTHING) for node in nodes if node.ready)
