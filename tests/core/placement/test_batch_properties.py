"""Batch placement over drawn nodes and pods: bounds, order, and the plain formula beside it."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.nodetable import NodeTable, PodAsk
from slackwater.ordering.fitness import over_nodes
from slackwater.ordering.preference import preference
from slackwater.placement.batch import Batch, Placement, Refusal, fit_one
from support.builders.nodes import ask, in_order, node_table, place

amounts = st.tuples(st.integers(0, 6), st.integers(0, 6))
tables = st.lists(st.tuples(amounts, amounts, st.booleans()), max_size=6)
batches = st.lists(st.tuples(amounts, amounts, st.booleans(), st.integers(0, 2), st.sampled_from("abc")), max_size=12)
modes = st.sampled_from(["by preference", "ranked", "cold"])


@given(tables, batches, modes)
def test_never_over_room_nor_native_and_refuses_only_what_does_not_fit(
    nodes: list[tuple[tuple[int, int], tuple[int, int], bool]],
    pods: list[tuple[tuple[int, int], tuple[int, int], bool, int, str]],
    mode: str,
) -> None:
    """After all placements no node is below zero, and no refused pod fits what is left."""
    table, asks = table_of(nodes), asks_of(pods)
    asks = in_order(asks) if mode == "ranked" else asks
    found = place(table, asks, cold=mode == "cold")
    room, native = table.room.copy(), table.native.copy()
    for pod, outcome in zip(asks, found, strict=True):
        if isinstance(outcome, Placement):
            assert table.open[outcome.row]
            room[outcome.row] -= pod.declared
            native[outcome.row] -= pod.native
    assert (room >= np.minimum(table.room, 0) - 1e-9).all()
    assert (native >= np.minimum(table.native, 0) - 1e-9).all()
    after = replace(table, room=room, native=native)
    for pod, outcome in zip(asks, found, strict=True):
        if isinstance(outcome, Refusal):
            assert not fit_one(after, pod).fits.any()


@given(tables, batches, st.randoms(use_true_random=False), st.booleans())
def test_does_not_depend_on_the_order_in_which_pods_are_listed(
    nodes: list[tuple[tuple[int, int], tuple[int, int], bool]],
    pods: list[tuple[tuple[int, int], tuple[int, int], bool, int, str]],
    rng: Random,
    cold: bool,
) -> None:
    """Submission and name decide, not the list."""
    table, asks = table_of(nodes), asks_of(pods)
    shuffled = list(asks)
    rng.shuffle(shuffled)
    one = {outcome.uid: outcome for outcome in place(table, asks, cold=cold)}
    two = {outcome.uid: outcome for outcome in place(table, shuffled, cold=cold)}
    assert one == two


@given(tables, batches, st.floats(0, 2))
def test_the_order_is_that_of_the_formula(
    nodes: list[tuple[tuple[int, int], tuple[int, int], bool]],
    pods: list[tuple[tuple[int, int], tuple[int, int], bool, int, str]],
    alpha: float,
) -> None:
    """Against P computed afresh over all groups and nodes before every placement."""
    table, asks = table_of(nodes), asks_of(pods)
    placed = [(one.uid, one.row) for one in Batch(table, asks, alpha=alpha).step(99) if isinstance(one, Placement)]
    assert placed == plainly(table, asks, alpha)


@given(st.lists(amounts, min_size=1, max_size=30), st.lists(amounts, min_size=1, max_size=20))
def test_the_blocked_search_finds_the_best_node(rooms: list[tuple[int, int]], sizes: list[tuple[int, int]]) -> None:
    """Against a plain search over all nodes before every placement."""
    table = node_table(rooms, total=[[6, 6]] * len(rooms))
    asks = [ask(f"pod-{i:02}", *size) for i, size in enumerate(sizes)]
    room = table.room.copy()
    for pod, outcome in zip(asks, place(table, in_order(asks)), strict=True):
        now = replace(table, room=room, native=room)
        fits = fit_one(now, pod).fits
        fitted = np.where(fits, room @ np.array(pod.declared), -1.0)
        if isinstance(outcome, Placement):
            assert fitted[outcome.row] == pytest.approx(fitted.max())
            room[outcome.row] -= pod.declared
        else:
            assert not fits.any()


def table_of(nodes: list[tuple[tuple[int, int], tuple[int, int], bool]]) -> NodeTable:
    """Rooms, native residuals and closed nodes as drawn."""
    return node_table(
        [room for room, _, _ in nodes],
        total=[[8, 8]] * len(nodes),  # a power of two: fitness is exact, so ties are ties in any order of summing
        native=[native for _, native, _ in nodes],
        closed=[i for i, (_, _, closed) in enumerate(nodes) if closed],
    )


def asks_of(pods: list[tuple[tuple[int, int], tuple[int, int], bool, int, str]]) -> list[PodAsk]:
    """Asks as drawn."""
    return [
        ask(f"pod-{i}", *size, native=native, driver=driver, urgency=urgency, alignment=size[0] / 8, group=group)
        for i, (size, native, driver, urgency, group) in enumerate(pods)
    ]


def plainly(table: NodeTable, asks: list[PodAsk], alpha: float) -> list[tuple[str, int]]:
    """HaSTE without any bookkeeping: the uids and rows in the order of placement."""
    room, native, waiting, placed = table.room.copy(), table.native.copy(), list(asks), list[tuple[str, int]]()
    first = {pod.uid: min(other.uid for other in asks if alike(pod, other)) for pod in asks}
    while True:
        now = replace(table, room=room, native=native)
        fits = {pod.uid: fit_one(now, pod).fits for pod in waiting}
        ready = [pod for pod in waiting if fits[pod.uid].any()]
        ready = [pod for pod in ready if pod.driver] or ready
        if not ready:
            return placed
        fitted = [np.where(fits[pod.uid], over_nodes(np.array(pod.declared), room, table.total), -1) for pod in ready]
        points = preference(
            [row.max() for row in fitted], [p.urgency for p in ready], [p.alignment for p in ready], alpha=alpha
        )
        # Of equal points the first group wins, and in it the first pod; all were submitted at once.
        best = [i for i in range(len(ready)) if points[i] >= points.max() - 1e-9]
        chosen = min(best, key=lambda i: (ready[i].group, first[ready[i].uid], ready[i].uid))
        pod, row = ready[chosen], int(fitted[chosen].argmax())
        room[row] -= pod.declared
        native[row] -= pod.native
        placed.append((pod.uid, row))
        waiting.remove(pod)


def alike(one: PodAsk, other: PodAsk) -> bool:
    """Whether two pods are of one group."""
    return replace(one, uid="") == replace(other, uid="")
