"""How much could be reclaimed, and at which risk: every request lowered to what sufficed for a share of the time.

For a share q, a container's new request is min(request, q-quantile of its windows), and

    reclaimable = Σ max(0, request − new request) × observed time / period
    risk, alone  share of container time in which a container used more than its own new request
    risk, pooled share of node time in which all containers of a node together used more than their new requests

The pooled risk is the one that hurts: containers do not peak together, and a node is what runs full. Both are
hindsight: they tell what this period would have allowed, not what the next will.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slackwater_monitor.assessment.usage import QUANTILES
from slackwater_monitor.assessment.windows import Floats, Ints, Rows


@dataclass(frozen=True, slots=True)
class Offer:
    """What one share would give back, as a mean over the period: cores or bytes."""

    share: float
    tasks: float  # of task pods: at once, by smaller requests at creation
    others: float  # of all other pods: only by resizing running pods whose owners consent
    alone: float
    pooled: float


@dataclass(frozen=True, slots=True)
class Ground:
    """What the offers are reckoned on, per container: request, observed seconds, quantiles; NaN where unseen."""

    asked: Floats
    seconds: Floats
    quantiles: Floats  # (containers, QUANTILES)
    task: NDArray[np.bool_]
    node: Ints
    nodes: int
    windows: int
    step: float


def offers(ground: Ground, buckets: Iterable[Iterable[Rows]]) -> list[Offer]:
    """One offer per share; `buckets` gives the rows anew for each."""
    return [_offer(ground, column, rows) for column, rows in zip(range(len(QUANTILES)), buckets, strict=False)]


def lowered(ground: Ground, column: int) -> Floats:
    """The new request of each container; containers without a request keep none."""
    return np.asarray(np.minimum(ground.asked, np.nan_to_num(ground.quantiles[:, column])))


def _offer(ground: Ground, column: int, buckets: Iterable[Rows]) -> Offer:
    new = lowered(ground, column)
    back = (ground.asked - new) * ground.seconds / (ground.windows * ground.step)
    above = watched = 0.0
    balance = np.zeros(ground.nodes * ground.windows, np.float32)
    seen = np.zeros(ground.nodes * ground.windows, np.bool_)
    for rows in buckets:
        asked = rows.asked > 0
        watched += float(rows.seconds[asked].sum())
        above += float(rows.seconds[asked & (rows.peak > new[rows.container] * (1 + 1e-6))].sum())
        codes = (ground.node[rows.container] * ground.windows + rows.window)[asked]
        excess = ((rows.use - new[rows.container]) * rows.seconds / ground.step)[asked]
        balance += np.bincount(codes, excess, len(balance)).astype(np.float32)
        seen[codes] = True
    over = balance > 1e-4 * float(new.mean() or 1.0)
    return Offer(
        share=QUANTILES[column],
        tasks=float(back[ground.task].sum()),
        others=float(back[~ground.task].sum()),
        alone=above / watched if watched else 0.0,
        pooled=float(over[seen].mean()) if seen.any() else 0.0,
    )
