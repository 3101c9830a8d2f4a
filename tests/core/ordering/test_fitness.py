"""Fitness: how well a request sits on a node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber, InvalidInput
from slackwater.ordering.fitness import demand, fitness, over_nodes, weights
from slackwater.resources import CPU, MEMORY
from support.builders.oracles import Oracle, rows

KINDS = (CPU, MEMORY)
amounts = st.lists(st.floats(0, 1e6), min_size=2, max_size=2).map(np.array)


@rows("HST-01")
def test_is_the_dot_product_of_request_and_residual(row: Oracle) -> None:
    """Raw units, unit weights."""
    found = [fitness(np.array(c["R"]), np.array(c["C"]), np.ones(2)) for c in row.inputs["cases"]]
    assert found == row.near(row.expected["F"])


@rows("HST-04")
def test_is_normalised_by_node_totals(row: Oracle) -> None:
    """Bytes do not drown cores."""
    total = np.array(row.inputs["total"], dtype=float)
    found = fitness(np.array(row.inputs["R"]), np.array(row.inputs["C"]), weights(total))
    assert float(found) == row.near(row.expected["F"])


def test_skips_a_kind_the_node_has_none_of() -> None:
    """Zero capacity weighs nothing and divides nothing."""
    assert weights(np.array([4.0, 0.0])).tolist() == [1 / 16, 0.0]


@given(request=amounts, residuals=st.lists(amounts, max_size=5), totals=st.lists(amounts, min_size=5, max_size=5))
def test_the_fast_form_over_all_nodes_equals_the_formula(
    request: np.ndarray, residuals: list[np.ndarray], totals: list[np.ndarray]
) -> None:
    """Column by column or node by node, the numbers agree."""
    left = np.array(residuals, dtype=float).reshape(-1, 2)
    total = np.array(totals)[: len(left)] + 1.0
    one_by_one = [float(fitness(request, left[j], weights(total[j]))) for j in range(len(left))]
    assert over_nodes(request, left, total).tolist() == pytest.approx(one_by_one)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0])
def test_a_bad_amount_is_refused_by_name(bad: float) -> None:
    """The error names the kind."""
    with pytest.raises(BadNumber, match=r"declared\.memory"):
        demand("declared", (1.0, bad), KINDS)


def test_a_row_of_the_wrong_length_is_refused() -> None:
    """One amount for each kind."""
    with pytest.raises(InvalidInput, match="1 amounts for 2 kinds"):
        demand("declared", (1.0,), KINDS)
