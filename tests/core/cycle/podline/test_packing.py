"""The search for nodes that hold pods of several sizes together, against every way there is."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater.cycle.podline.packing import PodSize, packed
from support.builders.nodes import some_way

Sizes = list[tuple[int, int, int]]  # so many pods, what each asks for, and the nodes it reaches as bits


def pods_of(sizes: Sizes, nodes: int) -> list[PodSize]:
    """These pods, the equal ones as one."""
    made = []
    for count, size, bits in sizes:
        asked, reach = np.array([float(size)]), np.array([bool(bits >> node & 1) for node in range(nodes)])
        made += [PodSize(asked, asked, reach)] * count
    return made


size = st.tuples(st.integers(1, 2), st.integers(1, 8), st.integers(1, 7))


@example([4, 4], [(1, 3, 3), (1, 4, 1)])  # equal rooms, but the second pod reaches the first node alone
@given(st.lists(st.integers(0, 10), min_size=1, max_size=3), st.lists(size, min_size=1, max_size=3))
def test_a_search_that_comes_to_its_end_tells_whether_there_is_a_way(rooms: list[int], sizes: Sizes) -> None:
    """With as many steps as it needs, it finds one if and only if there is one."""
    pods = pods_of(sizes, len(rooms))
    found = packed(np.array(rooms, float)[:, None], np.ones((len(rooms), 1)), pods, 10_000)
    assert found.certain
    assert (found.rows is not None) is some_way(rooms, [(float(pod.asked[0]), pod.reach.tolist()) for pod in pods])


def test_a_search_without_steps_proves_nothing() -> None:
    """It went one way only."""
    pods = pods_of([(1, 2, 3), (2, 3, 3)], 2)
    assert packed(np.array([[5.0], [4.0]]), np.ones((2, 1)), pods, 0) == (None, False)
