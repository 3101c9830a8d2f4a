"""A node for each task of a level (paper 003): near its data, away from busy links.

The printed walk steps back ("q = q − 1") when a node does not fit; here it goes on to the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from slackwater.errors import BadNumber
from slackwater.network.transfer import Transfers, priority, start_times
from slackwater.resources import holding
from slackwater.validation import amount

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Key(StrEnum):
    """By what nodes are compared for one task."""

    LITERAL = "literal"  # holds an input, quiet links, more inputs held, fewer tasks of this level
    EARLIEST_START = "earliest_start"  # when it could begin there, then quiet links, fewer tasks


@dataclass(frozen=True, slots=True)
class Input:
    """Data a task reads: where it is, how much (0 if unknown), and when it is ready there."""

    node: int
    size: float
    ready: float = 0.0


@dataclass(frozen=True, slots=True)
class LevelTask:
    """One task of a level. `demand` is in the columns of the room; higher `rank` (Prio) is placed first."""

    name: str
    demand: tuple[float, ...]
    inputs: tuple[Input, ...] = ()
    rank: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class LevelPlacement:
    """Where a task goes and when it could begin; node None: nothing fits now, try again at the next event."""

    task: LevelTask
    node: int | None
    start: float = float("inf")


@dataclass(frozen=True, slots=True)
class LevelNodes:
    """All nodes: room per kind, bandwidth [sender, receiver], and when each is free.

    `serial`: a node runs one task at a time, so each task moves its free time.
    """

    room: Floats
    bandwidth: Floats
    free: Floats
    serial: bool = False


class _Level:
    """What changes while one level is placed; the caller's arrays stay as they are."""

    __slots__ = ("free", "hosts", "load", "priority", "room", "traffic")

    def __init__(self, hosts: LevelNodes, traffic: Transfers) -> None:
        nodes = len(hosts.room)
        self.hosts = hosts
        self.traffic = traffic
        self.priority = priority(traffic.matrix(nodes), hosts.bandwidth)  # once per level, as printed
        self.room = hosts.room.copy()
        self.free = hosts.free.copy()
        self.load = np.zeros(nodes)

    def starts(self, task: LevelTask) -> Floats:
        """When the task could begin on each node."""
        senders = [source.node for source in task.inputs]
        return start_times(
            self.free,
            senders,
            [source.size for source in task.inputs],
            [source.ready for source in task.inputs],
            self.hosts.bandwidth[senders, :],
        )

    def held(self, task: LevelTask) -> Floats:
        """Cnt0, read as: how many inputs of the task each node holds."""
        return np.bincount([source.node for source in task.inputs], minlength=len(self.load)).astype(np.float64)

    def put(self, task: LevelTask, node: int, start: float) -> None:
        """Charge room and load, and send what the task reads from elsewhere on its way."""
        self.room[node] -= task.demand
        self.load[node] += 1
        if self.hosts.serial:
            self.free[node] = start + task.seconds
        for source in task.inputs:
            self.traffic.begin(source.node, node, source.size)


def place(
    level: Sequence[LevelTask],
    hosts: LevelNodes,
    traffic: Transfers,
    key: Key = Key.EARLIEST_START,
    *,
    need_bandwidth: bool = False,
) -> list[LevelPlacement]:
    """Place the tasks of one level by (rank descending, listing), each seeing those before it.

    Transfers of placed tasks are entered into `traffic`. `need_bandwidth` refuses nodes that an input cannot reach;
    off by default, because an unknown bandwidth is written as 0 too.
    """
    state = _Level(hosts, traffic)
    for task in level:
        _check(task, hosts)
    ordered = sorted(level, key=lambda task: -task.rank)  # stable: equal ranks keep their listing
    return [_choose(task, state, key, need_bandwidth=need_bandwidth) for task in ordered]


def _choose(task: LevelTask, state: _Level, key: Key, *, need_bandwidth: bool) -> LevelPlacement:
    starts = state.starts(task)
    fits = holding(state.room, task.demand)
    if need_bandwidth:
        fits &= np.isfinite(starts)
    rows = np.flatnonzero(fits)
    if not len(rows):
        return LevelPlacement(task, None)
    node = int(rows[np.lexsort(tuple(column[rows] for column in _columns(task, state, key, starts)))[0]])
    start = float(starts[node])
    state.put(task, node, start)
    return LevelPlacement(task, node, start)


def _columns(task: LevelTask, state: _Level, key: Key, starts: Floats) -> tuple[Floats, ...]:
    """The key's parts, last one first as lexsort wants them; equal nodes keep their index order."""
    if key is Key.EARLIEST_START:
        return state.load, state.priority, starts
    held = state.held(task)
    return state.load, -held, state.priority, (held == 0).astype(np.float64)


def _check(task: LevelTask, hosts: LevelNodes) -> None:
    """Name the task and the field of a number that cannot be used."""
    for value in (*task.demand, task.seconds):
        amount(f"{task.name}.demand", value)
    for source in task.inputs:
        amount(f"{task.name}.inputs.size", source.size)
        if not 0 <= source.node < len(hosts.room):
            raise BadNumber(f"{task.name}.inputs.node", source.node, f"give a row from 0 to {len(hosts.room) - 1}")
