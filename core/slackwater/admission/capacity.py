"""How much pods may count on (002's C): nominal, never the estimate, and only of nodes that they can reach.

    C = Σ over open nodes that the pods can reach of max(0, allocatable − requests of pods that are not this queue's)

A node is reached if the queue selects it and the pods' selectors, affinity and tolerations accept it. A tainted node
would else be counted, drivers would be let in for it, and fill the nodes that their own tasks need. Elastic room would
admit drivers that deadlock later, when the estimate rises (conflict 000 × 002). On nodes that several queues share, the
pods of the other queues count as taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slackwater.resources import NOTHING, Kinds, Resources

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class NodeShare:
    """One node as a queue sees it."""

    allocatable: Resources
    foreign: Resources = NOTHING  # requests of pods on it that are not this queue's
    open: bool = True  # Ready, and not cordoned

    def amount(self) -> Resources:
        """What the node adds to C."""
        return (self.allocatable - self.foreign).at_least(NOTHING) if self.open else NOTHING


@dataclass(frozen=True, slots=True)
class NodeShares:
    """What each node adds to a queue's C, node × kind."""

    kinds: Kinds
    amounts: NDArray[np.float64]

    def capacity(self, reached: NDArray[np.bool_] | None = None) -> Resources:
        """C over the nodes that are reached; None: over all."""
        rows = self.amounts if reached is None else self.amounts[reached]
        return Resources.from_vector(self.kinds, rows.sum(axis=0).tolist())
