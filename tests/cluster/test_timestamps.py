"""Moments as Kubernetes writes them."""

from slackwater_cluster.timestamps import stamp


def test_moments_are_told_in_utc_to_the_second() -> None:
    """Fractions are cut off, as a field of type Time wants it."""
    assert stamp(0.0) == "1970-01-01T00:00:00Z"
    assert stamp(1_769_860_800.9) == "2026-01-31T12:00:00Z"
