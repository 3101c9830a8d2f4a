"""Preference: fitness and urgency on one scale, and who wins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.errors import BadNumber
from slackwater.ordering.preference import nm, points_of_few, preference, winner
from support.builders.oracles import Oracle, rows

lists = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@rows("HST-06", "HST-08")
def test_sums_the_normalised_metrics(row: Oracle) -> None:
    """The greatest sum wins; equal ones go to the earlier submission."""
    points = preference(row.inputs["F"], row.inputs["U"])
    assert points.tolist() == row.near(row.expected["P"])
    submitted = row.inputs.get("submit", range(len(points)))
    assert winner(points.tolist(), submitted) == row.expected["winner"]


@rows("HST-13")
def test_a_master_outranks_every_task(row: Oracle) -> None:
    """Whatever the scores."""
    points = [3.0, 2.5, 0.0]
    won = winner(points, [0, 1, 2], [name == "AM" for name in row.inputs["requests"]])
    assert won is not None
    assert row.inputs["requests"][won] == row.expected["winner"]


def test_haste_a_adds_alignment_times_its_factor() -> None:
    """A late iteration overtakes what fits better."""
    ordinary = preference([2, 1], [0, 0], [0, 1], alpha=0.0)
    aligned = preference([2, 1], [0, 0], [0, 1], alpha=1.5)
    assert (ordinary.tolist(), aligned.tolist()) == ([1, 0], [1, 1.5])


@given(lists)
def test_min_max_stays_within_nothing_and_one_and_keeps_the_order(values: list[float]) -> None:
    """It scales and never swaps."""
    found = nm(np.array(values))
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(values)]) >= 0).all()


@given(lists)
def test_min_max_does_not_depend_on_the_order_of_the_candidates(values: list[float]) -> None:
    """Sorted before or after, the same numbers."""
    assert sorted(nm(np.array(values))) == sorted(nm(np.array(sorted(values))))


def test_a_spread_of_rounding_size_is_none() -> None:
    """0.1 + 0.2 and 0.3 are the same fitness."""
    assert nm(np.array([0.1 + 0.2, 0.3]), equal=1.0).tolist() == [1.0, 1.0]


def test_nobody_wins_without_candidates() -> None:
    """Empty in, nothing out."""
    assert nm(np.array([])).size == 0
    assert winner([], []) is None


@pytest.mark.parametrize("field", ["fitness", "urgency", "alignment"])
def test_a_bad_number_is_refused_by_name(field: str) -> None:
    """NaN would win or lose silently."""
    columns: dict[str, list[float]] = {"fitness": [1], "urgency": [1], "alignment": [1]}
    columns[field] = [float("nan")]
    with pytest.raises(BadNumber, match=field):
        preference(**columns, alpha=1.0)


@given(st.lists(st.tuples(*[st.floats(-1e6, 1e6)] * 3), min_size=1, max_size=20), st.floats(0, 2))
def test_plain_numbers_give_the_same_points_as_arrays(rows: list[tuple[float, float, float]], alpha: float) -> None:
    """To the last bit: a handful of candidates is compared without arrays."""
    fitness, urgency, alignment = zip(*rows, strict=True)
    points = preference(fitness, urgency, alignment, alpha=alpha)
    assert points_of_few(fitness, urgency, alignment, alpha) == points.tolist()
