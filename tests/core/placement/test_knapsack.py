"""The knapsack: the fullest set of tasks a node can hold."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber, InvalidInput
from slackwater.placement.knapsack import MAX_TASKS, ita, knapsack
from support.builders.oracles import Oracle, rows

steps = st.sampled_from([1.0, 0.5, 0.1, 2.0**30])


@rows("HST-10", "HST-11")
def test_finds_the_most_valuable_set(row: Oracle) -> None:
    """Where first come, first served would not."""
    tasks, capacity = np.array(row.inputs["tasks"], dtype=float), np.array(row.inputs["capacity"], dtype=float)
    found = knapsack(capacity, tasks, np.array(row.inputs["weights"], dtype=float))
    assert found.value == row.near(row.expected["value"])
    assert list(found.chosen) == row.expected["chosen"]
    assert found.exact


@given(
    tasks=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=8),
    capacity=st.tuples(st.integers(0, 12), st.integers(0, 12)),
    weight=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    step=steps,
)
def test_is_as_good_as_trying_every_set(
    tasks: list[tuple[int, int]], capacity: tuple[int, int], weight: tuple[int, int], step: float
) -> None:
    """Optimal against brute force, in cores, millicores and bytes."""
    sizes, room = rows_of(tasks) * step, np.array(capacity) * step
    worth = np.array(weight) / step
    found = knapsack(room, sizes, worth)
    assert found.value == pytest.approx(brute_force(room, sizes, worth))
    assert found.exact
    assert (sizes[list(found.chosen)].sum(axis=0) <= room * (1 + 1e-9)).all()


@given(
    st.lists(st.tuples(st.floats(0, 9), st.floats(0, 9), st.integers(0, 2)), max_size=12),
    st.tuples(st.floats(0, 20), st.floats(0, 20), st.integers(0, 3)),
)
def test_never_overfills_any_kind(tasks: list[tuple[float, float, int]], capacity: tuple[float, float, int]) -> None:
    """Rounding is towards safety, and a third kind is a hard limit."""
    sizes, room = rows_of(tasks, 3), np.array(capacity, dtype=float)
    found = knapsack(room, sizes, np.ones(3))
    assert (sizes[list(found.chosen)].sum(axis=0) <= room + 1e-6).all()
    assert len(set(found.chosen)) == len(found.chosen)


def test_refills_what_a_third_kind_turned_away() -> None:
    """Two GPU tasks are worth most, one GPU is there: the plain task takes the free half."""
    tasks = np.array([[4.0, 4, 1], [5, 4, 1], [3, 3, 0]])
    found = knapsack(np.array([9.0, 8, 1]), tasks, np.array([1.0, 1, 0]))
    assert found.chosen == (1, 2)
    assert not found.exact


def test_a_further_node_takes_from_what_the_first_left() -> None:
    """No task is assigned twice."""
    tasks = np.array([[5.0, 5], [4, 4], [4, 4], [2, 1]])
    found = list(ita(np.full((2, 2), 8.0), tasks, np.ones((2, 2))))
    assert [choice.chosen for choice in found] == [(1, 2), (0, 3)]


def test_keeps_tasks_off_nodes_they_may_not_use() -> None:
    """Selectors count before value."""
    usable = np.array([[False, True], [True, True]])
    found = ita(np.full((2, 1), 4.0), np.array([[4.0], [1.0]]), np.ones((2, 1)), axes=(0, 0), usable=usable)
    assert [choice.chosen for choice in found] == [(1,), (0,)]


def test_hands_over_to_greed_past_its_bounds() -> None:
    """More distinct tasks than the table allows still fill the node, and the choice says it is not exact."""
    tasks = np.linspace(0.5, 1.5, 2 * (MAX_TASKS + 1)).reshape(-1, 2)
    found = knapsack(np.array([100.0, 100.0]), tasks, np.ones(2))
    assert not found.exact
    assert (100 - tasks[list(found.chosen)].sum(axis=0) < tasks.min()).any()


def test_equal_tasks_do_not_count_against_the_bound() -> None:
    """Of a thousand equal tasks only those that fit are items."""
    found = knapsack(np.array([16.0, 64.0]), np.ones((1000, 2)), np.ones(2))
    assert found.exact
    assert len(found.chosen) == 16


def test_a_table_too_large_is_made_coarser_and_says_so() -> None:
    """Steps of a thousandth on both axes: rounded to 64 steps, still nearly full."""
    tasks = np.random.default_rng(1).integers(10, 200, (300, 2)) / 1000
    found = knapsack(np.ones(2), tasks, np.ones(2))
    assert not found.exact
    assert 1.9 < found.value <= 2.0


def test_a_task_as_large_as_the_node_survives_rounding() -> None:
    """Rounded up alone it would need 65 of 64 steps."""
    tasks = np.array([[1 + 9e-10, 1 / 3], [1 / 7, 1 / 3]])
    assert knapsack(np.ones(2), tasks, np.array([1.0, 0.0])).chosen == (0,)


@pytest.mark.parametrize("tasks", [np.zeros((0, 2)), np.full((2, 2), 9.0)], ids=["no-task", "none-fits"])
def test_nothing_to_take_is_an_empty_choice(tasks: np.ndarray) -> None:
    """Empty sets and zero capacity are answers, not errors."""
    assert knapsack(np.zeros(2), tasks, np.ones(2)).chosen == ()


def test_bad_numbers_are_refused_by_name() -> None:
    """NaN and negative amounts."""
    with pytest.raises(BadNumber, match="capacity"):
        knapsack(np.array([np.nan, 1]), np.ones((1, 2)), np.ones(2))
    with pytest.raises(InvalidInput, match="tasks"):
        knapsack(np.ones(2), np.array([[-1.0, 1]]), np.ones(2))


def brute_force(room: np.ndarray, sizes: np.ndarray, worth: np.ndarray) -> float:
    """The best value over all sets."""
    sets = (list(some) for count in range(len(sizes) + 1) for some in combinations(range(len(sizes)), count))
    fitting = (some for some in sets if (sizes[some].sum(axis=0) <= room * (1 + 1e-9)).all())
    return max(float((sizes[some] @ worth).sum()) for some in fitting)


def rows_of(tasks: Sequence[tuple[float, ...]], kinds: int = 2) -> np.ndarray:
    """Tasks as an array that keeps its width when empty."""
    return np.array(tasks, dtype=float).reshape(-1, kinds)
