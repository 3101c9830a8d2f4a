"""T_in while tasks are placed: for one node as for all, with every transfer that was assigned."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.network.arrivals import Arrivals
from slackwater.network.transfer import Transfers, priority

NODES = 4
figures = st.lists(st.integers(0, 9).map(float), min_size=NODES, max_size=NODES)
inputs = st.dictionaries(st.sampled_from([f"n{i}" for i in range(NODES)]), st.integers(0, 50).map(float), max_size=3)


def made(bandwidth: list[float], flowing: list[float]) -> Arrivals:
    """Four nodes."""
    return Arrivals({f"n{i}": i for i in range(NODES)}, np.array(bandwidth), np.array(flowing))


@given(figures, figures, st.lists(st.tuples(inputs, st.integers(0, NODES - 1)), max_size=5), inputs)
def test_one_node_is_told_as_all_nodes_are(
    bandwidth: list[float], flowing: list[float], begun: list[tuple[dict[str, float], int]], asked: dict[str, float]
) -> None:
    """The plain numbers are the arrays' numbers, whatever was assigned before."""
    found = made(bandwidth, flowing)
    for each, row in begun:
        found.begin(tuple(each.items()), row)
    times = found.seconds(tuple(asked.items()))
    assert [found.at(tuple(asked.items()), row) for row in range(NODES)] == pytest.approx(times.tolist())


def test_a_placement_makes_its_links_later() -> None:
    """100 bytes at 10 bytes per second are 10 s, and 20 s for the next one on the same node."""
    found, reads = made([10.0] * NODES, [0.0] * NODES), (("n0", 100.0),)
    assert found.seconds(reads).tolist() == [0.0, 10.0, 10.0, 10.0]
    found.begin(reads, 2)
    assert found.seconds(reads).tolist() == [0.0, 10.0, 20.0, 10.0]


def test_what_the_caller_assigned_stays_as_it_is() -> None:
    """Placements of one batch are its own."""
    assigned = Transfers()
    assigned.begin(0, 1, 5.0)
    found = Arrivals({"n0": 0, "n1": 1}, np.array([1.0, 1.0]), np.zeros(2), assigned)
    found.begin((("n0", 7.0),), 1)
    assert (found.seconds((("n0", 0.0),))[1], assigned.between(0, 1)) == (12.0, 5.0)


@given(figures, st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 9).map(float)), max_size=6))
def test_quiet_is_the_priority_of_the_paper(bandwidth: list[float], sent: list[tuple[int, int, float]]) -> None:
    """With one figure per node and nothing measured, the sparse form equals the matrix form."""
    traffic = Transfers()
    for sender, receiver, size in sent:
        traffic.begin(sender, receiver, size)
    speeds = np.array(bandwidth)
    found = Arrivals({f"n{i}": i for i in range(NODES)}, speeds, np.zeros(NODES), traffic).quiet()
    assert found.tolist() == pytest.approx(priority(traffic.matrix(NODES), np.minimum.outer(speeds, speeds)).tolist())
