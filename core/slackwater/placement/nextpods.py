"""Who is placed next: equal asks are one candidate, equal shapes one row of fitness; best preference first (001)."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import InvalidInput
from slackwater.network.arrivals import Arrivals, Inputs
from slackwater.ordering.fitness import demand
from slackwater.ordering.preference import nm, preference
from slackwater.placement.bestnodes import BestNodes, PodShape
from slackwater.placement.filter import allowed
from slackwater.placement.score import HALVES, Weights
from slackwater.validation import TOLERANCE, amount, finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodetable import NodeTable, PodAsk


@dataclass(frozen=True, slots=True, eq=False)
class EqualAsks:
    """Equal asks of one (app, stage, role), in the order in which they are served."""

    shape: PodShape
    asks: deque[PodAsk]
    driver: bool
    urgency: float
    alignment: float
    rank: int = 0


class ShapeIndex:
    """Shapes by what makes them differ, each made once."""

    def __init__(self, table: NodeTable, arrivals: Arrivals | None, balance: Weights | Mapping[str, Weights]) -> None:
        self._table, self._arrivals, self._balance = table, arrivals, balance
        self._known: dict[tuple[object, ...], PodShape] = {}

    def of(self, ask: PodAsk) -> PodShape:
        """The shape of this ask. Drivers are placed by fitness alone (conflict 6), whatever they read."""
        reads = not ask.driver and self._arrivals is not None and self._arrivals.reads(ask.inputs)
        mask = None if ask.allowed is None else ask.allowed.tobytes()
        inputs, balance = (ask.inputs, self._weights(ask)) if reads else ((), HALVES)
        key = (ask.declared, ask.native, mask, inputs, balance, ask.unproven)
        if key not in self._known:
            self._known[key] = self._made(ask, inputs, balance)
        return self._known[key]

    def _weights(self, ask: PodAsk) -> Weights:
        return self._balance if isinstance(self._balance, Weights) else self._balance.get(ask.uid, HALVES)

    def _made(self, ask: PodAsk, inputs: Inputs, balance: Weights) -> PodShape:
        kinds = self._table.kinds
        declared = demand(f"asks[{ask.uid}].declared", ask.declared, kinds)
        for _, size in inputs:
            amount(f"asks[{ask.uid}].inputs", size)
        return PodShape(
            declared=declared,
            charge=np.concatenate([declared, demand(f"asks[{ask.uid}].native", ask.native, kinds)]),
            usable=self._table.open & allowed(ask, self._table),
            inputs=inputs,
            balance=balance,
            unproven=ask.unproven,
        )


def grouped(shapes: ShapeIndex, asks: Sequence[PodAsk]) -> list[EqualAsks]:
    """The groups by rank, then by submission. Neither groups nor their members depend on the order of the asks."""
    members: dict[tuple[object, ...], list[PodAsk]] = {}
    seen: set[str] = set()
    for ask in asks:
        _check(ask, seen)
        key = (ask.rank, ask.driver, ask.group, ask.urgency, ask.alignment, shapes.of(ask))
        members.setdefault(key, []).append(ask)
    queues = [sorted(queue, key=_turn) for queue in members.values()]
    queues.sort(key=lambda queue: (queue[0].rank, queue[0].submitted, queue[0].group, queue[0].uid))
    return [_equal(shapes.of(queue[0]), queue) for queue in queues]


def _equal(shape: PodShape, queue: Sequence[PodAsk]) -> EqualAsks:
    first = queue[0]
    return EqualAsks(shape, deque(queue), first.driver, first.urgency, first.alignment, first.rank)


def _turn(ask: PodAsk) -> tuple[float, str]:
    return ask.submitted, ask.uid


def _check(ask: PodAsk, seen: set[str]) -> None:
    if ask.uid in seen:
        raise InvalidInput("asks.uid", f"{ask.uid!r} stands twice", "ask for each pod once")
    seen.add(ask.uid)
    finite(f"asks[{ask.uid}].urgency", ask.urgency)
    finite(f"asks[{ask.uid}].alignment", ask.alignment)
    finite(f"asks[{ask.uid}].submitted", ask.submitted)


class Candidates:
    """The current candidates, in order of submission, and what of their preference does not depend on the nodes."""

    def __init__(self, standings: BestNodes, alpha: float) -> None:
        self._standings = standings
        self._alpha = alpha
        self.groups: list[EqualAsks] = []
        self._users: Counter[PodShape] = Counter()
        self._slots = np.zeros(0, dtype=np.intp)
        self._base: NDArray[np.float64] | None = None  # nm(U) + alpha_A·nm(A); None after a change

    def admit(self, waiting: deque[EqualAsks]) -> bool:
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

    def leave(self, index: int) -> EqualAsks:
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
