"""Every node's room as a round sees it, by the extender's ledger or by declared sums; and which pods reach it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from slackwater.nodetable import NodeTable
from slackwater.resources import NOTHING, Kinds, Resources
from slackwater_cluster.extenderapi import RoomsReply
from slackwater_cluster.objects.records import ANYWHERE, Constraints
from slackwater_cluster.pods.nodecolumns import NodeColumns
from slackwater_cluster.pods.nodefit import carries
from slackwater_cluster.pods.resourcekinds import counted_amounts
from slackwater_operator.cache.nodes import NodeRequests

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rooms:
    """The node table, how far each of its kinds may be overcommitted at most, and what no node's room counts."""

    table: NodeTable
    ceiling: tuple[float, ...]
    # On their way without a node, by the namespace of the pods: nobody knows yet whose room they take.
    reserved: Mapping[str, Resources] = field(default_factory=dict)
    instance: str = ""  # whose ledger it is

    @classmethod
    def read(cls, answer: RoomsReply) -> Self:
        """From the extender's answer."""
        shape = len(answer.names), len(answer.kinds)
        table = NodeTable(
            answer.kinds,
            answer.names,
            {name: row for row, name in enumerate(answer.names)},
            total=np.array(answer.total, np.float64).reshape(shape),
            room=np.array(answer.room, np.float64).reshape(shape),
            native=np.array(answer.native, np.float64).reshape(shape),
            open=np.array(answer.open, np.bool_),
            requested=np.array(answer.requested, np.float64).reshape(shape),
        )
        reserved: dict[str, Resources] = {}
        for each in answer.reserved:
            reserved[each.namespace] = reserved.get(each.namespace, NOTHING) + Resources(each.declared)
        return cls(table, answer.ceiling, reserved, answer.instance)

    @classmethod
    def declared(cls, nodes: NodeRequests, flying: Mapping[str, Resources], reserved: Mapping[str, Resources]) -> Self:
        """Without the extender: allocatable less declared sums, and less what flies to each node. No overcommit."""
        names = tuple(nodes.nodes)
        have = [counted_amounts(nodes.nodes[name].allocatable) for name in names]
        kinds: Kinds = tuple(sorted({"cpu", "memory", *(kind for amounts in have for kind in amounts)}))
        free = [nodes.free(name) - flying[name] if name in flying else nodes.free(name) for name in names]
        left, open_ = _matrix(free, kinds), np.array([nodes.nodes[name].open for name in names], np.bool_)
        index = {name: row for row, name in enumerate(names)}
        table = NodeTable(kinds, names, index, _matrix(have, kinds), left, left, open_, left)
        return cls(table, (1.0,) * len(kinds), reserved)

    def without(self, given: Mapping[str, Resources]) -> Self:
        """The same after so much of some nodes was given away."""
        room = self.table.room.copy()
        for name, amounts in given.items():
            if (row := self.table.index.get(name)) is not None:
                room[row] -= amounts.vector(self.table.kinds)
        return replace(self, table=replace(self.table, room=room))

    def free(self, rows: Mask | None) -> Resources:
        """Σ over open nodes of what tasks could still take: the ceilings may keep room from being used."""
        chosen = self.table.open if rows is None else self.table.open & rows
        reach = self.table.reachable(self.ceiling)[chosen].sum(axis=0)
        return Resources.from_vector(self.table.kinds, reach.tolist())


def _matrix(amounts: Sequence[Resources], kinds: Kinds) -> Floats:
    rows = [each.vector(kinds) for each in amounts]
    return np.array(rows, np.float64).reshape(len(rows), len(kinds))


@dataclass
class NodeReach:
    """Which rows of the table each kind of constraints, and each queue's selector, accepts.

    Kept until a node changes or the table has other rows, and while rounds ask for it: every app may want other nodes.
    """

    nodes: NodeRequests
    _names: tuple[str, ...] = ()
    _version: int = -1
    _columns: NodeColumns | None = None
    _accepted: dict[Constraints, Mask] = field(default_factory=dict)
    _before: dict[Constraints, Mask] = field(default_factory=dict)  # what was asked for up to the last round
    _selected: dict[tuple[tuple[str, str], ...], Mask] = field(default_factory=dict)

    def use(self, names: tuple[str, ...]) -> None:
        """The rows are these nodes from now on."""
        if self._version != self.nodes.version or self._names != names:
            self._version, self._names, self._columns = self.nodes.version, names, None
            self._accepted.clear()
            self._before.clear()
            self._selected.clear()

    def __len__(self) -> int:
        """How many kinds of constraints are remembered."""
        return len(self._accepted.keys() | self._before.keys())

    def age(self) -> None:
        """A round begins: what the one before it did not ask for is forgotten."""
        self._before, self._accepted = self._accepted, {}

    def accepted(self, constraints: Constraints) -> Mask:
        """The rows that the constraints accept; one that the operator has not seen yet is none of them."""
        found = self._accepted.get(constraints)
        if found is None:
            found = self._before.get(constraints)
            found = self._accepted[constraints] = self._judged(constraints) if found is None else found
        return found

    def _judged(self, constraints: Constraints) -> Mask:
        if self._columns is None:
            self._columns = NodeColumns([self.nodes.nodes.get(name) for name in self._names])
        return self._columns.accepted(constraints)

    def selected(self, selector: Mapping[str, str]) -> Mask | None:
        """The rows that a queue selects; None where it selects all."""
        if not selector:
            return None
        key = tuple(sorted(selector.items()))
        if key not in self._selected:
            known = self.nodes.nodes
            found = [name in known and carries(known[name], selector.items()) for name in self._names]
            self._selected[key] = np.array(found, np.bool_)
        return self._selected[key]


def named(constraints: Constraints) -> str:
    """A name for constraints: the same for equal ones, and no other ones have it."""
    return "" if constraints == ANYWHERE else repr(constraints)
