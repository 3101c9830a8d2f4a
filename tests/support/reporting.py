"""What is told at the end of a run about tests that were not run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

# What a test was not run for want of, by the reason it gave.
WANTS = {
    "helm": r"\bhelm\b",
    "Chromium": r"chromium|playwright",
    "Prometheus": r"prometheus|promtool",
    "traces": r"traces|public log|Borg table|SURF week",
    "the lab": r"lab\b|not built",
    "Go": r"\bGo\b|module cache",
    "Dask and Ray": r"needs dask|needs ray",
    "root": r"\broot\b",
    "time": r"minutes; set|played in CI",
}


def want(reason: str) -> str:
    """What is missing, in a word; else the reason itself."""
    return next((thing for thing, words in WANTS.items() if re.search(words, reason, re.IGNORECASE)), reason)


def not_run(reasons: Iterator[str]) -> str:
    """One line: how many tests were not run, for want of what."""
    counts = Counter(want(reason) for reason in reasons)
    parts = [f"{number} for want of {thing}" for thing, number in counts.most_common()]
    return f"not run: {', '.join(parts)}" if parts else "not run: none"
