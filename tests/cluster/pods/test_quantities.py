"""Quantities become floats, or an error that says what to write."""

from __future__ import annotations

import pytest

from slackwater.errors import InvalidInput
from slackwater_cluster.pods.quantities import as_quantity, parse_quantity, resources


@pytest.mark.parametrize(
    ("text", "value"),
    [("500m", 0.5), ("2", 2), ("3Gi", 3 * 2**30), ("1e3", 1000), ("1500k", 1_500_000), ("0", 0), ("100n", 1e-7)],
)
def test_quantity(text: str, value: float) -> None:
    """Both suffix families and exponents."""
    assert parse_quantity(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["9223372036854775808", "12E", "1e300", "1e999999", "9" * 64])
def test_more_than_kubernetes_counts_is_as_much_as_it_counts(text: str) -> None:
    """The API server takes such a request, and caps it at 64 bits."""
    assert parse_quantity(text) == 2**63


@pytest.mark.parametrize("text", ["", "many", "-1", "-1e300", "1XB", "NaN", "Infinity", "١٢٣x"])
def test_nonsense_is_refused_in_words(text: str) -> None:
    """The sentence shows what a quantity looks like."""
    with pytest.raises(InvalidInput, match="500m, 2 or 3Gi"):
        parse_quantity(text)


def test_equal_lists_are_one_object() -> None:
    """A cluster has a few hundred distinct request lists, not 150,000."""
    assert resources({"cpu": "1"}) is resources({"cpu": "1"})


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [("cpu", 2.0, "2"), ("cpu", 0.25, "250m"), ("cpu", 0.0, "0"), ("memory", 2.0**30, "1073741824"), ("gpu", 1.0, "1")],
)
def test_an_amount_is_written_as_kubernetes_does(kind: str, value: float, text: str) -> None:
    """Cores or milli, and whole units of every other kind."""
    assert as_quantity(kind, value) == text


def test_memory_for_people_to_paste_is_in_mebibytes() -> None:
    """Rounded up; cpu is as ever."""
    assert as_quantity("memory", 2.0**30 + 1, mebibytes=True) == "1025Mi"
    assert as_quantity("cpu", 0.25, mebibytes=True) == "250m"


@pytest.mark.parametrize("kind", ["cpu", "memory"])
def test_an_amount_beyond_all_counting_is_written_as_the_most_that_counts(kind: str) -> None:
    """The nodes of a queue together may state more than the definition of a status takes."""
    assert parse_quantity(as_quantity(kind, 2.0**64)) < 2**63
