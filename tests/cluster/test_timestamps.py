"""Moments as Kubernetes writes them."""

from slackwater_cluster.timestamps import moment, stamp


def test_moments_are_told_in_utc_to_the_second() -> None:
    """Fractions are cut off, as a field of type Time wants it."""
    assert stamp(0.0) == "1970-01-01T00:00:00Z"
    assert stamp(1_769_860_800.9) == "2026-01-31T12:00:00Z"


def test_moments_are_read_as_they_were_told() -> None:
    """What is none is None."""
    assert moment("2026-01-31T12:00:00Z") == 1_769_860_800
    assert [moment(each) for each in (None, True, "", "soon", "9999999-01-01T00:00:00Z")] == [None] * 5
