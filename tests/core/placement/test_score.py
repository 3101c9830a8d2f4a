"""The score: which of the fitting nodes is best."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber, InvalidInput
from slackwater.nodetable import NodeTable, PodAsk
from slackwater.ordering.fitness import over_nodes
from slackwater.placement.batch import Weights, fit_one, score, shortlist
from slackwater.placement.score import blend, with_one_leader
from support.builders.nodes import ask, node_table
from support.builders.oracles import Oracle, rows

NAN, INF = float("nan"), float("inf")
amounts = st.tuples(st.integers(0, 6), st.integers(0, 6))


@rows("CMP-01")
def test_the_score_is_half_fitness_and_half_nearness(row: Oracle) -> None:
    """Rounded half up, also where the half lost its last bit."""
    balance = Weights(row.inputs["w_fitness"], row.inputs["w_network"])
    found = blend(np.array(row.inputs["F"]), np.array(row.inputs["T_in"]), balance)
    assert found.tolist() == row.expected["score"]


def test_the_worked_example_of_the_documentation() -> None:
    """Fitness alone, and with incoming-data times."""
    table = node_table([[2, 8], [6, 6], [8, 16]], total=[[8, 16]] * 3)
    assert over_nodes(np.array([2.0, 4.0]), table.room, table.total).tolist() == [0.1875, 0.28125, 0.5]
    assert scored(table, ask("pod", 2, 4)) == [5, 7, 10]
    assert scored(table, ask("pod", 2, 4), np.array([0, 6.4, 3.2])) == [5, 2, 8]


def test_a_driver_is_scored_by_fitness_only() -> None:
    """Conflict 6: a driver reads little data and stays long."""
    table = node_table([[2, 2], [4, 4]], total=[[4, 4]] * 2)
    far = np.array([0.0, 60.0])
    assert scored(table, ask("task", 1, 1), far) == [5, 5]
    assert scored(table, ask("driver", 1, 1, driver=True), far) == [0, 10]


def test_equal_nodes_all_get_the_full_score() -> None:
    """Nothing tells them apart, so nothing is taken off."""
    assert scored(node_table([[4, 4]] * 3), ask("pod", 1, 1), np.full(3, 2.0)) == [10, 10, 10]


def test_an_unreachable_node_is_worst_and_does_not_flatten_the_others() -> None:
    """No bandwidth means an infinite time."""
    assert scored(node_table([[4, 4]] * 3), ask("pod", 1, 1), np.array([0.0, 4.0, INF])) == [10, 5, 5]
    assert scored(node_table([[4, 4]] * 2), ask("pod", 1, 1), np.array([INF, INF])) == [10, 10]


def test_a_pod_of_which_nobody_knows_what_it_uses_goes_first_where_half_of_the_memory_stays_free() -> None:
    """World 50184: on the smallest nodes that hold what tasks ask for, those that used twice as much were killed."""
    table = node_table([[1, 4], [4, 16], [16, 32]])
    assert scored(table, ask("pod", 1, 3)) == [10, 6, 5]
    assert scored(table, ask("pod", 1, 3, unproven=True)) == [5, 10, 7]


def test_where_half_of_no_memory_stays_free_it_goes_where_most_does() -> None:
    """As the stock scheduler spreads; fitness would take the smallest node again."""
    table = node_table([[4, 4], [8, 6], [8, 7]], total=[[4, 8], [8, 16], [8, 32]])
    assert scored(table, ask("pod", 1, 2)) == [10, 6, 5]
    assert scored(table, ask("pod", 1, 2, unproven=True)) == [10, 10, 5]


def test_where_memory_is_not_counted_fitness_alone_decides() -> None:
    """There is nothing that could be left free."""
    table = node_table([[1.0], [4.0]], kinds=("cpu",))
    assert scored(table, ask("pod", 1.0, unproven=True)) == scored(table, ask("pod", 1.0))


def test_the_shortlist_is_by_score_and_then_by_row() -> None:
    """Stable, and only nodes that fit."""
    table = node_table([[2, 2], [4, 4], [0, 0], [4, 4]], total=[[4, 4]] * 4)
    fit = fit_one(table, ask("pod", 1, 1))
    points = score(table, ask("pod", 1, 1), fit)
    assert shortlist(points, fit, 2).tolist() == [1, 3]
    assert shortlist(points, fit, 0).tolist() == [1, 3, 0]


def test_bad_times_and_weights_are_refused_by_name() -> None:
    """NaN, the wrong length, more than the whole."""
    table, pod = node_table([[1, 1]]), ask("pod", 1, 1)
    with pytest.raises(BadNumber, match="incoming"):
        scored(table, pod, np.array([NAN]))
    with pytest.raises(InvalidInput, match="incoming"):
        scored(table, pod, np.zeros(2))
    with pytest.raises(BadNumber, match=r"weights\.fitness \+ weights\.network"):
        Weights(0.7, 0.7)


@given(st.lists(amounts, max_size=8), amounts, st.randoms(use_true_random=False))
def test_scores_do_not_depend_on_the_order_of_the_nodes(
    rooms: list[tuple[int, int]], size: tuple[int, int], rng: Random
) -> None:
    """Each node keeps its score wherever it stands, and scores are integers from 0 to 10."""
    order = list(range(len(rooms)))
    rng.shuffle(order)
    total = [[6, 6]] * len(rooms)
    pod = ask("pod", *size)
    one = scored(node_table(rooms, total=total), pod)
    two = scored(node_table([rooms[i] for i in order], total=total), pod)
    assert [one[i] for i in order] == two
    assert all(0 <= points <= 10 for points in one)


def scored(table: NodeTable, pod: PodAsk, incoming: np.ndarray | None = None) -> list[int]:
    """The scores of all nodes."""
    found: list[int] = score(table, pod, fit_one(table, pod), incoming=incoming).tolist()
    return found


@pytest.mark.parametrize(
    ("points", "expected"),
    [([10, 10, 10], [10, 9, 9]), ([3, 8, 8, 7], [3, 8, 7, 7]), ([0, 0], [0, 0]), ([], []), ([4], [4])],
    ids=["all equal", "two lead", "nobody is liked", "no node", "one node"],
)
def test_one_node_leads(points: list[int], expected: list[int]) -> None:
    """The scheduler then takes the node that the pod is charged to already."""
    assert with_one_leader(np.array(points, np.int16)).tolist() == expected
