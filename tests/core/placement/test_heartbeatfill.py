"""Real-time assignment: filling one node."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.placement.heartbeatfill import NodeSpace, TaskRequest, WaitingTask, assign, nearest
from support.builders.oracles import Oracle, rows

sizes = st.tuples(st.integers(0, 5), st.integers(0, 5))


@rows("HST-02")
def test_fills_a_node_by_fitness_without_waste(row: Oracle) -> None:
    """The request longest in the direction that is still empty goes next."""
    types = row.inputs["types"]
    spot = NodeSpace(np.array(row.inputs["residual"]), np.ones(2))
    found = [one.request for one in assign(spot, [request(name, *size) for name, size in types.items()])]
    assert found == row.expected["sequence"]
    left = np.array(row.inputs["residual"]) - np.sum([types[name] for name in found], axis=0)
    assert left.tolist() == row.expected["residual_after"]


def test_serves_the_master_before_anything_else() -> None:
    """A job without its master cannot use its tasks."""
    tasks = request("task", 4, 4, urgency=9.0)
    assert fill([tasks, request("am", 1, 1, count=1, master=True)])[0] == "am"


def test_equal_requests_go_in_order_of_submission() -> None:
    """Whatever the order they are listed in."""
    late, early = request("late", 4, 4, submitted=2), request("early", 4, 4, submitted=1)
    assert fill([late, early]) == fill([early, late]) == ["early", "early"]


@given(st.lists(sizes, min_size=1, max_size=6), st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_a_long_line_is_served_like_a_short_one(shapes: list[tuple[int, int]], hurry: list[int]) -> None:
    """Requests too large for the node change nothing, though a long line is compared by arrays."""
    few = [request(f"r{i}", *shape, urgency=hurry[i], submitted=i % 2) for i, shape in enumerate(shapes) if any(shape)]
    beside = [request(f"huge{i}", 99, 99) for i in range(20)]
    assert fill(few) == fill([*few, *beside])


def test_urgency_may_move_with_every_assignment() -> None:
    """A and O change as tasks are taken, and the next choice sees it."""

    def alternating(taken: Mapping[str, int]) -> Mapping[str, float]:
        return {name: -taken.get(name, 0) for name in ("a", "b")}

    both = [request("a", 2, 2), request("b", 2, 2)]
    found = assign(NodeSpace(np.array([8.0, 8.0]), np.ones(2)), both, urgencies=alternating)
    assert [one.request for one in found] == ["a", "b", "a", "b"]


def test_late_iterations_go_first_with_haste_a() -> None:
    """Alignment decides when fitness and urgency are level."""
    both = [request("first-round", 4, 4), request("last-round", 4, 4, alignment=1.0, submitted=1)]
    assert fill(both, alpha=0.8)[0] == "last-round"


@pytest.mark.parametrize(
    ("node", "rack", "expected"),
    [("n1", "r9", "on-n1"), ("n9", "r2", "in-r2"), ("n9", "r9", "anywhere")],
)
def test_takes_the_task_whose_input_is_nearest(node: str, rack: str, expected: str) -> None:
    """Node, then rack, then any."""
    tasks = [
        WaitingTask("anywhere"),
        WaitingTask("in-r2", racks=frozenset({"r2"})),
        WaitingTask("on-n1", nodes=frozenset({"n1"})),
    ]
    assert nearest(tasks, node, rack).uid == expected


@given(st.lists(sizes, max_size=6), sizes)
def test_never_overfills_and_stops_only_when_nothing_fits(asked: list[tuple[int, int]], room: tuple[int, int]) -> None:
    """What is left over really does not fit."""
    requests = [request(str(i), *size, count=3) for i, size in enumerate(asked)]
    found = [one.request for one in assign(NodeSpace(np.array(room, dtype=float), np.ones(2)), requests)]
    left = np.array(room) - np.sum([asked[int(name)] for name in found], axis=0, initial=0)
    assert (left >= 0).all() if found else True
    rest = [asked[i] for i in range(len(asked)) if found.count(str(i)) < 3]
    assert all(any(size > spare and size for size, spare in zip(one, left * np.ones(2), strict=True)) for one in rest)


def test_a_bad_number_is_refused_by_name() -> None:
    """Sizes and residuals alike."""
    with pytest.raises(BadNumber, match=r"x\.size"):
        request("x", float("inf"), 1)
    with pytest.raises(BadNumber, match="residual"):
        list(assign(NodeSpace(np.array([float("nan")]), np.ones(1)), []))


def request(name: str, *size: float, count: int = 9, **rest: float) -> TaskRequest:
    """A request with so many tasks."""
    tasks = tuple(WaitingTask(f"{name}-{i}") for i in range(count))
    return TaskRequest(name, size, tasks, **rest)  # type: ignore[arg-type] # builder: a flag is a number here


def fill(requests: list[TaskRequest], alpha: float = 0.0) -> list[str]:
    """The names served on a node of 8 and 8."""
    return [one.request for one in assign(NodeSpace(np.array([8.0, 8.0]), np.ones(2)), requests, alpha=alpha)]
