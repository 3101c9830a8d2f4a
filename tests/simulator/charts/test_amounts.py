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
        ("cpu", 123_456.7, "123,457 cores"),
        ("cpu", -1234.0, "-1,234 cores"),
        ("cpu", 0.25, "0.25 cores"),
        ("cpu", 0.001, "1 millicore"),
        ("cpu", 0.00002, "0.02 millicores"),
        ("cpu", 1e-7, "< 0.001 millicores"),
        ("cpu", 1e-15, "0 cores"),
        ("memory", -2e12, "-1,863 GiB"),
        ("memory", 0.5 * GIBI, "0.5 GiB"),
        ("memory", 64 * 2**20, "64 MiB"),
        ("memory", 20 * 1024, "0.0195 MiB"),
        ("memory", 0.0, "0 GiB"),
    ],
)
def test_amounts_carry_the_unit_of_their_kind(kind: str, value: float | None, words: str) -> None:
    """One core, more cores, small parts in smaller units; other kinds are pieces. Nobody reads exponents."""
    assert amount(kind, value, unit=True) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.00002, "< 0.001"), (-0.00002, "> -0.001"), (0.001, "0.001"), (-2500.0, "-2,500"), (math.nan, "–")],
)
def test_amounts_of_a_column_keep_its_unit(value: float, words: str) -> None:
    """It stands in the column's head."""
    assert amount("cpu", value) == words
    assert amount("memory", value * GIBI) == words


@pytest.mark.parametrize(("value", "words"), [(0.0, "0 %"), (0.031, "3.1 %"), (0.875, "88 %"), (math.nan, "–")])
def test_shares_are_percent(value: float, words: str) -> None:
    """Two digits below ten."""
    assert percent(value) == words


ODD = [(1200 * 86400.0, "1,200 days"), (-7200.0, "-2 h"), (2e-5, "< 0.001 s"), (-math.inf, "–")]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5.0, "5 s"),
        (300.0, "5 min"),
        (7200.0, "2 h"),
        (604800.0, "7 days"),
        (None, "–"),
        (math.nan, "–"),
        (math.inf, "–"),
        *ODD,
    ],
)
def test_spans_are_in_the_unit_a_person_would_use(value: float | None, words: str) -> None:
    """Seconds, minutes, hours or days."""
    assert seconds(value) == words


@pytest.mark.parametrize(("number", "words"), [(0, "0 drivers"), (1, "1 driver"), (1500, "1,500 drivers")])
def test_things_are_counted_in_the_right_number(number: int, words: str) -> None:
    """One driver, more drivers."""
    assert count(number, "driver") == words


def test_the_verb_goes_with_the_number() -> None:
    """One app waits, more apps wait."""
    assert [count(each, "app waits", "apps wait") for each in (0, 1, 2)] == [
        "0 apps wait",
        "1 app waits",
        "2 apps wait",
    ]
