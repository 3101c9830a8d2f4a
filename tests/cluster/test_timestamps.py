"""Moments as Kubernetes writes them."""

import pytest

from slackwater_cluster.timestamps import parse, parse_or_none, stamp


def test_moments_are_told_in_utc_to_the_second() -> None:
    """Fractions are cut off, as a field of type Time wants it."""
    assert stamp(0.0) == "1970-01-01T00:00:00Z"
    assert stamp(1_769_860_800.9) == "2026-01-31T12:00:00Z"


def test_moments_are_read_as_they_were_told() -> None:
    """To the fraction of a second, in whatever zone they were told."""
    assert parse("2026-01-31T12:00:00Z") == parse_or_none("2026-01-31T13:00:00+01:00") == 1_769_860_800
    assert parse("2026-01-31T12:00:00.250000Z") == 1_769_860_800.25


@pytest.mark.parametrize("text", [None, True, 7, "", "soon", "9999999-01-01T00:00:00Z"])
def test_what_is_no_moment_is_none_or_an_error(text: str) -> None:
    """Whoever can go on without it asks for None."""
    assert parse_or_none(text) is None
    with pytest.raises(ValueError, match=r"."):
        parse(text)
