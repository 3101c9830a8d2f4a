"""The numbers by which two runs are compared, defined once so that every report means the same by them."""

from __future__ import annotations

from slackwater.validation import amount, positive


def time_saved(original: float, new: float) -> float:
    """1 − T_new / T_original, as a fraction."""
    return 1.0 - amount("new", new) / positive("original", original)


def failure_percent(failed: float, total: float) -> float:
    """Failed of all, in percent; 0 of nothing is 0."""
    return 100.0 * amount("failed", failed) / amount("total", total) if total else 0.0
