"""Amounts as people write them."""

from __future__ import annotations

import math

import pytest

from slackwater_simulator.charts.amounts import GIBI, amount, count, percent, seconds


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        ("cpu", 1.0, "1 core"),
        ("cpu", 1.25, "1.25 cores"),
        ("cpu", 1234.0, "1,234 cores"),
        ("memory", 1.5 * GIBI, "1.5 GiB"),
        ("memory", None, "–"),
        ("cpu", None, "–"),
        ("nvidia.com/gpu", 2.0, "2"),
    ],
)
def test_amounts_carry_the_unit_of_their_kind(kind: str, value: float | None, words: str) -> None:
    """One core, more cores; other kinds are pieces."""
    assert amount(kind, value, unit=True) == words


@pytest.mark.parametrize(("value", "words"), [(0.0, "0 %"), (0.031, "3.1 %"), (0.875, "88 %"), (math.nan, "–")])
def test_shares_are_percent(value: float, words: str) -> None:
    """Two digits below ten."""
    assert percent(value) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(5.0, "5 s"), (300.0, "5 min"), (7200.0, "2 h"), (604800.0, "7 d"), (None, "–"), (math.nan, "–"), (math.inf, "–")],
)
def test_spans_are_in_the_unit_a_person_would_use(value: float | None, words: str) -> None:
    """Seconds, minutes, hours or days."""
    assert seconds(value) == words


@pytest.mark.parametrize(("number", "words"), [(0, "0 drivers"), (1, "1 driver"), (1500, "1,500 drivers")])
def test_things_are_counted_in_the_right_number(number: int, words: str) -> None:
    """One driver, more drivers."""
    assert count(number, "driver") == words
