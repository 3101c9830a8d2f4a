"""Which rows of a table a pod may use, as masks: nodes by name, and what several rules leave together."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeTable

    Mask = NDArray[np.bool_]
    Rows = Mask | None  # None: all of them


def rows_of(nodes: Iterable[str], table: NodeTable) -> Mask:
    """The rows of these nodes; names that the table does not have serve nobody."""
    mask = np.zeros(len(table), np.bool_)
    mask[[table.index[name] for name in nodes if name in table.index]] = True
    return mask


def common(*masks: Rows) -> Rows:
    """The rows that are in each of these masks."""
    found = [mask for mask in masks if mask is not None]
    if len(found) <= 1:
        return found[0] if found else None  # the same object: pods that share a mask are placed alike
    all_of_them: Mask = np.logical_and.reduce(found)
    return all_of_them


def narrowed(table: NodeTable, rows: Rows, only: Iterable[str] | None, avoid: Collection[str]) -> Rows:
    """Of these rows, those of the nodes in `only`, where given, but for those to avoid."""
    named = None if only is None else rows_of(only, table)
    return common(rows, named, ~rows_of(avoid, table) if avoid else None)
