"""A pod whose app came to use more memory than the pod declares: where it may go, and what it waits for.

Expected use is what the ledger learned of other pods of the app (`Ledger.expected`). As long as none was killed for it,
such a pod goes where there is room for what it is expected to use, if anywhere is. Once one was killed, it waits for
such room while some node could have it: once the tasks there have ended, also one that it should leave to others, also
one whose taint passes. Where no node ever could, it goes by what it declares, as with any scheduler, and like a pod of
which nothing is known (`score.crowding`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from slackwater.resources import holding
from slackwater.validation import TOLERANCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeTable, PodAsk
    from slackwater.placement.rowmasks import Rows

    Floats = NDArray[np.float64]


class Prospect(NamedTuple):
    """What a pod may wait for, as one of its app was killed for its memory."""

    left: Floats  # what tasks find on each node once the tasks there have ended, node × kind
    spare: Rows  # the rows that accept it, with those that it should leave to others
    later: Rows  # the same once nodes have places for pods again, and taints that pass are lifted


def excess(charged: Sequence[float], expected: Floats) -> NDArray[np.bool_]:
    """The kinds of which more is expected than is charged, by more than rounding."""
    more: NDArray[np.bool_] = expected > np.array(charged) * (1 + TOLERANCE)
    return more


def unproven(charged: Sequence[float], expected: Floats, *, unknown: bool) -> bool:
    """Whether a pod that goes by what it declares may well use more: its likes do, or nobody has seen them yet."""
    return unknown or bool(excess(charged, expected).any())


def widened(
    table: NodeTable, ask: PodAsk, expected: Floats, more: NDArray[np.bool_], prospect: Prospect | None = None
) -> PodAsk:
    """The ask of a pod that is expected to use more than it declares, of the kinds in `more`.

    It asks for what is expected where a node it may use has, or by its prospect could have, as much; else as it did.
    """
    if prospect is None:
        could, hopes = _holds(table, expected, ask), [(ask.allowed, ask.allowed)]
    else:
        could = holding(prospect.left, np.where(more, expected, 0.0).tolist())
        hopes = [(ask.allowed, ask.allowed), (prospect.spare, prospect.spare), (prospect.later, ask.allowed)]
    for reach, now in hopes:
        if (could if reach is None else could & reach).any():
            return replace(ask, declared=tuple(expected.tolist()), allowed=now)
    return replace(ask, unproven=True)


def _holds(table: NodeTable, expected: Floats, ask: PodAsk) -> NDArray[np.bool_]:
    """The nodes that have room for as much now, by measurement and by requests."""
    return table.open & holding(table.room, expected.tolist()) & holding(table.native, ask.native)
