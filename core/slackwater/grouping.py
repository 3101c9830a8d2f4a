"""Pods that are alike, put together: equal asks are one candidate (paper 001), equal shapes one row of fitness."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import BadNumber, InvalidInput
from slackwater.filtering import allowed
from slackwater.fitness import demand
from slackwater.numbers import finite
from slackwater.standings import Shape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from slackwater.nodes import Ask, NodeTable
    from slackwater.scoring import Weights


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Equal asks of one (app, stage, role), in the order in which they are served."""

    shape: Shape
    asks: deque[Ask]
    driver: bool
    urgency: float
    alignment: float


class Shapes:
    """Shapes by what makes them differ, each made once."""

    def __init__(self, table: NodeTable, incoming: Mapping[str, NDArray[np.float64]], balance: Weights) -> None:
        self._table, self._incoming, self._balance = table, incoming, balance
        self._known: dict[tuple[object, ...], Shape] = {}

    def of(self, ask: Ask) -> Shape:
        """The shape of this ask. Drivers are placed by fitness alone (conflict 6), so their T_in is not looked at."""
        seconds = None if ask.driver else self._incoming.get(ask.uid)
        mask = None if ask.allowed is None else ask.allowed.tobytes()
        key = (ask.declared, ask.native, mask, None if seconds is None else seconds.tobytes())
        if key not in self._known:
            self._known[key] = self._made(ask, seconds)
        return self._known[key]

    def _made(self, ask: Ask, seconds: NDArray[np.float64] | None) -> Shape:
        kinds, nodes = self._table.kinds, len(self._table)
        if seconds is not None and (seconds.shape != (nodes,) or np.isnan(seconds).any()):
            raise BadNumber(f"incoming[{ask.uid}]", seconds, f"give {nodes} times in seconds")
        declared = demand(f"asks[{ask.uid}].declared", ask.declared, kinds)
        return Shape(
            declared=declared,
            charge=np.concatenate([declared, demand(f"asks[{ask.uid}].native", ask.native, kinds)]),
            usable=self._table.open & allowed(ask, self._table),
            seconds=seconds,
            balance=self._balance,
        )


def grouped(shapes: Shapes, asks: Sequence[Ask]) -> list[Group]:
    """The groups in order of submission. Neither groups nor their members depend on the order of the asks."""
    members: dict[tuple[object, ...], list[Ask]] = {}
    seen: set[str] = set()
    for ask in asks:
        _check(ask, seen)
        key = (ask.driver, ask.group, ask.urgency, ask.alignment, shapes.of(ask))
        members.setdefault(key, []).append(ask)
    queues = [sorted(queue, key=_turn) for queue in members.values()]
    queues.sort(key=lambda queue: (queue[0].submitted, queue[0].group, queue[0].uid))
    return [
        Group(shapes.of(queue[0]), deque(queue), queue[0].driver, queue[0].urgency, queue[0].alignment)
        for queue in queues
    ]


def _turn(ask: Ask) -> tuple[float, str]:
    return ask.submitted, ask.uid


def _check(ask: Ask, seen: set[str]) -> None:
    if ask.uid in seen:
        raise InvalidInput("asks.uid", f"{ask.uid!r} stands twice", "ask for each pod once")
    seen.add(ask.uid)
    finite(f"asks[{ask.uid}].urgency", ask.urgency)
    finite(f"asks[{ask.uid}].alignment", ask.alignment)
    finite(f"asks[{ask.uid}].submitted", ask.submitted)
