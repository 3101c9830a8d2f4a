"""A policy's own books at one moment: what it believes to be left and taken of each node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from slackwater.nodetable import NodeTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Charges(NamedTuple):
    """A policy's own books, for the table of causes (`slackwater.cycle.audit.idle`)."""

    table: NodeTable
    taken: Floats  # what everything on a node is charged, node × kind
    drivers: Floats | None = None  # cores that drivers are charged; None: what they declare
    ceiling: tuple[float, ...] = ()  # how far tasks are shrunk, by kind; empty: not at all


class NamedNodes(Protocol):
    """The nodes of a world, as far as books name them."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of resources."""
        ...

    @property
    def places(self) -> Mapping[str, int]:
        """Position of each node by name."""
        ...

    @property
    def up(self) -> bytearray:
        """Which nodes work."""
        ...


def by_free(nodes: NamedNodes, total: Floats, free: Floats) -> Charges:
    """The books of a policy that counts only what is free of each node."""
    takes = np.array(nodes.up, np.bool_)
    left = np.where(takes[:, None], free, 0.0)
    table = NodeTable(nodes.kinds, tuple(nodes.places), nodes.places, total, left, left, takes)
    return Charges(table, total - left)
