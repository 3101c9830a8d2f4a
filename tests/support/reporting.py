"""What is told at the end of a run: which tests were not run, and how much of the machine was there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from pathlib import Path

from slackwater_lab.processes.stealtime import ProcessorSeconds

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


def read_names(path: Path) -> frozenset[str]:
    """The tests that a list names."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


def left_to_deep(deep: Collection[str]) -> str:
    """One line: how many tests are played by another command."""
    return f"deep: {len(deep)} long tests not played (make deep, and every submission, does)"


def stolen(before: ProcessorSeconds, now: ProcessorSeconds) -> str:
    """One line: how much processor time this machine wanted and its host gave to other guests."""
    taken, wall = now.stolen - before.stolen, now.wall - before.wall
    wanted = now.used - before.used + taken
    share = taken / wanted if wanted > 0 else 0.0
    return f"machine: {wanted:.0f} s of processors wanted in {wall:.0f} s, {share:.0%} of them stolen by its host"
