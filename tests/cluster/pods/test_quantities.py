"""Quantities become floats, or an error that says what to write."""

from __future__ import annotations

import pytest

from slackwater.errors import InvalidInput
from slackwater_cluster.pods.quantities import quantity, resources


@pytest.mark.parametrize(
    ("text", "value"),
    [("500m", 0.5), ("2", 2), ("3Gi", 3 * 2**30), ("1e3", 1000), ("1500k", 1_500_000), ("0", 0), ("100n", 1e-7)],
)
def test_quantity(text: str, value: float) -> None:
    """Both suffix families and exponents."""
    assert quantity(text) == pytest.approx(value)


@pytest.mark.parametrize("text", ["9223372036854775808", "12E", "1e300", "1e999999", "9" * 64])
def test_more_than_kubernetes_counts_is_as_much_as_it_counts(text: str) -> None:
    """The API server takes such a request, and caps it at 64 bits."""
    assert quantity(text) == 2**63


@pytest.mark.parametrize("text", ["", "many", "-1", "-1e300", "1XB", "NaN", "Infinity", "١٢٣x"])
def test_nonsense_is_refused_in_words(text: str) -> None:
    """The sentence shows what a quantity looks like."""
    with pytest.raises(InvalidInput, match="500m, 2 or 3Gi"):
        quantity(text)


def test_equal_lists_are_one_object() -> None:
    """A cluster has a few hundred distinct request lists, not 150,000."""
    assert resources({"cpu": "1"}) is resources({"cpu": "1"})
