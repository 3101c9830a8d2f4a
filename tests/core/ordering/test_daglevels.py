"""Levels of a job graph (paper 003, Algorithm 1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import CyclicGraph, UnknownName
from slackwater.ordering.daglevels import level_of, levels
from support.builders.oracles import Oracle, rows


def pairs(edges: list[list[str]]) -> list[tuple[str, str]]:
    """Edges as tuples."""
    return [(parent, child) for parent, child in edges]


@rows("NET-01")
def test_published_example(row: Oracle) -> None:
    """Figure 1 of the paper."""
    found = levels(row.inputs["tasks"], pairs(row.inputs["edges"]))
    assert [list(level) for level in found] == row.expected["levels"]


@rows("NET-02")
def test_circle_is_an_error_and_nothing_is_nothing(row: Oracle) -> None:
    """A circle can never start; no task is no level."""
    circle, nothing = row.inputs["cases"]
    assert row.expected["result"] == ["error", []]
    with pytest.raises(CyclicGraph):
        levels(circle["tasks"], pairs(circle["edges"]))
    assert levels(nothing["tasks"], pairs(nothing["edges"])) == []


def test_error_names_the_circle_and_not_what_waits_behind_it() -> None:
    """`root` and `leaf` are innocent."""
    with pytest.raises(CyclicGraph) as caught:
        levels(["root", "a", "b", "leaf"], [("root", "a"), ("a", "b"), ("b", "a"), ("b", "leaf")])
    assert caught.value.problem.endswith("circle: a, b")


def test_task_that_waits_for_itself_is_a_circle() -> None:
    """The smallest circle."""
    with pytest.raises(CyclicGraph, match="a"):
        levels(["a"], [("a", "a")])


def test_edge_to_an_unknown_task_is_named() -> None:
    """A misspelt parent must not silently vanish."""
    with pytest.raises(UnknownName, match="nap"):
        levels(["map", "reduce"], [("nap", "reduce")])


def test_edge_listed_twice_counts_once() -> None:
    """Repeated declarations are common and harmless."""
    assert levels(["a", "b"], [("a", "b"), ("a", "b")]) == [("a",), ("b",)]


graphs = st.integers(1, 12).flatmap(
    lambda size: st.tuples(
        st.just([f"t{number}" for number in range(size)]),
        st.sets(
            st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)).filter(lambda edge: edge[0] < edge[1]),
            max_size=30,
        ).map(lambda edges: [(f"t{parent}", f"t{child}") for parent, child in sorted(edges)]),
    )
)


@given(graphs, st.randoms())
def test_each_task_stands_right_after_its_last_parent(
    graph: tuple[list[str], list[tuple[str, str]]], rng: object
) -> None:
    """Level = 1 + the highest level of the parents, however edges are listed; every task appears once."""
    tasks, edges = graph
    assert hasattr(rng, "shuffle")
    shuffled = list(edges)
    rng.shuffle(shuffled)
    found = level_of(tasks, shuffled)
    assert found == level_of(tasks, edges)
    for task in tasks:
        above = [found[parent] for parent, child in edges if child == task]
        assert found[task] == (max(above) + 1 if above else 0)
