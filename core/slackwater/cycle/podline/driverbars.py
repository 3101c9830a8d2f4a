"""Where a driver may not go, as `drivernodes` finds it and placement is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]

OWN = "its own app"  # stands for the app that asks, so that what is found serves all that ask alike


class Bars(NamedTuple):
    """Where a driver of one app may not go."""

    barred: Mask | None = None  # nodes it may not take; None: it may take any
    costly: Mask | None = None  # nodes of which tasks would lose a place that is not needed yet
    needs: tuple[tuple[str, Mask], ...] = ()  # apps whose tasks need barred nodes, or OWN, each with its nodes

    def claimant(self, rows: Mask) -> str:
        """The first app whose tasks need one of these nodes, or OWN; "" where they are barred for nobody."""
        return next((app for app, nodes in self.needs if (nodes & rows).any()), "")

    def avoid(self, names: Sequence[str], row: int) -> tuple[str, ...]:
        """The nodes that placement must not choose instead of this one."""
        return _others(self.costly, names, row)

    def spare(self, names: Sequence[str], row: int) -> tuple[str, ...]:
        """Those of them that the driver may take all the same if it would be killed elsewhere: they are not barred."""
        if self.costly is None or self.barred is None:
            return self.avoid(names, row)
        return _others(self.costly & ~self.barred, names, row)


ANYWHERE = Bars()


def _others(nodes: Mask | None, names: Sequence[str], row: int) -> tuple[str, ...]:
    """The names of some nodes, but for one of them; none where no nodes are given."""
    return () if nodes is None else tuple(names[other] for other in np.flatnonzero(nodes).tolist() if other != row)
