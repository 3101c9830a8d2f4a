"""A score of one's own for the extender: the node with the largest share of free room is the best.

slackwater-extender --decisions.score emptiest_first:score    # with this folder on PYTHONPATH

In mode observe the extender remembers which node this would have chosen, beside its own choice and beside where the
scheduler really put the pod: `slackwater explain pod NAMESPACE/NAME` and GET /v1/decisions show all of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.nodetable import NodeColumns, PodAsk


def score(table: NodeColumns, ask: PodAsk) -> NDArray[np.float64]:
    """The smallest share over the kinds that the pod asks for of what would be left after it; one number per node."""
    asked = np.array(ask.declared)
    wanted = asked > 0
    left = (table.room - asked)[:, wanted] / np.maximum(table.total[:, wanted], 1e-9)
    smallest: NDArray[np.float64] = left.min(axis=1, initial=1.0)
    return smallest
