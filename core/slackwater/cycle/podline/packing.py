"""Where pods of several sizes fit together, when giving each its best node one after the other does not tell.

Depth first: each pod in turn on the fullest node that has room for it; where one finds none, the last choice that
leaves another is made anew. Nodes with equal rooms are one choice. The search ends after so many steps back: that it
found nothing is no proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


class PodSize(NamedTuple):
    """What one pod takes of a row, what the row must have for it, and which rows it reaches."""

    asked: Floats
    needed: Floats
    reach: Mask


def packed(left: Floats, share: Floats, pods: Sequence[PodSize], steps: int) -> list[int] | None:
    """A row for each pod, which are given hardest first; None where none were found in so many steps back.

    `share`: what a unit of each kind counts when nodes are compared, row by row; later columns of `left` count nothing.
    """
    left, rows, tried = left.copy(), list[int](), [set[bytes]()]
    while len(rows) < len(pods):
        pod = pods[len(rows)]
        row = _fullest(left, share, pod, tried[-1])
        if row >= 0:
            alike = len(rows) + 1 < len(pods) and pods[len(rows) + 1] is pod  # what one tried is in vain for its equals
            tried.append(set(tried[-1]) if alike else set())
            tried[-2].add(left[row].tobytes())
            left[row] -= pod.asked
            rows.append(row)
        elif rows and steps > 0:
            steps -= 1
            tried.pop()
            last = rows.pop()
            left[last] += pods[len(rows)].asked
        else:
            return None
    return rows


def _fullest(left: Floats, share: Floats, pod: PodSize, tried: set[bytes]) -> int:
    """The row with least left of those that have room for the pod and were not tried; −1: there is none."""
    rows = np.flatnonzero((left >= pod.needed).all(axis=1) & pod.reach)
    order = np.argsort((left[rows, : share.shape[1]] * share[rows]).sum(axis=1), kind="stable")
    return next((int(row) for row in rows[order] if left[row].tobytes() not in tried), -1)
