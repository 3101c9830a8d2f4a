"""Where pods of several sizes fit together, when giving each its best node one after the other does not tell.

Depth first: each pod in turn on the fullest node that has room for it; where one finds none, the last choice that
leaves another is made anew. Nodes with equal rooms that the same pods reach are one choice. The search ends after so
many steps back; that it found nothing is a proof only if it came to its end before.
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


class Packing(NamedTuple):
    """What a search came to."""

    rows: list[int] | None  # one for each pod; None: none were found …
    certain: bool = True  # … and there are none: every way was tried


def packed(left: Floats, share: Floats, pods: Sequence[PodSize], steps: int) -> Packing:
    """A row for each pod, which are given hardest first, if one is found for all in so many steps back.

    `share`: what a unit of each kind counts when nodes are compared, row by row; later columns of `left` count nothing.
    """
    left, rows, tried, before = left.copy(), list[int](), [set[bytes]()], list["Floats"]()
    marks = _marks(pods)
    while len(rows) < len(pods):
        pod = pods[len(rows)]
        row = _fullest(left, share, pod, tried[-1], marks)
        if row >= 0:
            alike = len(rows) + 1 < len(pods) and pods[len(rows) + 1] is pod  # what one tried is in vain for its equals
            tried.append(set(tried[-1]) if alike else set())
            tried[-2].add(left[row].tobytes() + marks[row])
            before.append(left[row].copy())
            left[row] -= pod.asked
            rows.append(row)
        elif rows and steps > 0:
            steps -= 1
            tried.pop()
            left[rows.pop()] = before.pop()
        else:
            return Packing(None, certain=not rows)
    return Packing(rows)


def _marks(pods: Sequence[PodSize]) -> list[bytes]:
    """For each row, which of the pods reach it: those that differ in this are different choices."""
    sizes = list({id(pod): pod for pod in pods}.values())
    return [column.tobytes() for column in np.array([size.reach for size in sizes], np.bool_).T]


def _fullest(left: Floats, share: Floats, pod: PodSize, tried: set[bytes], marks: Sequence[bytes]) -> int:
    """The row with least left of those that have room for the pod and were not tried; −1: there is none."""
    rows = np.flatnonzero((left >= pod.needed).all(axis=1) & pod.reach)
    order = np.argsort((left[rows, : share.shape[1]] * share[rows]).sum(axis=1), kind="stable")
    return next((int(row) for row in rows[order] if left[row].tobytes() + marks[row] not in tried), -1)
