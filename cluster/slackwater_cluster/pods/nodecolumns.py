"""Many nodes held against what pods require of a node: each label value, and each set of taints, is judged once.

The same answers as `nodefit` gives node by node, which is too slow for many pods that each want something else: of
thousands of nodes all have a host name of their own, but few differ in zone, and fewer in taints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np

from slackwater_cluster.objects.records import Constraints, NodeRecord, Requirement, Tolerated
from slackwater_cluster.pods.nodefit import NAME_FIELD, meets, tolerates, whole_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Mask = NDArray[np.bool_]


class _Column:
    """What each row has of one label; rows without it have a number of their own."""

    def __init__(self, values: Iterable[str | None]) -> None:
        self.numbers: dict[str, int] = {}
        rows = [-1 if value is None else self.numbers.setdefault(value, len(self.numbers)) for value in values]
        self._rows = np.array(rows, np.intp)  # the last of the flags of `where` is for −1

    @cached_property
    def _whole(self) -> list[tuple[str, int]]:
        """The values that are whole numbers: no others can be compared."""
        return [(value, number) for value, number in self.numbers.items() if whole_number(value) is not None]

    def where(self, requirement: Requirement) -> Mask:
        """The rows that meet a requirement."""
        absent = meets(requirement, None)
        flags = np.full(len(self.numbers) + 1, absent)
        match requirement.operator:
            case "In" | "NotIn":
                listed = requirement.operator == "In"
                flags[:-1] = not listed
                flags[[self.numbers[value] for value in requirement.values if value in self.numbers]] = listed
            case "Gt" | "Lt":
                for value, number in self._whole:
                    flags[number] = meets(requirement, value)
            case _:  # what is said of one value is said of all
                flags[:-1] = meets(requirement, "")
        return flags[self._rows]


class NodeColumns:
    """Some nodes, a row each, as they were when this was made; None stands for one that is not known."""

    def __init__(self, nodes: Sequence[NodeRecord | None]) -> None:
        self._nodes = nodes
        self._known: Mask = np.array([node is not None for node in nodes], np.bool_)
        self._columns: dict[str, _Column] = {}

    def accepted(self, constraints: Constraints) -> Mask:
        """The rows whose nodes the constraints accept; none that is not known."""
        found = self._known & self._tolerated(constraints.tolerations)
        for key, value in constraints.selector:
            found &= self._where(Requirement(key, "In", (value,)))
        return found if constraints.terms is None else found & self._affine(constraints.terms)

    def _affine(self, terms: Iterable[tuple[Requirement, ...]]) -> Mask:
        """The rows for which one of the terms holds; one without any requirement matches nothing, as in Kubernetes."""
        found = np.zeros(len(self._nodes), np.bool_)
        for term in filter(None, terms):
            holding = self._known
            for requirement in term:
                holding = holding & self._where(requirement)
            found |= holding
        return found

    def _where(self, requirement: Requirement) -> Mask:
        if (requirement.field and requirement.key != NAME_FIELD) or not self._has(requirement):
            return np.full(len(self._nodes), meets(requirement, None))
        return self._column(requirement).where(requirement)

    def _has(self, requirement: Requirement) -> bool:
        """Whether any node has such a label: what a pod makes up costs no column."""
        return requirement.field or requirement.key in self._keys

    def _column(self, requirement: Requirement) -> _Column:
        key = "" if requirement.field else requirement.key  # no label has an empty key
        if key not in self._columns:
            self._columns[key] = _Column(map(_name if requirement.field else _label(key), self._nodes))
        return self._columns[key]

    @cached_property
    def _keys(self) -> set[str]:
        return set().union(*(node.labels for node in self._nodes if node is not None))

    @cached_property
    def _taints(self) -> tuple[list[tuple[tuple[str, str, str], ...]], NDArray[np.intp]]:
        """Every set of taints that some node has, and which of them each row has."""
        numbers: dict[tuple[tuple[str, str, str], ...], int] = {}
        rows = [numbers.setdefault(() if node is None else node.taints, len(numbers)) for node in self._nodes]
        return list(numbers), np.array(rows, np.intp)

    def _tolerated(self, tolerations: Sequence[Tolerated]) -> Mask:
        taints, rows = self._taints
        return np.array([tolerates(tolerations, each) for each in taints], np.bool_)[rows]


def accepting(nodes: Mapping[str, NodeRecord], wanted: Mapping[str, Constraints]) -> Callable[[str, str], bool]:
    """Whether pods, by uid, are accepted by nodes, by name: for many questions about the same ones."""
    columns, rows = NodeColumns(list(nodes.values())), {name: row for row, name in enumerate(nodes)}

    @cache
    def accepted(uid: str) -> Mask:
        return columns.accepted(wanted[uid])

    return lambda uid, node: bool(accepted(uid)[rows[node]])


def _name(node: NodeRecord | None) -> str | None:
    return None if node is None else node.name


def _label(key: str) -> Callable[[NodeRecord | None], str | None]:
    return lambda node: None if node is None else node.labels.get(key)
