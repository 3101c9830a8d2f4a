"""Whose turn it is: the groups now compared, and the one with the greatest preference (paper 001)."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

import numpy as np

from slackwater.numbers import TOLERANCE
from slackwater.preference import nm, preference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.grouping import Group
    from slackwater.standings import Shape, Standings


class Contest:
    """The current candidates, in order of submission, and what of their preference does not depend on the nodes."""

    def __init__(self, standings: Standings, alpha: float) -> None:
        self._standings = standings
        self._alpha = alpha
        self.groups: list[Group] = []
        self._users: Counter[Shape] = Counter()
        self._slots = np.zeros(0, dtype=np.intp)
        self._base: NDArray[np.float64] | None = None  # nm(U) + alpha_A·nm(A); None after a change

    def admit(self, waiting: deque[Group]) -> bool:
        """Let groups in while there is a slot for their shape; says whether any candidate is there."""
        entered = []
        while waiting and (slot := self._standings.hold(waiting[0].shape)) is not None:
            group = waiting.popleft()
            self.groups.append(group)
            self._users[group.shape] += 1
            entered.append(slot)
        if entered:
            self._slots = np.append(self._slots, np.array(entered, dtype=np.intp))
            self._base = None
        return bool(self.groups)

    def leave(self, index: int) -> Group:
        """Take a group out; its shape's slot is free again when no other group uses it."""
        group = self.groups.pop(index)
        self._slots = np.delete(self._slots, index)
        self._base = None
        self._users[group.shape] -= 1
        if not self._users[group.shape]:
            self._standings.drop(group.shape)
        return group

    def best(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """For each candidate the row of its best node, and its fitness there (−∞ where no node serves it)."""
        rows, fitted = self._standings.best()
        return rows[self._slots], fitted[self._slots]

    def chosen(self, fitted: NDArray[np.float64]) -> int:
        """P = nm(F) + nm(U) + alpha_A·nm(A); the greatest wins, and of equal ones the first submitted."""
        if self._base is None:
            urgency = [group.urgency for group in self.groups]
            alignment = [group.alignment for group in self.groups]
            self._base = preference(np.zeros(len(urgency)), urgency, alignment, alpha=self._alpha)
        points = nm(fitted) + self._base
        return int((points >= points.max() - TOLERANCE).argmax())
