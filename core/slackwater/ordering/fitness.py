"""How well a request sits on a node: the dot product of what is asked and what is left (paper 001, FFD-DP).

A request that is long in the direction in which the node is still empty scores high, so cpu-heavy and memory-heavy
requests end up beside each other instead of leaving one kind stranded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.validation import amount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.resources import Kinds


def weights(total: NDArray[np.float64]) -> NDArray[np.float64]:
    """w_k = 1/Tot_k², so that cores and bytes count alike; a kind the node has none of weighs nothing."""
    offered = np.where(total > 0, total, np.inf)  # 1/∞² = 0
    scaled: NDArray[np.float64] = 1.0 / (offered * offered)
    return scaled


def fitness(
    request: NDArray[np.float64], residual: NDArray[np.float64], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """F_ij = Σ_k w_k · R[i,k] · C[j,k] (paper 001). Any shapes whose last axis is the kind and that broadcast."""
    return np.asarray((request * residual * weight).sum(axis=-1), dtype=np.float64)


def over_nodes(
    request: NDArray[np.float64], residual: NDArray[np.float64], total: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The same for one request over all nodes, as a product: several times as fast as a sum over a short axis."""
    fitted: NDArray[np.float64] = (residual * weights(total)) @ request
    return fitted


def demand(field: str, amounts: Sequence[float], kinds: Kinds) -> NDArray[np.float64]:
    """The request as a row in the order of the kinds; refuses bad numbers and rows of the wrong length."""
    if len(amounts) != len(kinds):
        raise InvalidInput(field, f"{len(amounts)} amounts for {len(kinds)} kinds", f"give one for each of {kinds}")
    return np.array([amount(f"{field}.{kind}", value) for kind, value in zip(kinds, amounts, strict=True)])
