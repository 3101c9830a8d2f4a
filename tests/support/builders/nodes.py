"""Node tables and asks for tests, with only what a test cares about written out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from slackwater.nodetable import NodeTable, PodAsk
from slackwater.placement.batch import Batch, PlacementOutcome
from slackwater.resources import CPU, MEMORY, Kinds

CPU_MEMORY: Kinds = (CPU, MEMORY)


def node_table(
    room: Sequence[Sequence[float]],
    *,
    total: Sequence[Sequence[float]] | None = None,
    native: Sequence[Sequence[float]] | None = None,
    kinds: Kinds = CPU_MEMORY,
    closed: Sequence[int] = (),
    stale: Sequence[int] = (),
) -> NodeTable:
    """A table with these rooms; totals and native residuals equal the rooms unless given."""
    names = tuple(f"node-{i}" for i in range(len(room)))
    rows = np.arange(len(room))
    return NodeTable(
        kinds=kinds,
        names=names,
        index={name: i for i, name in enumerate(names)},
        total=matrix(total if total is not None else room, kinds),
        room=matrix(room, kinds),
        native=matrix(native if native is not None else room, kinds),
        open=~np.isin(rows, closed),
        stale=np.repeat(np.isin(rows, stale)[:, None], len(kinds), axis=1),
    )


def matrix(values: Sequence[Sequence[float]], kinds: Kinds) -> np.ndarray:
    """Rows of amounts as an array; an empty one keeps its width."""
    return np.array(values, dtype=np.float64).reshape(len(values), len(kinds))


def ask(uid: str, *declared: float, native: Any = None, **rest: Any) -> PodAsk:
    """A pod that declares these amounts; its native request is the same unless given."""
    return PodAsk(uid, declared, declared if native is None else tuple(native), **rest)


def in_order(asks: Sequence[PodAsk]) -> list[PodAsk]:
    """The same pods with a rank each: they are served as they stand."""
    return [replace(each, rank=rank) for rank, each in enumerate(asks)]


def place(table: NodeTable, asks: Sequence[PodAsk], **options: Any) -> list[PlacementOutcome]:
    """Place all pods at once; the outcomes stand in the order of the asks. The options are those of `Batch`."""
    batch = Batch(table, asks, **options)
    found: dict[str, PlacementOutcome] = {}
    while not batch.done:
        found |= {outcome.uid: outcome for outcome in batch.step(len(asks))}
    return [found[each.uid] for each in asks]


def some_way(rooms: Sequence[float], pods: Sequence[tuple[float, Sequence[bool]]]) -> bool:
    """Whether the rooms hold these pods, each with its size and the nodes that it reaches: every way is tried."""
    if not pods:
        return True
    (size, reach), rest = pods[0], pods[1:]
    homes = [node for node, room in enumerate(rooms) if reach[node] and room >= size]
    return any(some_way([*rooms[:at], rooms[at] - size, *rooms[at + 1 :]], rest) for at in homes)
