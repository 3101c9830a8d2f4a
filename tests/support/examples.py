"""How many examples of a property are looked at."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100


def examples(number: int) -> int:
    """So many where the usual hundred are looked at (CI), and the same share of it under another profile."""
    profile: settings = settings.default  # type: ignore[assignment] # hypothesis types it as optional
    return max(1, number * profile.max_examples // USUAL)
