"""Amounts of pods in arrays, summed per node."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from slackwater.estimation.podmatrix import NOWHERE, PodMatrix, grown


def cell(value: float) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """One measure, one kind."""
    return np.array([[value]])


def test_growing_keeps_what_is_there() -> None:
    """New entries are zero, old ones stay; enough room is enough."""
    array = np.arange(6.0).reshape(2, 3)
    larger = grown(array, 1, 4)
    assert larger[:, :3].tolist() == array.tolist()
    assert larger.shape[1] >= 4
    assert not larger[:, 3:].any()
    assert grown(array, 1, 3) is array


def test_hundreds_of_pods_and_nodes() -> None:
    """The arrays grow several times on the way."""
    columns = PodMatrix(1, 1)
    for node in range(300):
        assert columns.add_row() == node
    for pod in range(900):
        assert columns.add(pod % 300, cell(pod)) == pod
    assert columns.sums[:, 0, 0].tolist() == [3.0 * node + 900 for node in range(300)]
    assert columns.on_row(7).tolist() == [7, 307, 607]


def test_freed_slots_are_used_again() -> None:
    """A cluster that turns over its pods does not grow."""
    columns = PodMatrix(1, 1)
    row = columns.add_row()
    for _ in range(500):
        columns.drop(columns.add(row, cell(1.0)))
    assert columns.slots == 1
    assert columns.sums.tolist() == [[[0.0]]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(-1, 3), st.integers(0, 9)), max_size=60))
def test_sums_are_those_of_the_pods(events: list[tuple[int, int, int, int]]) -> None:
    """Whatever is added, rewritten, moved and dropped, and whichever node goes."""
    columns, slots = PodMatrix(1, 1), dict[int, int]()
    for what, pod, row, value in events:
        at = min(row, columns.rows - 1)
        if what == 0:
            columns.add_row()
        elif what == 1 and value == 0 and columns.rows:
            columns.drop_row(columns.rows // 2)
        elif pod not in slots:
            slots[pod] = columns.add(at, cell(value))
        elif what == 1:
            columns.rewrite(slots[pod], cell(value))
        elif what == 2:
            columns.move(slots[pod], at)
        else:
            columns.drop(slots.pop(pod))
        kept = columns.sums.copy()
        columns.refresh(0)
        assert np.array_equal(columns.sums, kept)
        assert all(NOWHERE <= columns.row_of(slot) < columns.rows for slot in slots.values())
