"""Moments as Kubernetes writes them."""

from __future__ import annotations

from datetime import UTC, datetime


def stamp(seconds: float) -> str:
    """Unix seconds as RFC 3339 in UTC, to the second: 2026-01-31T12:00:00Z."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(text: str) -> float:
    """Such a moment as Unix seconds; without a zone it is local time. What is no moment is a ValueError."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (TypeError, OverflowError) as problem:
        raise ValueError(f"{text!r} is no moment") from problem


def parse_or_none(text: object) -> float | None:
    """Such a moment as Unix seconds; None where it is none."""
    try:
        return parse(text) if isinstance(text, str) else None
    except ValueError:
        return None
